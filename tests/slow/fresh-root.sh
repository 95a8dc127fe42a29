#!/usr/bin/env bash
# The two commands in a clean Debian root with a fresh clone: as root, as a plain user, and without network.
# Takes the tool that makes such roots from FRESH_ROOT or ../shared/tools/fresh-root.
set -euo pipefail
fresh=${FRESH_ROOT:-$PWD/../shared/tools/fresh-root}
[ -x "$fresh" ] || { echo "fresh-root: no such tool at $fresh: set FRESH_ROOT" >&2; exit 1; }

# run OPTION... -- COMMAND...: one step, with its name.
run() { printf '\n== fresh-root %s\n' "$*"; "$fresh" "$@"; }

run -- ./quickstart.sh "Say hello."
run --reuse -- ./test.sh
run --reuse --offline -- ./quickstart.sh "Say hello."
run --reuse --user -- ./quickstart.sh "Say hello."
run --reuse --user -- ./test.sh
run --reuse --user --offline -- ./quickstart.sh "Say hello."
