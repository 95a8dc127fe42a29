#!/usr/bin/env bash
# install_test.sh find_package|pkg-config BUILD EXAMPLE [ARGUMENT...]: installs the built tree BUILD into a temporary
# prefix with a space in its name, builds the program of the folder EXAMPLE against it, and runs it.
set -euo pipefail
way=$1 build=$2 example=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix="$work/the prefix"
program=$work/embed

cmake --install "$build" --prefix "$prefix" >"$work/log"
case $way in
  find_package)
    cmake -G Ninja -S "$example" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_RUNTIME_OUTPUT_DIRECTORY="$work" >"$work/log"
    cmake --build "$work/build" ;;
  pkg-config)
    # pkg-config escapes the space of the prefix for a shell, hence eval.
    flags=$(PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name prenorm.pc)") pkg-config --cflags --libs prenorm)
    eval "${CXX:-c++} ${CXXFLAGS:-} -std=c++20 -o \"\$program\" \"\$example\"/*.cc $flags" ;;
esac
"$program" "$@"
