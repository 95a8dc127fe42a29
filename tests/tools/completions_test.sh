#!/usr/bin/env bash
# completions_test.sh bash|zsh|fish FOLDER: loads the generated completions of FOLDER in the real shell, and completes.
# 77 where the shell is not installed.
set -euo pipefail
shell=$1 folder=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
command -v "$shell" >/dev/null || { echo "skipped: $shell is not installed"; exit 77; }

# expect LINE WANTED NOT: completing LINE offers WANTED, and nothing that begins like NOT.
expect() {
  local offered
  offered=$(complete_line "$1")
  grep -qxF -e "$2" <<<"$offered" || { printf '%s: expected %s, offered:\n%s\n' "$1" "$2" "$offered"; exit 1; }
  if grep -q -e "^$3" <<<"$offered"; then printf '%s: offered %s too:\n%s\n' "$1" "$3" "$offered"; exit 1; fi
}

case $shell in
  bash)
    complete_line() {
      # shellcheck disable=SC2016  # for the inner shell
      bash --norc -c 'set -u; . "$1"; COMP_WORDS=($2); case $2 in *" ") COMP_WORDS+=("") ;; esac
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _prenorm; printf "%s\n" "${COMPREPLY[@]}"' bash "$folder/prenorm.bash" "$1"
    } ;;
  fish)
    complete_line() {
      # shellcheck disable=SC2016
      HOME=$folder fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$folder/prenorm.fish" "$1" | cut -f 1
    } ;;
  zsh) complete_line() { zsh -f "$here/complete_line.zsh" "$folder" "$1" | tr -d '\r'; } ;;
esac

expect 'prenorm gener' generate chat
expect 'prenorm chat --max-new' --max-new-tokens --min-p
expect 'prenorm bench --format c' csv json
expect 'prenorm models fet' fetch list
case $shell in
  zsh) ;; # completes to what is common to all, here nothing
  *)
    expect 'prenorm ' profile --json
    expect 'prenorm quantize --j' --json --jsonl ;;
esac
