#!/usr/bin/env bash
# clang-tidy and cppcheck with the settings of the tree over kernels, runtime and tools, or over PRENORM_LINT_FILES.
set -euo pipefail
root=$PWD
# shellcheck source=cmake/setup.sh
. cmake/setup.sh
install_packages "${packages_build[@]}" "${packages_fuzz[@]}" "${packages_lint[@]}"
build=${PRENORM_LINT_BUILD:-$PWD/build/lint}
# One SIMD target is enough: the others are the same source.
cmake --preset dev -B "$build" -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DPRENORM_BUILD_TESTS=OFF \
  -DPRENORM_BUILD_BENCH=OFF -DPRENORM_FEW_TARGETS=ON -DCMAKE_CXX_FLAGS='-O1 -DHWY_COMPILE_ONLY_STATIC' >/dev/null
if [ -n "${PRENORM_LINT_FILES:-}" ]; then
  read -ra files <<<"$PRENORM_LINT_FILES"
else
  mapfile -t files < <(find kernels runtime tools -name '*.cc' ! -path 'tools/tiny_model/*' | sort)
fi
# What it says of these is not so, or meant:
cppcheck --quiet --error-exitcode=1 --std=c++20 --language=c++ --enable=warning,performance,portability \
  --max-configs=1 -j "$(nproc)" -I include -I . \
  --suppress=uselessAssignmentPtrArg:runtime/model/encoder.cc `# a lambda's capture by reference` \
  --suppress=invalidPointerCast:kernels/matmul_expanded-inl.h `# a block has floats behind its codes` \
  --suppress=invalidPointerCast:kernels/parallel/norm_backward_parallel.cc `# room for f32 behind that for f64` \
  --suppress=localMutex:runtime/parallel/team.cc `# other threads wait for it` \
  --suppress=invalidFunctionArg:tools/common/log_probs.cc `# a vocabulary is never empty` \
  --suppress=selfAssignment:tools/norm_bench/cache_mode.cc `# through a volatile pointer` \
  "${files[@]}"
echo "cppcheck: ${#files[@]} files, nothing found"
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$(nproc)" nice clang-tidy -p "$build" --quiet --warnings-as-errors='*' 2>"$build/clang-tidy.log" ||
  { tail -n 20 "$build/clang-tidy.log" >&2; exit 1; }
echo "clang-tidy: ${#files[@]} files, nothing found"
