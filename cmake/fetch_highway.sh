#!/usr/bin/env bash
# Finds the pinned source archive of Highway, or fetches it, and prints its path. Distributions before 2025 ship an
# older one. Nothing of the system is changed: where upstream cannot be reached, the same archive comes out of the next
# Debian release's source package, by an apt state of our own in a temporary folder.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=cmake/fetch.sh
. "$here/fetch.sh"

name=highway-1.2.0.tar.gz
sum=7e0be78b8318e8bdbf6fa545d2ecb4c90f947df03f7aadc42c1967f019e63343
upstream=https://github.com/google/highway/archive/refs/tags/1.2.0.tar.gz

# from_debian FILE: leaves the archive in FILE.
from_debian() (
  # shellcheck disable=SC2016  # apt's own placeholder
  site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep debian | grep -v security | head -n 1)
  [ -n "$site" ] || return 1
  state=$(mktemp -d)
  trap 'rm -rf "$state"' EXIT
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$state/source"
  printf 'deb-src %s trixie main\n' "$site" >"$state/sources.list"
  options=(-qq -o "Dir::Etc::sourcelist=$state/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$state/lists" -o "Dir::Cache=$state/cache" -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update >&2
  cd "$state/source"
  apt-get "${options[@]}" source --download-only highway >&2
  mv highway_1.2.0.orig.tar.gz "$1"
)

# The second place serves other users of a tree that was set up by quickstart.sh or test.sh.
for archive in "$prenorm_deps/$name" "$here/../build/deps/$name"; do
  if sha256_is "$archive" "$sum"; then
    printf '%s\n' "$archive"
    exit 0
  fi
done

archive=$prenorm_deps/$name
say "fetching Highway 1.2.0 (2 MB of source) into $prenorm_deps"
mkdir -p "$prenorm_deps"
if ! error=$(download "$upstream" "$archive" "$sum" 2>&1); then
  if command -v apt-get >/dev/null; then from_debian "$archive.part" || true; fi
  sha256_is "$archive.part" "$sum" || die "Highway 1.2.0 could not be fetched: ${error##*$'\n'}
  Is there a network? Otherwise put the file $upstream
  (SHA-256 $sum) at $archive"
  mv "$archive.part" "$archive"
fi
printf '%s\n' "$archive"
