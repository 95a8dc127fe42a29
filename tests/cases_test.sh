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
require N 28
require T 29
require F 32
require R 22
[ ${#missing[@]} = 0 ] || { echo "no test names the cases ${missing[*]}: write '// CASE' behind the TEST line" >&2; exit 1; }
