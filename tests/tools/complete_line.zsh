# complete_line.zsh FOLDER LINE: types LINE and a tab into an interactive zsh that has the completion of FOLDER, and prints
# the words of the line that results, one a line. A function stands for the command there and says what it was given.
zmodload zsh/zpty
zpty -b shell zsh -f -i
typeset -g seen=

# until PATTERN: reads what the shell says until it matches; ten seconds at most.
until_said() {
  local out
  local -i i
  for ((i = 0; i < 100; ++i)); do
    while zpty -r -t shell out; do seen+=$out; done
    [[ $seen == ${~1} ]] && return
    sleep 0.1
  done
  print -r -- "waited in vain for $1, found: $seen"
  exit 1
}

zpty -w shell "PS1= PS2= RPS1=; unsetopt beep automenu; fpath=(${(q)1} \$fpath); autoload -Uz compinit; compinit -u -D"
zpty -w shell 'prenorm() { print -rl -- BEGIN "$@" END$((1 + 1)) }; print READY$((1 + 1))'
until_said '*READY2*'
zpty -w -n shell "$2"$'\t'
sleep 1 # the completion ends without a sign
zpty -w -n shell $'\n'
until_said '*END2*'
print -r -- "${${seen##*BEGIN}%%END2*}"
