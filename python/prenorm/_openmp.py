"""One OpenMP runtime for this package and for what was imported before it.

torch and others bring a libgomp of their own. Two in one process keep two sets of threads, and those of one spin for
a while when they have no work, which takes the processors from the other. The libraries are the same but for their
names, so the one that is there already is made visible to the linker before the extension module is loaded, which then
uses it. What is imported afterwards has made its choice without us: `runtimes` tells, and loading a model warns.
"""

from __future__ import annotations

import ctypes
import os
import re
import warnings


def _mapped() -> set[str]:
    """The OpenMP runtimes in this process, by their files."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            paths = {line.split(None, 5)[5].strip() for line in maps if line.count(" ") >= 5 and "/" in line}
    except OSError:
        return set()
    return {path for path in paths if re.match(r"lib(gomp|omp|iomp5)\b.*\.so", os.path.basename(path))}


def _share() -> None:
    for path in sorted(_mapped()):
        if os.path.basename(path).startswith("libgomp"):
            try:
                ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_NOLOAD | os.RTLD_GLOBAL)
            except OSError:
                pass  # It works with two as well.
            return


_before = _mapped()
_share()
from . import _prenorm  # noqa: E402 (after the runtime that it shall use)

_used = os.path.realpath(_prenorm.openmp_library())
_idle = _mapped() - _before - {_used}  # Ours, where another's is used: it never starts a thread.
_warned = False


def runtimes() -> list[str]:
    """The files of the OpenMP runtimes with threads in this process, first the one that Prenorm uses.

    One is best. With more, import the other package before prenorm, which then shares its runtime (GNU's only)."""
    return [_used, *sorted(_mapped() - _idle - {_used})]


def warn_of_several() -> None:
    global _warned
    others = runtimes()[1:]
    if others and not _warned:
        _warned = True
        warnings.warn(
            f"several OpenMP runtimes in one process: {_used}, {', '.join(others)}: their threads compete for "
            "the processors. Import the package that brings the other one before prenorm.",
            RuntimeWarning,
            stacklevel=4,
        )
