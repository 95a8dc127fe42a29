#!/usr/bin/env bash
# man_pages_test.sh PRENORM FOLDER: every command has a page, every page has every option of the command's help, and
# mandoc or groff, where there is one, has nothing to complain of.
set -euo pipefail
prenorm=$1 folder=$2/man1
commands=$("$prenorm" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ "$(wc -w <<<"$commands")" -ge 10 ] || { echo "commands in the help: $commands"; exit 1; }
for command in $commands; do
  page=$folder/prenorm-$command.1
  [ -s "$page" ] || { echo "no page $page"; exit 1; }
  grep -qF "prenorm\\-$command" "$folder/prenorm.1" || { echo "prenorm.1 does not name $command"; exit 1; }
  for option in $("$prenorm" "$command" --help | sed -n 's/^  .*\(--[a-z0-9-]*\).*/\1/p' | grep -v '^--$'); do
    grep -qF -e "${option//-/\\-}" "$page" || { echo "$page lacks $option"; exit 1; }
  done
  if command -v mandoc >/dev/null; then
    # The pages have no date, on purpose: the same tree makes the same pages.
    complaints=$(mandoc -T lint -W warning "$page" | grep -v 'missing date' || true)
    [ -z "$complaints" ] || { echo "$complaints"; exit 1; }
  elif command -v groff >/dev/null; then
    [ -z "$(groff -man -ww -T utf8 "$page" 2>&1 >/dev/null)" ] || { echo "groff complains of $page"; exit 1; }
  fi
done
