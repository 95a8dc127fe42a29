#!/usr/bin/env bash
# Builds the llama.cpp of PyPI's source package llama-cpp-python, natively, and prints the folder of its programs.
#
# Everything is kept in the dependency cache: 70 MB to fetch, minutes to build, once. AMX is left out: with it, this
# version crashes on Q4_1 files.   bench/peers/build_llama_cpp.sh [JOBS]
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd -P)
# shellcheck source=cmake/fetch.sh
. "$root/cmake/fetch.sh"

version=0.3.36 # of the package; the program calls itself 0.5.0-dev
sum=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
target=$prenorm_deps/llama.cpp-$version
bin=$target/build/bin

# The address of the source package, as pip finds it. (pip's report on an installation would first build what a source
# package needs in order to tell its dependencies: minutes.)
source_url() {
  python3 -m pip -vv --disable-pip-version-check --retries 1 index versions --no-binary :all: llama-cpp-python 2>/dev/null |
    sed -n "s/^ *Found link \([^ #]*\).* version: ${version//./\\.}\$/\1/p"
}

if [ ! -d "$target/source" ]; then
  say "fetching llama.cpp into $prenorm_deps"
  mkdir -p "$target/source.part"
  archive=$prenorm_deps/llama_cpp_python-$version.tar.gz
  if ! sha256_is "$archive" "$sum"; then
    if ! url=$(source_url) || [ -z "$url" ] || ! download "$url" "$archive" "$sum"; then
      die "llama.cpp could not be fetched (is there a network?)"
    fi
  fi
  tar -xzf "$archive" -C "$target/source.part" --strip-components=3 "llama_cpp_python-$version/vendor/llama.cpp"
  mv "$target/source.part" "$target/source"
  rm -f "$archive"
fi
if [ ! -x "$bin/llama-completion" ] || [ ! -x "$bin/llama-bench" ]; then
  say "building llama.cpp"
  flags=
  if grep -q amx /proc/cpuinfo; then flags="-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"; fi
  cmake -S "$target/source" -B "$target/build" -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON -DLLAMA_CURL=OFF \
    -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_SERVER=OFF >&2
  cmake --build "$target/build" --parallel "${1:-$(nproc)}" \
    --target llama-bench llama-completion llama-perplexity llama-quantize >&2
fi
printf '%s\n' "$bin"
