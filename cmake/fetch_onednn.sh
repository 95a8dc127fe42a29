#!/usr/bin/env bash
# Fetches oneDNN 3.2 for x86-64, built against GCC's OpenMP runtime, into the dependency cache, where CMake finds it, and
# prints its folder. BF16 prompts on processors with AMX and comparisons in bench/ use it: 39 MB, once. Pinned wheels of
# PyPI; nothing is installed.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=cmake/fetch.sh
. "$here/fetch.sh"

version=2023.2.0 # of the wheels; the library in them is 3.2
target=$prenorm_deps/onednn-3.2

# unpack WHEEL: adds its files below *.data/data/ to $target.part.
unpack() {
  python3 - "$1" "$target.part" <<'PYTHON'
import pathlib, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    for name in wheel.namelist():
        _, found, path = name.partition(".data/data/")
        if found and not name.endswith("/"):
            out = pathlib.Path(sys.argv[2], path)
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_bytes(wheel.read(name))
PYTHON
}

if [ ! -d "$target" ]; then
  say "fetching oneDNN 3.2 (39 MB) into $prenorm_deps"
  rm -rf "$target.part"
  mkdir -p "$target.part"
  while read -r package sum; do
    wheel=$prenorm_deps/$package-$version.whl
    if ! url=$(wheel_url "$package" "$version") || ! download "$url" "$wheel" "$sum"; then
      die "oneDNN could not be fetched (is there a network?). Prenorm builds without it."
    fi
    unpack "$wheel"
    rm -f "$wheel"
  done <<'PINS'
onednn-cpu-gomp 2f22a54d6a890ed14bfa185d42a4be65d8b5b1df85dc1f0f3a9abe31620416fb
onednn-devel-cpu-gomp 9763c69e8c907e119056bd52ad918ca84ac9ba939d130a99dfa95ccca3e5e284
PINS
  # Wheels hold no links, so the library is in there three times.
  ln -sf libdnnl.so.3.2 "$target.part/lib/libdnnl.so.3"
  ln -sf libdnnl.so.3 "$target.part/lib/libdnnl.so"
  mv "$target.part" "$target"
fi
printf '%s\n' "$target"
