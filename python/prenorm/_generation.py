"""Calls that run on threads of their own, so that signals arrive in the caller's; and answers as streams of text."""

from __future__ import annotations

import atexit
import secrets
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from . import _prenorm

# Seconds between looks for an interrupt: by a signal, or by _thread.interrupt_main() as debuggers do it.
_LOOK = 0.1


@dataclass(frozen=True)
class Generation:
    """What a generation gave. `finish_reason` is "stop", "length" or "interrupted"; times are nanoseconds; the same
    `seed` gives the same text again."""

    text: str
    ids: list[int]
    prompt_tokens: int
    reused_tokens: int
    finish_reason: str
    prefill_ns: int
    decode_ns: int
    ttft_ns: int
    seed: int

    @property
    def tokens_per_second(self) -> float:
        """Of the answer, without the prompt."""
        return len(self.ids) / max(self.decode_ns, 1) * 1e9


class Job:
    """call(flag) on a thread of its own; cancel() sets the flag. At exit of the interpreter all are cancelled, because
    a thread that asks for the lock of a finished interpreter ends the process."""

    _running: "weakref.WeakSet[Job]" = weakref.WeakSet()

    def __init__(self, call: Callable[[_prenorm.CancelFlag], Any], done: Callable[[], None] = lambda: None) -> None:
        self.flag = _prenorm.CancelFlag()
        self.value: Any = None
        self.error: Optional[BaseException] = None
        self._ended = threading.Event()

        def run() -> None:
            try:
                self.value = call(self.flag)
            except BaseException as error:  # Raised again where the result is asked for.
                self.error = error
            self._ended.set()
            done()

        Job._running.add(self)
        threading.Thread(target=run, name="prenorm", daemon=True).start()

    def cancel(self) -> None:
        self.flag.cancel()

    def wait(self) -> None:
        while not self._ended.wait(_LOOK):
            pass

    def result(self) -> Any:
        """Waits. A KeyboardInterrupt meanwhile cancels the call, and goes on when that has ended."""
        try:
            self.wait()
        except BaseException:
            self.cancel()
            self.wait()
            raise
        if self.error is not None:
            raise self.error
        return self.value

    @classmethod
    def _cancel_all(cls) -> None:
        for job in list(cls._running):
            job.cancel()
            job._ended.wait(10)


atexit.register(Job._cancel_all)


def interruptible(call: Callable[[_prenorm.CancelFlag], Any]) -> Any:
    """call(flag), which a KeyboardInterrupt ends. Signals arrive in the main thread only: others call it themselves."""
    if threading.current_thread() is threading.main_thread():
        return Job(call).result()
    return call(_prenorm.CancelFlag())


class Stream(Iterator[str]):
    """The pieces of an answer, while they are made on another thread.

    `result` is a Generation once the iterator is at its end or closed. close(), leaving a `with` block, Ctrl-C while
    waiting and giving the stream up end the answer within a layer."""

    def __init__(
        self,
        session: _prenorm.Session,
        prompt: Sequence[int],
        options: Mapping[str, Any],
        release: Callable[[], None] = lambda: None,
    ) -> None:
        arguments = _arguments(options)
        seed = arguments["seed"]
        pieces = _prenorm.Pieces()
        ids = [int(i) for i in prompt]

        def generate(flag: _prenorm.CancelFlag) -> Generation:
            return Generation(seed=seed, **session.generate(ids, flag, pieces, **arguments))

        def done() -> None:
            release()
            pieces.end()

        self._pieces = pieces  # All that the thread shares with this object, which can be collected meanwhile.
        self._at_end = False
        self._job = Job(generate, done)

    def __next__(self) -> str:
        if not self._at_end:
            try:
                while (piece := self._pieces.take(_LOOK)) == "":
                    pass
            except BaseException:
                self.close()
                raise
            if piece is not None:
                return piece
            self._at_end = True
            if self._job.error is not None:
                raise self._job.error
        raise StopIteration

    @property
    def result(self) -> Optional[Generation]:
        return self._job.value

    def read(self) -> Generation:
        """The whole answer, waiting for it. Pieces that nobody took are gone."""
        self._at_end = True
        return self._job.result()

    def close(self) -> None:
        """Ends the answer and waits for that; `result` then has what there was. Errors of the answer are dropped."""
        self._at_end = True
        self._job.cancel()
        self._job.wait()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        job = getattr(self, "_job", None)
        if job is not None:
            job.cancel()


def _arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of users as arguments of the extension module."""
    arguments = dict(options)
    if isinstance(arguments.get("stop"), str):
        arguments["stop"] = [arguments["stop"]]
    if arguments.get("seed") is None:
        arguments["seed"] = secrets.randbits(32)
    if arguments.get("max_new_tokens", 0) is None:
        del arguments["max_new_tokens"]
    speculate = arguments.pop("speculate", None)
    if speculate == "lookup":
        arguments["lookup"] = True
    elif speculate is not None:
        arguments["draft"] = speculate._session
    return arguments
