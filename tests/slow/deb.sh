#!/usr/bin/env bash
# A .deb by CPack, installed into a clean Debian root: the command answers, and a C program builds against it.
# Takes the tool that makes such roots from FRESH_ROOT or ../shared/tools/fresh-root.
set -euo pipefail
fresh=${FRESH_ROOT:-$PWD/../shared/tools/fresh-root}
[ -x "$fresh" ] || { echo "deb: no such tool at $fresh: set FRESH_ROOT" >&2; exit 1; }
base=${FRESH_ROOT_BASE:-${XDG_CACHE_HOME:-$HOME/.cache}/fresh-root}
build=${PRENORM_DEB_BUILD:-build/deb}
read -r -a options <<<"${PRENORM_DEB_OPTIONS:-}" # of cmake, e.g. -DPRENORM_FEW_TARGETS=ON

cmake -G Ninja -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DPRENORM_BUILD_TESTS=OFF -DPRENORM_BUILD_BENCH=OFF \
  -DPRENORM_ZSH_DIR=share/zsh/vendor-completions -DPRENORM_ONEDNN=OFF "${options[@]}" >/dev/null
cmake --build "$build"
rm -f "$build"/*.deb
(cd "$build" && cpack -G DEB)
"$fresh" --base "$base" -- true
cp "$build"/*.deb "$base/root/root/"
# shellcheck disable=SC2016  # for the shell in there
"$fresh" --base "$base" --reuse -- bash -euc '
  apt-get -qq update
  apt-get -qq install --yes --no-install-recommends /root/*.deb >/dev/null
  cd /
  tiny="/home/new user/prenorm/models/tiny/prenorm-tiny.gguf"
  prenorm --version
  wanted=$(prenorm generate "$tiny" -p "Once there was" -n 48 --temp 0 --quiet)
  [ -n "$wanted" ]
  apt-get -qq install --yes --no-install-recommends gcc libc6-dev pkg-config >/dev/null
  cc -std=c99 -o /tmp/generate /usr/share/doc/prenorm/examples/generate/generate.c $(pkg-config --cflags --libs prenorm)
  [ "$(/tmp/generate "$tiny" "Once there was")" = "$wanted" ]
  dpkg -L prenorm | grep -E "man1/prenorm.1|completions/prenorm$|libprenorm.so.1$"
  apt-get -qq remove --yes prenorm >/dev/null
  ! command -v prenorm
  echo "deb: installed, used, removed"'
