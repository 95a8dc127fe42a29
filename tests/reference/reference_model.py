"""The reference: transformers in f32 on the CPU, with the weights dequantized from a GGUF file by the gguf package.

Logits are slow to make and large, so they are kept in $XDG_CACHE_HOME/prenorm/reference, under a key made of the model
file, the token ids, the positions and the versions of transformers and torch.
"""

import hashlib
import json
import os
import pathlib

import numpy as np
import torch
import transformers
from tokenizers import pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer


def file_sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class ReferenceModel:
    """Loaded only when something is asked that the cache does not hold."""

    def __init__(self, gguf_file, threads):
        self.path = pathlib.Path(gguf_file).resolve()
        self.sha256 = file_sha256(self.path)
        self._model = None
        self._tokenizer = None
        torch.set_num_threads(threads)
        cache = os.environ.get("XDG_CACHE_HOME") or str(pathlib.Path.home() / ".cache")
        self.cache = pathlib.Path(cache) / "prenorm" / "reference"
        self.cache.mkdir(parents=True, exist_ok=True)

    @property
    def model(self):
        if self._model is None:
            # The weights come out as the gguf package dequantizes them, with the Q/K order of GGUF undone.
            self._model = AutoModelForCausalLM.from_pretrained(
                self.path.parent, gguf_file=self.path.name, dtype=torch.float32, attn_implementation="eager").eval()
        return self._model

    def tokenizer(self):
        """The file's tokenizer. transformers ignores `tokenizer.ggml.pre`; the digits rule of "smollm" is put back."""
        import gguf

        if self._tokenizer is not None:
            return self._tokenizer
        tokenizer = AutoTokenizer.from_pretrained(self.path.parent, gguf_file=self.path.name)
        field = gguf.GGUFReader(self.path).fields.get("tokenizer.ggml.pre")
        if field is not None and field.contents() == "smollm":
            tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
                [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
        self._tokenizer = tokenizer
        return tokenizer

    def _cached(self, kind, key, make):
        text = json.dumps([kind, self.sha256, key, transformers.__version__, torch.__version__])
        path = self.cache / f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:24]}.npy"
        if not path.exists():
            part = path.with_suffix(".part.npy")
            np.save(part, make())
            part.rename(path)
        return np.load(path, mmap_mode="r")

    def logits(self, ids, first):
        """f32 [len(ids) - first, rows of the embedding]: logits of positions first, first + 1, ..."""
        def make():
            with torch.no_grad():
                keep = len(ids) - first
                return self.model(torch.tensor([ids]), use_cache=False, logits_to_keep=keep).logits[0].numpy()
        return self._cached("logits", [ids, first], make)

    def greedy(self, prompts, count):
        """int64 [len(prompts), count]: greedy continuations of the prompts (lists of ids), not ended by any token."""
        def make():
            pad, longest = 0, max(map(len, prompts))
            rows = [[pad] * (longest - len(p)) + p for p in prompts]
            mask = [[0] * (longest - len(p)) + [1] * len(p) for p in prompts]
            config = transformers.GenerationConfig(max_new_tokens=count, do_sample=False, pad_token_id=pad)
            out = self.model.generate(torch.tensor(rows), attention_mask=torch.tensor(mask), generation_config=config)
            return out[:, longest:].numpy()
        return self._cached("greedy", [prompts, count], make)
