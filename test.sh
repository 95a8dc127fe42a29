#!/usr/bin/env bash
# Builds for Release and runs the tests:  ./test.sh [CTEST-OPTION...]
#
#   ./test.sh -R Norm               only tests whose name matches (any option of ctest)
#   ./test.sh --slow [NAME...]      the slow checks of tests/slow/ (all, or by name)
#   ./test.sh --slow --list         what there is
#
# Finds or installs what the build and the tests need, and says what. Tests fetch nothing.
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd -P)
# shellcheck source=cmake/setup.sh
. "$root/cmake/setup.sh"

# slow [--list] [NAME...]: runs tests/slow/NAME.sh from the root of the tree, each by itself, and sums up.
slow() {
  local name names=() failed=()
  if [ "${1:-}" = --list ]; then
    for name in "$root"/tests/slow/*.sh; do
      printf '%-16s %s\n' "$(basename "$name" .sh)" "$(sed -n '2s/^# *//p' "$name")"
    done
    return
  fi
  names=("$@")
  [ ${#names[@]} -gt 0 ] || for name in "$root"/tests/slow/*.sh; do names+=("$(basename "$name" .sh)"); done
  for name in "${names[@]}"; do
    [ -f "$root/tests/slow/$name.sh" ] || die "there is no slow check '$name': see ./test.sh --slow --list"
  done
  for name in "${names[@]}"; do
    say "slow check: $name"
    (cd "$root" && bash "tests/slow/$name.sh") || failed+=("$name")
  done
  printf '%d passed, %d failed\n' $((${#names[@]} - ${#failed[@]})) ${#failed[@]}
  [ ${#failed[@]} = 0 ] || die "failed: ${failed[*]}"
}

case ${1:-} in
  -h | --help) sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  --slow) shift; install_packages "${packages_build[@]}" "${packages_test[@]}"; slow "$@"; exit ;;
esac

# Vocabularies and templates of other projects, for the tests that compare with them.
if [ -z "${PRENORM_PEER_DIR:-}" ] && [ -d "$root/../shared/peer" ]; then
  PRENORM_PEER_DIR=$(cd "$root/../shared/peer" && pwd)
  export PRENORM_PEER_DIR
fi

build=$(build_dir)
install_packages "${packages_build[@]}" "${packages_test[@]}"
say "configuring and building in $build (some minutes the first time)"
configure -DPRENORM_BUILD_TESTS=ON -DPRENORM_BUILD_BENCH=OFF # ./test.sh --slow bench builds those
compile
cd "$build"
exec ctest --output-on-failure -j2 "$@"
