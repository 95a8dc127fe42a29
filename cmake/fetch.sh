# shellcheck shell=bash
# Sourced by the set-up scripts: where fetched files are kept, checked and resumable downloads, wheels of PyPI.

prenorm_cache=${XDG_CACHE_HOME:-$HOME/.cache}/prenorm
# shellcheck disable=SC2034  # for those who source this
prenorm_deps=${PRENORM_DEPS_DIR:-$prenorm_cache/deps}

say() { printf 'prenorm: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }

# sha256_is FILE SUM: whether FILE exists and has this SHA-256.
sha256_is() { [ -f "$1" ] && [ "$(sha256sum <"$1" | cut -d ' ' -f 1)" = "$2" ]; }

# download URL FILE SUM: fetches into FILE.part, going on where an earlier try ended, and names it FILE once its SHA-256
# is right. A bar is drawn on a terminal only.
download() {
  local url=$1 file=$2 sum=$3 bar=(--silent --show-error)
  [ -t 2 ] && bar=(--progress-bar)
  if ! sha256_is "$file.part" "$sum"; then
    curl --fail --location --continue-at - --connect-timeout 10 --speed-limit 1000 --speed-time 60 \
      "${bar[@]}" --output "$file.part" "$url" || return 1
    if ! sha256_is "$file.part" "$sum"; then
      say "${url##*/}: the SHA-256 is not $sum; the download is thrown away"
      rm -f "$file.part"
      return 1
    fi
  fi
  mv "$file.part" "$file"
}

# wheel_url PACKAGE VERSION: prints the address of a wheel, as pip finds it on this machine.
wheel_url() {
  python3 -m pip --quiet --disable-pip-version-check --retries 1 install --dry-run --ignore-installed --no-deps \
    --only-binary :all: --report - "$1==$2" |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["install"][0]["download_info"]["url"])'
}
