#!/usr/bin/env bash
# install_test.sh install BUILD PREFIX: installs the built tree BUILD into PREFIX, and looks for what should be there.
# install_test.sh subdirectory TREE [OPTION...]: a project that adds the source tree TREE to itself can be configured.
# install_test.sh example PREFIX EXAMPLE MODEL cmake [OPTION...] | pkg-config PACKAGE: builds the program of the folder
# EXAMPLE against the installed tree, and runs it. What it says must be what the installed command says.
set -euo pipefail

install() {
  local build=$1 prefix=$2 file
  rm -rf "$prefix"
  cmake --install "$build" --prefix "$prefix" >/dev/null
  for file in bin/prenorm include/prenorm/prenorm.h include/prenorm/prenorm.hpp share/man/man1/prenorm.1 \
    share/man/man1/prenorm-generate.1 share/bash-completion/completions/prenorm share/zsh/site-functions/_prenorm \
    share/fish/vendor_completions.d/prenorm.fish share/doc/prenorm/examples/generate/generate.c; do
    [ -s "$prefix/$file" ] || { echo "not installed: $file"; exit 1; }
  done
}

subdirectory() {
  local tree=$1 developers
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  cat >"$work/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.22)
project(outside LANGUAGES C CXX)
add_subdirectory("$tree" "the runtime" EXCLUDE_FROM_ALL)
foreach(way static shared)
  add_executable(outside_\${way} "$tree/examples/generate/generate.c")
  target_link_libraries(outside_\${way} PRIVATE prenorm::\${way})
endforeach()
EOF
  cmake -G Ninja -S "$work" -B "$work/build" "${@:2}" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  ninja -C "$work/build" -n >"$work/log" || { cat "$work/log"; exit 1; } # Every file that a build needs has a rule.
  grep -q 'Linking C[X]* executable outside_shared' "$work/log" || { tail "$work/log"; exit 1; }
  developers=$(ninja -C "$work/build" -t targets all | grep -E '^(the.runtime/)?(tests|tools|bench|python)/' || true)
  [ -z "$developers" ] || { echo "for developers only: $developers"; exit 1; }
}

# build_example WAY...: makes $program.
build_example() {
  local flags sources compile
  case $1 in
    cmake)
      cmake -G Ninja -S "$example" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_RUNTIME_OUTPUT_DIRECTORY="$work" "${@:2}" >"$work/log"
      cmake --build "$work/build" ;;
    pkg-config)
      # pkg-config escapes the space of the prefix for a shell, hence eval.
      flags=$(PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name prenorm.pc -o -name prenorm-static.pc | head -n 1)") \
        pkg-config --cflags --libs "$2")
      sources=("$example"/*.c*)
      compile="${CXX:-c++} ${CXXFLAGS:-} -std=c++20"
      [ "${sources[0]##*.}" = cc ] || compile="${CC:-cc} ${CFLAGS:-} -std=c99"
      eval "$compile -o \"\$program\" \"\${sources[0]}\" $flags" ;;
  esac
}

example() {
  prefix=$1 example=$2 model=$3
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  program=$work/$(basename "$example")
  build_example "${@:4}"
  LD_LIBRARY_PATH=$(dirname "$(find "$prefix" -name 'libprenorm.*' | head -n 1)")
  export LD_LIBRARY_PATH
  local said wanted
  case $(basename "$example") in
    norm)
      said=$("$program")
      wanted=$'rms norm    0.36515 0.73030 1.09545 1.46059\nlayer norm  -1.34164 -0.44721 0.44721 1.34164\n'
      [[ $said == "$wanted"refused*'stride of x is 3'* ]] || { echo "$said"; exit 1; } ;;
    chat)
      said=$(printf 'Tell me a story.\nAnd another one.\n' | "$program" "$model")
      [ "$(grep -c '^> .' <<<"$said")" -ge 2 ] || { echo "$said"; exit 1; } ;;
    *)
      said=$("$program" "$model" "Once there was")
      wanted=$("$prefix/bin/prenorm" generate "$model" -p "Once there was" -n 48 --temp 0 --quiet)
      [ "$said" = "$wanted" ] || { printf 'said   %s\nwanted %s\n' "$said" "$wanted"; exit 1; } ;;
  esac
}

"$@"
