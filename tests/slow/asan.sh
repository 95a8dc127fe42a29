#!/usr/bin/env bash
# All tests under the address and undefined-behaviour sanitizers.
set -euo pipefail
cmake --preset asan -DPRENORM_BUILD_TESTS=ON -DPRENORM_BUILD_BENCH=OFF >/dev/null
cmake --build --preset asan
UBSAN_OPTIONS=print_stacktrace=1 ctest --preset asan -j2
