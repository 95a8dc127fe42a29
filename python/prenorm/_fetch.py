"""From what a user calls a model to its file, fetched where it is not there."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Optional, Union

from . import _prenorm
from ._generation import interruptible

Progress = Callable[[str, float], Optional[bool]]


class _Line:
    """One line of stderr that grows: a file's name and, every ten percent, how much of it is there."""

    def __init__(self) -> None:
        self._file, self._tenths = "", 0

    def __call__(self, file: str, share: float) -> bool:
        if file != self._file:
            self.end()
            self._file, self._tenths = file, 0
            print(f"{file}:", end="", file=sys.stderr, flush=True)
        while self._tenths < int(share * 10):
            self._tenths += 1
            print(f" {self._tenths * 10}%", end="", file=sys.stderr, flush=True)
        return True

    def end(self) -> None:
        if self._file:
            print(file=sys.stderr, flush=True)
        self._file = ""


def find(name: Union[str, os.PathLike, None], local_files_only: bool, progress: Optional[Progress]) -> str:
    """The path of a model: `name` itself if there is such a file or folder, else what the cache has by that name, else
    what is fetched into it. Without a name the default model. Errors: as of Model.from_pretrained."""
    wanted = "" if name is None else os.fspath(name)
    if name is not None and not wanted:
        raise ValueError("name: expected a path or a name, found an empty text; without one the default model is meant")
    try:
        return _prenorm.find_model(wanted)
    except FileNotFoundError:
        wanted = wanted or _prenorm.default_model()
        if local_files_only or not _prenorm.can_fetch(wanted):
            raise
    line = _Line()

    def report(file: str, share: float) -> bool:
        return line(file, share) if progress is None else progress(file, share) is not False

    def note(text: str) -> None:
        line.end()
        print(text, file=sys.stderr, flush=True)

    try:
        return interruptible(lambda flag: _prenorm.fetch_model(wanted, note, report, flag))
    finally:
        line.end()
