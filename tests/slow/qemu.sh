#!/usr/bin/env bash
# Kernels on emulated machines: aarch64 with NEON (the bits of norms that are stored for x86 too) and SVE2, riscv64 with
# vectors. Builds the tests of norms and of the token engine's kernels with the cross compilers of the distribution, in
# build/qemu-*.  QEMU_MACHINES="neon sve2 rvv" selects.
set -euo pipefail
root=$PWD
# shellcheck source=cmake/setup.sh
. cmake/setup.sh
install_packages "${packages_build[@]}" "${packages_test[@]}" "${packages_qemu[@]}"

# check MACHINE CXX CC PROCESSOR FLAGS EMULATOR -- TEST...: one target, which the flags make the only one.
check() {
  local machine=$1 cxx=$2 cc=$3 processor=$4 flags=$5 emulator=$6 build=$root/build/qemu-$1 test
  shift 7
  say "$machine: building in $build"
  # Static programs need no libraries of the other machine; PIE would ask for its loader.
  cmake -G Ninja -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O1 \
    -DCMAKE_CXX_FLAGS="-DHWY_COMPILE_ONLY_STATIC $flags" -DCMAKE_C_FLAGS="$flags" -DPRENORM_KERNELS_ONLY=ON \
    -DPRENORM_BUILD_TESTS=ON -DPRENORM_GTEST_SOURCE=/usr/src/googletest \
    -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)" \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$processor" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_CROSSCOMPILING_EMULATOR="${emulator// /;}" \
    -DCMAKE_EXE_LINKER_FLAGS=-static -DCMAKE_CXX_LINK_PIE_SUPPORTED=NO -DCMAKE_CXX_LINK_NO_PIE_SUPPORTED=NO \
    -DOpenMP_CXX_FLAGS="$([[ $cxx = clang* ]] && echo -fopenmp=libgomp || echo -fopenmp)" -DOpenMP_CXX_LIB_NAMES=gomp \
    -DOpenMP_gomp_LIBRARY="$("$processor-linux-gnu-gcc" -print-file-name=libgomp.a)" >/dev/null
  cmake --build "$build" --target "$@" >"$build/build.log" 2>&1 || {
    tail -n 40 "$build/build.log" >&2
    die "the build failed: see $build/build.log"
  }
  for test in "$@"; do
    # shellcheck disable=SC2086  # a command with its options
    $emulator "$build/tests/kernels/$test" --gtest_brief=1
  done
}

kernel_tests=(
  target_test rms_norm_test layer_norm_test residual_norm_test group_norm_test batch_norm_test norm_backward_test
  softmax_test deferred_norm_kernel_test matmul_test matmul_panels_test attention_test quantize_test dequantize_test
  activation_test rope_test argmax_test)

for machine in ${QEMU_MACHINES:-neon sve2 rvv}; do
  case $machine in
    neon)
      check neon aarch64-linux-gnu-g++ aarch64-linux-gnu-gcc aarch64 "" "qemu-aarch64 -cpu max" \
        -- "${kernel_tests[@]}" norm_bits_test
      ;;
    sve2)
      check sve2 aarch64-linux-gnu-g++ aarch64-linux-gnu-gcc aarch64 -march=armv9-a "qemu-aarch64 -cpu max" \
        -- "${kernel_tests[@]}"
      ;;
    rvv) # Highway wants the vector intrinsics of clang 17 or later.
      check rvv clang++-19 clang-19 riscv64 "--target=riscv64-linux-gnu -march=rv64gcv" \
        "qemu-riscv64 -cpu rv64,v=true,vlen=256" -- target_test rms_norm_test layer_norm_test
      ;;
    *) die "QEMU_MACHINES: neon, sve2 and rvv are known, not '$machine'" ;;
  esac
done
