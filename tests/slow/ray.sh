#!/usr/bin/env bash
# The Python package on a Ray cluster of two nodes in this machine, one of which is killed in the middle.
#
# PRENORM_WHEEL names a built wheel (otherwise one is built; CMAKE_ARGS goes to CMake); PRENORM_RAY_WORK a folder to work in
# and keep.
set -euo pipefail
work=${PRENORM_RAY_WORK:-}
if [ -z "$work" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi
[ -x "$work/venv/bin/ray" ] || {
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" -q install ray
}
"$work/venv/bin/pip" -q install --force-reinstall --no-deps "${PRENORM_WHEEL:-.}"
"$work/venv/bin/pip" -q install numpy
mkdir -p "$work/elsewhere"
cp python/tests/{ray_cluster,smaps}.py "$work/elsewhere/"
export PRENORM_TINY_MODEL=$PWD/models/tiny/prenorm-tiny.gguf
cd "$work/elsewhere"
"$work/venv/bin/python" -m unittest -v ray_cluster
