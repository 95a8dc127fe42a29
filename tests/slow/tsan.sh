#!/usr/bin/env bash
# All tests under the thread sanitizer.
# It does not see the barriers of the OpenMP runtime. So the engine and the norms use std::threads (PRENORM_STD_THREADS), and
# other regions have one thread (OMP_THREAD_LIMIT, in the preset).
set -euo pipefail
cmake --preset tsan -DPRENORM_BUILD_TESTS=ON -DPRENORM_BUILD_BENCH=OFF >/dev/null
cmake --build --preset tsan
ctest --preset tsan -j2
