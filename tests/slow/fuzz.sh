#!/usr/bin/env bash
# libFuzzer with sanitizers on every format and on the SIMD targets, PRENORM_FUZZ_SECONDS (60) each.
set -euo pipefail
root=$PWD
# shellcheck source=cmake/setup.sh
. cmake/setup.sh
install_packages "${packages_build[@]}" "${packages_fuzz[@]}"
seconds=${PRENORM_FUZZ_SECONDS:-60}
build=${PRENORM_FUZZ_BUILD:-$PWD/build/fuzz}
cmake --preset fuzz -B "$build" >/dev/null
fuzzers=(gguf_fuzz safetensors_fuzz session_fuzz targets_fuzz template_fuzz text_fuzz tokenizer_json_fuzz
  tokenizer_model_fuzz)
cmake --build "$build" --target prenorm_cli "${fuzzers[@]}" >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 tests/fuzz/seeds.py "$work" "$build/bin/prenorm"
failed=0
for fuzzer in "${fuzzers[@]}"; do
  mkdir -p "$build/corpus/$fuzzer"
  if (cd "$build" && "tests/fuzz/$fuzzer" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 \
    "corpus/$fuzzer" "$work/$fuzzer") >"$work/log" 2>&1; then
    printf '%-22s %s inputs, nothing found\n' "$fuzzer" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/log")"
  else
    failed=1
    printf '%-22s a finding, in %s:\n' "$fuzzer" "$build"
    tail -n 40 "$work/log"
  fi
done
exit $failed
