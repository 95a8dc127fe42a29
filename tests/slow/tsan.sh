#!/usr/bin/env bash
# All tests under the thread sanitizer.
set -euo pipefail
cmake --preset tsan -DPRENORM_BUILD_TESTS=ON -DPRENORM_BUILD_BENCH=OFF >/dev/null
cmake --build --preset tsan
ctest --preset tsan -j2
