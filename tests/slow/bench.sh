#!/usr/bin/env bash
# Builds the benchmarks, with oneDNN beside them where it can be had, and runs each for a moment
set -euo pipefail
root=$PWD
# shellcheck source=cmake/setup.sh
. cmake/setup.sh
install_packages "${packages_build[@]}" "${packages_bench[@]}"
cmake/fetch_onednn.sh >/dev/null || say "oneDNN cannot be fetched: its comparisons are left out"
build=$(build_dir)
configure -DPRENORM_BUILD_BENCH=ON
compile
for bench in "$build"/bench/*/*_bench; do
  say "$(basename "$bench")"
  "$bench" --benchmark_min_time=0.01 >/dev/null
done
