#!/usr/bin/env bash
# What operator events cost a decoded token when nobody listens: against a build without them, by turns
set -euo pipefail
root=$PWD
# shellcheck source=cmake/setup.sh
. cmake/setup.sh
install_packages "${packages_build[@]}"
with=$(build_dir)
model=${1:-models/tiny/prenorm-tiny.gguf}
for events in ON OFF; do
  build=$with
  [ $events = ON ] || build=$with-no-events
  configure -DPRENORM_EVENTS=$events -DPRENORM_BUILD_TESTS=OFF -DPRENORM_BUILD_BENCH=OFF
  compile prenorm_cli
done
python3 - "$with/bin/prenorm" "$with-no-events/bin/prenorm" "$model" <<'PYTHON'
import json
import statistics
import subprocess
import sys

def rate(binary):
    command = [binary, "bench", sys.argv[3], "--tests", "tg64", "--probe-mb", "16", "--quiet", "--json"]
    return json.loads(subprocess.check_output(command))["results"][0]["median_ts"]

ratios = []
for turn in range(10):
    pair = sys.argv[1:3] if turn % 2 == 0 else sys.argv[2:0:-1]
    rates = {binary: rate(binary) for binary in pair}
    ratios.append(rates[sys.argv[2]] / rates[sys.argv[1]] - 1)
ratios.sort()
# With ten pairs the second and the ninth enclose the median with a confidence of 98 %.
print(f"events off: {100 * statistics.median(ratios):+.2f} % of a token ({100 * ratios[1]:+.2f} to {100 * ratios[-2]:+.2f})")
if ratios[1] > 0.005:
    sys.exit("more than 0.5 %")
PYTHON
