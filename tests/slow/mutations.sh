#!/usr/bin/env bash
# Plants known mistakes in a copy of the norm layer, one at a time: the tests must fail for each.
# Names of mutations may follow, to try these alone: tests/slow/mutations.sh eps-outside
set -euo pipefail
root=$PWD
# shellcheck source=cmake/setup.sh
. cmake/setup.sh
install_packages "${packages_build[@]}" "${packages_test[@]}"

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
  [ -e "$file" ] && printf '%s\0' "$file"
done | tar --null --create --files-from=- | tar --extract --directory="$copy"

chosen=("$@")
launcher=$(command -v ccache || true)
say "building the unchanged norm layer in a copy of the tree"
# The mistakes are in templates that all SIMD targets share: one target shows them, in a fraction of the time.
cmake -G Ninja -S "$copy" -B "$copy/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" \
  -DCMAKE_CXX_FLAGS=-DHWY_COMPILE_ONLY_STATIC -DPRENORM_KERNELS_ONLY=ON -DPRENORM_BUILD_TESTS=ON \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" >"$copy/configure.log" ||
  die "the configuration failed: $(cat "$copy/configure.log")"

survivors=()
planted=0

# passes TEST: builds it and tells whether it passes.
passes() {
  cmake --build "$copy/build" --target "$1" >"$copy/build.log" 2>&1 || {
    tail -n 30 "$copy/build.log" >&2
    die "the build of $1 failed: a mutation must compile"
  }
  "$copy/build/tests/kernels/$1" --gtest_brief=1 >"$copy/test.log" 2>&1
}

# failures: the first tests that failed.
failures() {
  sed -n 's/^\[  FAILED  \] \([A-Za-z/0-9_]*\.[A-Za-z/0-9_]*\).*/\1/p' "$copy/test.log" | sort -u | sed -n 1,3p | paste -s -d ' '
}

# mutation NAME TEST FILE OLD NEW: TEST must pass as the tree is, and fail once OLD (found once in FILE) is NEW.
mutation() {
  local name=$1 test=$2 file=$3 old=$4 new=$5
  if [ ${#chosen[@]} -gt 0 ] && [[ " ${chosen[*]} " != *" $name "* ]]; then return; fi
  passes "$test" || { tail -n 30 "$copy/test.log" >&2; die "$test fails without any mutation"; }
  cp "$copy/$file" "$copy/original"
  python3 - "$copy/$file" "$old" "$new" <<'EOF' || die "mutation $name cannot be planted: adapt it to the changed text"
import sys
path, old, new = sys.argv[1:]
text = open(path).read()
if text.count(old) != 1:
    sys.exit(f"{path}: expected once, found {text.count(old)} times: {old}")
open(path, "w").write(text.replace(old, new))
EOF
  planted=$((planted + 1))
  if passes "$test"; then
    survivors+=("$name")
    printf 'SURVIVED  %-28s %s\n' "$name" "$test"
  else
    printf 'caught    %-28s %s\n' "$name" "$(failures)"
  fi
  cp "$copy/original" "$copy/$file"
}

statistics=kernels/row_statistics.cc
rms=kernels/rms_norm-inl.h
reduce=kernels/reduce-inl.h
convert=kernels/convert-inl.h
channels=kernels/channel_norm-inl.h
backward=kernels/norm_backward-inl.h
fold=kernels/norm_fold.cc

# E[x^2] - mean^2: the squares are not taken around the mean.
mutation naive-variance layer_norm_test $statistics \
  '{ return static_cast<float>(sum / static_cast<double>(count)); }' \
  '{ return static_cast<float>(0.0 * sum / static_cast<double>(count)); }'
mutation uncorrected-mean layer_norm_test $statistics \
  'return {shift, static_cast<float>(-delta * static_cast<double>(inv_stddev)), inv_stddev, scale};' \
  'return {shift, static_cast<float>(0.0 * -delta * static_cast<double>(inv_stddev)), inv_stddev, scale};'
mutation unbiased-variance layer_norm_test $statistics \
  'const double square = moments.variance + eps_;' \
  'const double square = moments.variance * static_cast<double>(cols_) / (static_cast<double>(cols_) - 1.0) + eps_;'
mutation eps-outside rms_norm_test $statistics \
  ': std::sqrt(mean_square + eps_);' \
  ': std::sqrt(mean_square) + eps_;'
mutation one-plus-gain-dropped rms_norm_test $rms \
  'OnePlus(*call.options) ? 1.0f : -0.0f' \
  'OnePlus(*call.options) ? -0.0f : -0.0f'
mutation no-rescue-of-huge-rows rms_norm_test $statistics \
  'if (!(mean_square <= kHigh)) return false;' \
  'if (!(mean_square <= kHigh)) return true;'
mutation tail-lane-not-summed rms_norm_test $reduce \
  'Lanes::LoadN(d, source, begin, end - begin))' \
  'Lanes::LoadN(d, source, begin, end - begin - 1))'
mutation tail-lane-not-stored rms_norm_test $convert \
  'StoreNF32(func(LoadNF32(df, sources, i, remaining)...), df, out, i, remaining);' \
  'StoreNF32(func(LoadNF32(df, sources, i, remaining)...), df, out, i, remaining - 1);'
mutation tail-lane-too-many rms_norm_test $convert \
  'StoreNF32(func(LoadNF32(df, sources, i, remaining)...), df, out, i, remaining);' \
  'StoreNF32(func(LoadNF32(df, sources, i, remaining)...), df, out, i, remaining + 1);'
mutation bf16-truncated rms_norm_test $convert \
  'hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFFu)))' \
  'hn::Add(bits, hn::Sub(odd, odd))'
mutation running-variance-biased batch_norm_test $channels \
  'batch.variance * (values / (values - 1.0))' \
  'batch.variance * (values / values)'
mutation momentum-reversed batch_norm_test $channels \
  '(1.0 - momentum) * static_cast<double>(old) + momentum * value' \
  'momentum * static_cast<double>(old) + (1.0 - momentum) * value'
# Either rank-1 term of the gradient.
mutation backward-without-mean norm_backward_test $backward \
  'if (call.subtract_mean) row.mean =' \
  'if (call.subtract_mean && count < 0.0) row.mean ='
mutation backward-without-product norm_backward_test $backward \
  'row.mean_product = static_cast<float>(sums.products / count);' \
  'row.mean_product = static_cast<float>(0.0 * sums.products / count);'
mutation fold-forgets-a-consumer norm_fold_test $fold \
  'for (LinearMap& map : maps) FoldInput(scale_of, shift_of, &map);' \
  'for (LinearMap& map : maps.first(maps.size() - (maps.size() > 1 ? 1 : 0))) FoldInput(scale_of, shift_of, &map);'
mutation fold-forgets-the-shift norm_fold_test $fold \
  'for (size_t t = 0; t < map->taps; ++t) added += static_cast<double>(taps[t]) * shift;' \
  'for (size_t t = 0; t < map->taps; ++t) added += 0.0 * static_cast<double>(taps[t]) * shift;'

[ $planted -gt 0 ] || die "there is no mutation named ${chosen[*]}"
printf '%d mutations planted, %d survived\n' "$planted" ${#survivors[@]}
[ ${#survivors[@]} = 0 ] || die "survived: ${survivors[*]}"
