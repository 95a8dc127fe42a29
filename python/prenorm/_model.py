"""A model, and what it does with a text."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional, Union

import numpy

from . import _fetch, _openmp, _prenorm
from ._generation import Generation, Stream, interruptible
from ._profile import Profile
from ._session import Session


class Model:
    """A model: immutable, to be shared by any number of sessions and threads, which have one copy of the weights."""

    def __init__(self, model: _prenorm.Model, session_options: Mapping[str, Any]) -> None:
        _openmp.warn_of_several()
        self._model = model
        self._session_options = dict(session_options)
        self._encoders: dict[tuple[Any, ...], _prenorm.Encoder] = {}  # Those that are not at work, by their options.
        self._idle: list[Session] = []  # Of answers that have ended: what they hold may begin the next prompt.

    @classmethod
    def from_pretrained(
        cls,
        name: Union[str, os.PathLike, None] = None,
        *,
        use_mmap: bool = True,
        prepared: Union[bool, str, os.PathLike] = False,
        local_files_only: bool = False,
        fetch_progress: Optional[Callable[[str, float], Optional[bool]]] = None,
        progress: Optional[Callable[[float], Optional[bool]]] = None,
        **session_options: Any,
    ) -> "Model":
        """A GGUF file, a folder as Hugging Face lays models out, or a name: of the catalog that `prenorm models` lists
        (the default model without one), the address of a .gguf file, or OWNER/NAME[:PART] of a hub. What the cache does
        not have by that name is fetched into it, as by `prenorm models fetch`, and checked by its SHA-256; with
        local_files_only it is a FileNotFoundError. fetch_progress(file, share) may return False to cancel; without it a
        line on stderr shows how far it is. HF_ENDPOINT, HF_TOKEN and PIP_INDEX_URL name other places.

        prepared: weights in a file that all processes map read-only, so that they have one copy in memory; made where
        there is none. True: in the cache, beside the models; or a folder. See also prenorm.ray.

        progress(share) is called while weights are prepared, on another thread, and may return False to cancel; Ctrl-C
        cancels as well. `session_options` (context, threads, cache, chunk) are those of the sessions that generate and
        chat make.
        Errors: FileNotFoundError, OSError, MemoryError, ValueError; Error with code "bad_model", "unsupported" or
        "cancelled"."""
        path = _fetch.find(name, local_files_only, fetch_progress)
        report = None if progress is None else lambda share: progress(share) is not False
        folder = os.fspath(_prenorm.prepared_folder() if prepared is True else prepared or "")
        load = _prenorm.Model.load
        return cls(interruptible(lambda flag: load(path, use_mmap, folder, report, flag)), session_options)

    @classmethod
    def from_bytes(cls, data: bytes, **session_options: Any) -> "Model":
        """The bytes of a GGUF file, which are copied."""
        return cls(interruptible(lambda flag: _prenorm.Model.load_memory(data, flag)), session_options)

    @property
    def config(self) -> dict[str, Any]:
        return self._model.config

    @property
    def special_tokens(self) -> dict[str, Any]:
        """Ids of the beginning ("bos") and end ("eos") of a text, -1 for none; of all that end an answer ("ends")."""
        return self._model.special_tokens

    @property
    def chat_template(self) -> str:
        return self._model.chat_template

    @property
    def prepared_path(self) -> str:
        """The file of prepared weights in use, or ""."""
        return self._model.prepared_path

    @property
    def warnings(self) -> list[str]:
        """What a user should know about the file, one sentence each."""
        return self._model.warnings

    def encode(self, text: str, *, add_special: bool = True, parse_special: bool = False) -> list[int]:
        """The ids of a text. add_special: with what the model puts around it. parse_special: "<|im_end|>" and the like
        in the text become control ids."""
        return self._model.encode(text, add_special, parse_special)

    def decode(self, ids: Sequence[int], *, with_special: bool = False) -> str:
        return self._model.decode([int(i) for i in ids], with_special)

    def piece(self, token: int) -> bytes:
        """The bytes that one id stands for, possibly a part of a character."""
        return self._model.piece(token)

    def session(self, **options: Any) -> Session:
        """A new Session; `options` go before those of the model."""
        return Session(self, **{**self._session_options, **options})

    def generate(self, prompt: Union[str, Sequence[int]], **options: Any) -> Stream:
        """Continues a text or ids: an iterator over pieces of text. What the last answer's session holds of the
        prompt's beginning is not evaluated again.

        Options, named as in Hugging Face transformers: max_new_tokens, stop (strings), temperature (0, the default: the
        most likely token), top_k, top_p, min_p, typical_p, repetition_penalty, presence_penalty, frequency_penalty,
        no_repeat_ngram_size, logit_bias, seed, ignore_end_tokens; and speculate: "lookup", or a Session of a smaller
        model with the same tokenizer."""
        ids = self.encode(prompt) if isinstance(prompt, str) else prompt
        session = self._idle.pop() if self._idle else self.session()

        def release() -> None:
            self._idle[:] = [session]

        return Stream(session._session, ids, {**options, "reuse_prefix": True}, release)

    def render_chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        add_generation_prompt: bool = True,
        chat_template: str = "",
        **arguments: Any,
    ) -> tuple[str, list[int]]:
        """The prompt that the model's template makes of `messages`, as text and ids. `arguments` are variables of the
        template: tools, documents, enable_thinking, ... Error "template" with the template's own words."""
        parts = []
        for message in messages:
            fields = {key: value for key, value in message.items() if key not in ("role", "content")}
            parts.append((message["role"], message.get("content") or "", json.dumps(fields) if fields else ""))
        return self._model.render_chat(
            parts, add_generation_prompt, json.dumps(arguments) if arguments else "", chat_template
        )

    def chat_stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        template_arguments: Optional[Mapping[str, Any]] = None,
        **options: Any,
    ) -> Stream:
        """The answer to a whole conversation, piece by piece. Options as of generate."""
        return self.generate(self.render_chat(messages, **(template_arguments or {}))[1], **options)

    def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        template_arguments: Optional[Mapping[str, Any]] = None,
        **options: Any,
    ) -> Generation:
        """As chat_stream, all at once."""
        return self.chat_stream(messages, template_arguments=template_arguments, **options).read()

    def embed(
        self,
        texts: Union[str, Sequence[str]],
        *,
        pooling: Optional[str] = None,
        normalize: Optional[bool] = None,
        max_tokens: int = 0,
        truncate: bool = False,
        parse_special: bool = False,
        threads: int = 0,
    ) -> numpy.ndarray:
        """float32 [dim] of a text, [texts, dim] of several: what it depends on is the text alone, not those beside it.

        pooling        "mean", "cls" or "last"; None: as the model's files say
        normalize      whether vectors get length 1; None: as the model's files say
        max_tokens     of a text; 0: as the model's files say
        truncate       a longer text loses its end; otherwise Error "context_full"
        parse_special  "[SEP]" and the like in a text become control ids"""
        options = (threads, pooling, normalize, max_tokens, truncate, parse_special)
        encoder = self._encoders.pop(options, None) or _prenorm.Encoder(self._model, *options)
        several = [texts] if isinstance(texts, str) else list(texts)
        try:
            rows = interruptible(lambda flag: encoder.embed(several, flag))
        finally:
            self._encoders[options] = encoder
        return rows[0] if isinstance(texts, str) else rows

    def infill_prompt(self, prefix: str, suffix: str) -> list[int]:
        """Ids after which a code model writes what stands between two texts. Error "unsupported" where it cannot."""
        return self._model.infill_prompt(prefix, suffix)

    def profile(self, *, prefill: int = 128, decode: int = 32, **session_options: Any) -> Profile:
        """Times the operators of a prompt of `prefill` tokens and of `decode` tokens behind it: a picture in a
        notebook, a table as text."""
        session = self.session(**session_options)
        vocabulary = self.config["vocab_size"]
        tokens = [(7919 * i) % vocabulary for i in range(prefill + decode)]
        session.eval(tokens[:1])  # Threads start and pages are touched before the clock runs.
        session.rewind(0)

        def phase(part: Sequence[int], step: int) -> tuple[float, list[tuple[Any, ...]]]:
            return interruptible(lambda flag: _prenorm.profile(session._session, list(part), step, flag))

        return Profile(
            self.config,
            session.threads,
            {"prefill": (prefill, *phase(tokens[:prefill], 512)), "decode": (decode, *phase(tokens[prefill:], 1))},
        )
