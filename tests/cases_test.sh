#!/usr/bin/env bash
# Every case with a known right answer (N normalization, T text, F files, R running) is named beside the test that covers it.
set -euo pipefail
cd "$1" # the tests' folder
missing=()
# require LETTER LAST: the cases LETTER1 to LETTERLAST
require() {
  local n
  for ((n = 1; n <= $2; ++n)); do
    grep -rqE "(//|#) .*\b$1$n\b" --include='*.cc' --include='*.sh' --exclude=cases_test.sh . || missing+=("$1$n")
  done
}
# through FOLDER CASE...: a host and a user get what these say, so a test of that interface names each
through() {
  local folder=$1 name
  shift
  for name; do
    grep -rqE "// .*\b$name\b" --include='*.cc' "$folder" || missing+=("$name in $folder")
  done
}
require N 28
require T 29
require F 32
require R 22
both=(T12 T16 F{1..32} R{1..3} R{6..10} R{12..16} R19 R20 R22)
through c_api "${both[@]}" R21
through tools "${both[@]}" R4 R5 R17 R18 # of the command alone; R11 is slow/baseline.sh
[ ${#missing[@]} = 0 ] || { echo "no test names the cases ${missing[*]}: write '// CASE' behind the TEST line" >&2; exit 1; }
