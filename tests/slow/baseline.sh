#!/usr/bin/env bash
# The command on emulated old processors: the target fits the processor, no instruction is illegal, the text is the same.
# R11.
set -euo pipefail
root=$PWD
# shellcheck source=cmake/setup.sh
. cmake/setup.sh
install_packages "${packages_build[@]}" qemu-x86_64:qemu-user
build=$(build_dir)
configure
compile
model=models/tiny/prenorm-tiny.gguf
ask=(generate -m "$model" -p Once -n 12 --temp 0 -t 1 --json)
text() { sed -n 's/.*"ids":\(\[[^]]*\]\).*/\1/p'; }
want=$("$build/bin/prenorm" "${ask[@]}" 2>/dev/null </dev/null | text)
[ -n "$want" ]
# processor (as qemu names it) and the target that it must get
while read -r cpu target; do
  answer=$(qemu-x86_64 -cpu "$cpu" "$build/bin/prenorm" "${ask[@]}" 2>/dev/null </dev/null) || { echo "$cpu: the command failed" >&2; exit 1; }
  grep -q "\"target\":\"$target\"" <<<"$answer" || { echo "$cpu: expected target $target in $answer" >&2; exit 1; }
  [ "$(text <<<"$answer")" = "$want" ] || { echo "$cpu: other text: $answer" >&2; exit 1; }
  echo "$cpu: $target, the same text"
done <<'CPUS'
Conroe SSE2
Westmere SSE4
Haswell AVX2
CPUS
