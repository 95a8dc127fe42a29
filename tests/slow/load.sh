#!/usr/bin/env bash
# Sixteen sessions on sixteen threads with random interruptions, PRENORM_LOAD_SECONDS (300): right bytes, steady memory.
set -euo pipefail
build=${PRENORM_BUILD:-$PWD/build/release}
cmake --preset release -B "$build" -DPRENORM_BUILD_TESTS=ON >/dev/null
cmake --build "$build" --target c_load_test >/dev/null
PRENORM_LOAD_SECONDS=${PRENORM_LOAD_SECONDS:-300} "$build/tests/c_api/c_load_test"
