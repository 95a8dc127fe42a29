#!/usr/bin/env bash
# Builds one peer of `prenorm norms --bench` against an installation that is at hand, and prints its path.
#
#   build.sh onednn PREFIX OUT.so          PREFIX/include, PREFIX/lib (cmake/fetch_onednn.sh prints such a folder)
#   build.sh ggml INCLUDE LIBDIR OUT.so    headers of ggml, and the folder of libggml-base.so and libggml-cpu.so
#   build.sh torch PYTHON OUT.so           an interpreter that can import torch
#
# CXX and CXXFLAGS are respected.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../../..
usage() {
  sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}
compile() {
  local out=$1 source=$2
  shift 2
  # shellcheck disable=SC2086  # CXXFLAGS holds several words.
  "${CXX:-c++}" -std=c++20 -O2 -fPIC -shared -fopenmp -fvisibility=hidden ${CXXFLAGS:-} -I"$root" "$here/$source" -o "$out" "$@"
  printf '%s\n' "$out"
}
case ${1:-} in
  onednn)
    [ $# = 3 ] || usage
    compile "$3" onednn.cc -I"$2/include" -L"$2/lib" -ldnnl -Wl,-rpath,"$2/lib"
    ;;
  ggml)
    [ $# = 4 ] || usage
    compile "$4" ggml.cc -I"$2" -L"$3" -lggml-cpu -lggml-base -Wl,-rpath,"$3"
    ;;
  torch)
    [ $# = 3 ] || usage
    torch=$("$2" -c 'import pathlib, torch; print(pathlib.Path(torch.__file__).parent)')
    compile "$3" torch.cc -isystem "$torch/include" -isystem "$torch/include/torch/csrc/api/include" -L"$torch/lib" -ltorch_cpu -lc10 -Wl,-rpath,"$torch/lib"
    ;;
  *) usage ;;
esac
