#!/usr/bin/env bash
# Norms on emulated aarch64 (NEON): the accuracy promises, and the bits that are stored for x86 too.
# Builds three tests with the cross compiler of the distribution, in build/qemu-aarch64.
set -euo pipefail
root=$PWD
# shellcheck source=cmake/setup.sh
. cmake/setup.sh
install_packages "${packages_build[@]}" "${packages_test[@]}" "${packages_qemu[@]}"

build=$root/build/qemu-aarch64
tests=(target_test norm_bits_test rms_norm_test)
say "building in $build"
# Static programs need no libraries of the other machine; PIE would ask for its loader.
cmake -G Ninja -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O1 \
  -DCMAKE_CXX_FLAGS=-DHWY_COMPILE_ONLY_STATIC -DPRENORM_KERNELS_ONLY=ON -DPRENORM_BUILD_TESTS=ON \
  -DPRENORM_GTEST_SOURCE=/usr/src/googletest -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)" \
  -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc \
  -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ "-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64;-cpu;max" \
  -DCMAKE_EXE_LINKER_FLAGS=-static -DCMAKE_CXX_LINK_PIE_SUPPORTED=NO -DCMAKE_CXX_LINK_NO_PIE_SUPPORTED=NO \
  -DOpenMP_gomp_LIBRARY="$(aarch64-linux-gnu-gcc -print-file-name=libgomp.a)" >/dev/null
cmake --build "$build" --target "${tests[@]}" >"$build/build.log" 2>&1 || {
  tail -n 40 "$build/build.log" >&2
  die "the build failed: see $build/build.log"
}
for test in "${tests[@]}"; do
  qemu-aarch64 -cpu max "$build/tests/kernels/$test" --gtest_brief=1
done
