#!/usr/bin/env bash
# The shared library's interface against its baseline, libprenorm.abi in this folder, by libabigail.
#   abi.sh check LIBRARY    0: the same or larger; 1: something that programs were built with has changed; 77: no abidiff
#   abi.sh update LIBRARY   writes the baseline again: with a release, or with a new PRENORM_ABI_VERSION
# LIBRARY is a build by GCC; its C interface carries debug information for this.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
headers=$here/../../include/prenorm baseline=$here/libprenorm.abi
if ! command -v abidiff >/dev/null || ! command -v abidw >/dev/null; then
  echo "skipped: libabigail (abigail-tools) is not installed"
  exit 77
fi
dump() {
  abidw --headers-dir "$headers" --drop-private-types --exported-interfaces-only --no-show-locs --no-comp-dir-path \
    --no-corpus-path --no-architecture --no-elf-needed "$1" | sed "s,path='[^']*/\(runtime\|kernels\)/,path='\1/,"
}

case $1 in
  update) dump "$2" >"$baseline" ;;
  check)
    now=$(mktemp)
    trap 'rm -f "$now"' EXIT
    dump "$2" >"$now"
    status=0
    abidiff --no-added-syms "$baseline" "$now" || status=$?
    if [ "$status" != 0 ]; then
      echo "The C interface differs from tests/c_api/libprenorm.abi in what programs rely on: raise PRENORM_ABI_VERSION,"
      echo "or, before the first release, run tests/c_api/abi.sh update LIBRARY."
      exit 1
    fi ;;
esac
