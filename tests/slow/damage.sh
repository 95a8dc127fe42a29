#!/usr/bin/env bash
# Every format, cut at each 4 KiB, with 10 000 single bits changed and as many times edited, under the address sanitizer: refused or read, no fault.
set -euo pipefail
flips=${PRENORM_FLIPS:-10000}
build=${PRENORM_ASAN_BUILD:-$PWD/build/asan}
cmake --preset asan -B "$build" >/dev/null
fuzzers=(gguf_fuzz safetensors_fuzz session_fuzz template_fuzz tokenizer_json_fuzz tokenizer_model_fuzz)
cmake --build "$build" --target prenorm_cli "${fuzzers[@]}" >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 tests/fuzz/seeds.py "$work" "$build/bin/prenorm"
for fuzzer in "${fuzzers[@]}"; do
  files=("$work/$fuzzer"/*)
  each=$((flips / ${#files[@]} + 1))
  # Half of the bits where the structure is, half anywhere.
  "$build/tests/fuzz/$fuzzer" --cut 4096 --flips $((each / 2 + 1)) --edits "$each" --within 65536 "${files[@]}"
  "$build/tests/fuzz/$fuzzer" --flips $((each / 2 + 1)) "${files[@]}"
done
