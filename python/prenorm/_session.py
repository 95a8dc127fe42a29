"""A sequence of tokens with its key-value cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy

from . import _prenorm
from ._generation import Stream, interruptible

if TYPE_CHECKING:
    from ._model import Model


class Session:
    """One sequence of tokens, evaluated by a model. For one thread at a time: others get Error with code "busy".

    context   tokens that fit; 0: as the model says, at most 8192
    threads   0: default_threads()
    cache     type of keys and values: auto, f32, f16, bf16, int8
    chunk     prompt tokens that are evaluated together"""

    def __init__(
        self, model: "Model", *, context: int = 0, threads: int = 0, cache: str = "auto", chunk: int = 512
    ) -> None:
        self.model = model
        self._options = {"context": context, "threads": threads, "cache": cache, "chunk": chunk}
        self._session = _prenorm.Session(model._model, context, threads, cache, chunk)

    def eval(self, tokens: Sequence[int]) -> None:
        """Evaluates tokens behind those already there. Ctrl-C ends it, and the position is what it was before."""
        ids = [int(i) for i in tokens]
        interruptible(lambda flag: self._session.eval(ids, flag))

    def logits(self) -> numpy.ndarray:
        """float32 [vocab_size] of the last position; empty before the first."""
        return self._session.logits()

    def logprobs(self) -> numpy.ndarray:
        """float32 [vocab_size]: log softmax of logits()."""
        return self._session.logprobs()

    def generate(self, prompt: Union[str, Sequence[int]], **options: Any) -> Stream:
        """Continues what the session holds, plus `prompt`. Options as of Model.generate."""
        ids = prompt if not isinstance(prompt, str) else self.model.encode(prompt, add_special=self.position == 0)
        return Stream(self._session, ids, options)

    def rewind(self, position: int) -> None:
        """Forgets everything from `position` on."""
        self._session.rewind(position)

    def fork(self, position: Optional[int] = None, **options: Any) -> "Session":
        """A new session that holds the first `position` tokens of this one, by default all. `options` as of Session;
        those not given are this one's."""
        other = Session(self.model, **{**self._options, **options})
        other._session.fork_from(self._session, self.position if position is None else position)
        return other

    def save(self) -> bytes:
        """The whole session, for restore() in a session of the same model and type of cache, in any process."""
        return self._session.save()

    def restore(self, state: bytes) -> None:
        """Becomes the session that was saved: what follows gives the same bits. Error "bad_model" for damaged bytes."""
        self._session.restore(state)

    @property
    def tokens(self) -> list[int]:
        return self._session.tokens

    @property
    def position(self) -> int:
        return self._session.position

    @property
    def capacity(self) -> int:
        return self._session.capacity

    @property
    def threads(self) -> int:
        return self._session.threads

    @property
    def memory_bytes(self) -> int:
        return self._session.memory_bytes
