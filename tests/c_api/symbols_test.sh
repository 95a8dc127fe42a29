#!/usr/bin/env bash
# symbols_test.sh STATIC SHARED: the shared library exports C names only, and our own objects, those of the static library,
# refer to nothing that prints, ends the process or takes over signals.
set -euo pipefail
static=$1 shared=$2 failed=0

others=$(nm --dynamic --defined-only --format=posix "$shared" | cut -d ' ' -f 1 | sed 's/@.*//' |
  grep -vxE 'prenorm_[a-z0-9_]+|PRENORM_1' || true)
if [ -n "$others" ]; then
  printf 'exported, but no part of the C interface:\n%s\n' "$others"
  failed=1
fi
nm --dynamic --defined-only "$shared" | grep -qw prenorm_abi_version || { echo "prenorm_abi_version is not exported"; failed=1; }

# snprintf and vsnprintf write to memory only and are fine.
forbidden='abort|exit|_exit|_Exit|quick_exit|at_quick_exit|atexit|raise|kill|__assert_fail|__assert'
forbidden+='|v?f?printf|v?dprintf|__v?f?printf_chk|__v?dprintf_chk|puts|fputs|putc|fputc|putchar|perror|psignal|error|err|warn|syslog'
forbidden+='|stdin|stdout|stderr|signal|sigaction|sigprocmask|pthread_sigmask|system|popen|setlocale|longjmp|_longjmp'
forbidden+='|_ZSt4cout|_ZSt4cerr|_ZSt4clog|_ZSt5wcout|_ZSt5wcerr'
found=$(nm --undefined-only --print-file-name "$static" | grep -E "[[:space:]]U ($forbidden)(@.*)?\$" || true)
if [ -n "$found" ]; then
  printf 'in our own objects, although a library must not:\n%s\n' "$found"
  failed=1
fi
exit $failed
