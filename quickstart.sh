#!/usr/bin/env bash
# From a fresh machine to an answer:  ./quickstart.sh ["prompt"]
#
# Finds or installs what the build needs (it says what), builds the prenorm command, fetches the default model once
# (98 MB, into ~/.cache/prenorm) and prints the model's answer to the prompt. Later runs start at once.
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd -P)
# shellcheck source=cmake/setup.sh
. "$root/cmake/setup.sh"

case ${1:-} in -h | --help) sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;; esac
prompt=${*:-"Why is the sky blue?"}
model_name=smollm2-135m-instruct-q4_1

build=$(build_dir)
prenorm=$build/bin/prenorm
# The stamp is the set-up script that last succeeded for this tree: what it checks need not be checked again.
stamp() { printf '# %s\n' "$root"; cat "$root/cmake/setup.sh"; }
if ! cmp -s <(stamp) "$build/setup.stamp"; then
  install_packages "${packages_build[@]}"
  say "configuring and building in $build (some minutes the first time)"
  configure
  compile prenorm_cli
  stamp >"$build/setup.stamp"
elif [[ $(ninja -C "$build" -n prenorm_cli) != *"no work to do"* ]]; then
  say "the tree has changed: building again in $build"
  compile prenorm_cli
fi

if ! model=$("$prenorm" models fetch "$model_name"); then
  say "answering with the tiny model of the tree instead: it tells small stories and knows nothing"
  model=$root/models/tiny/prenorm-tiny.gguf
fi
exec "$prenorm" chat "$model" -p "$prompt"
