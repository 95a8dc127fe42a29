"""Writes sampler_golden.inc: what Hugging Face's logits processors leave of a vocabulary.

Needs transformers and torch. Run from anywhere: python make_sampler_golden.py
"""
import pathlib

import torch
from transformers import LogitsProcessorList
from transformers.generation import logits_process as lp

OUT = pathlib.Path(__file__).with_name("sampler_golden.inc")


def logits(vocab, seed):
    """Exact in f32 and easy to write again elsewhere; values repeat, so there are ties."""
    return torch.tensor([[((i * 7919 + seed * 104729) % 257 - 128) / 32.0 for i in range(vocab)]], dtype=torch.float32)


CASES = [
    # vocab, seed, seen ids, options
    (64, 1, [], dict(temperature=0.5, top_k=5)),
    (300, 2, [], dict(top_k=40)),
    (300, 3, [], dict(top_p=0.9)),
    (300, 4, [], dict(temperature=1.5, top_p=0.5)),
    (300, 5, [], dict(min_p=0.1)),
    (300, 6, [], dict(typical_p=0.3)),
    (1000, 7, [], dict(typical_p=0.9, temperature=0.7)),
    (1000, 8, [], dict(temperature=0.8, top_k=50, top_p=0.95, min_p=0.05)),
    (1000, 9, [], dict(temperature=2.0, top_k=200, top_p=0.8, min_p=0.02, typical_p=0.5)),
    (300, 10, [1, 5, 5, 9, 200], dict(repetition_penalty=1.7, top_k=20)),
    (300, 11, [1, 2, 3, 1, 2, 4, 1, 2], dict(no_repeat_ngram_size=3, top_p=0.99)),
    (300, 12, [7, 8, 7], dict(no_repeat_ngram_size=2, repetition_penalty=1.3, temperature=0.6, top_k=9)),
]


def processors(o):
    out = LogitsProcessorList()
    if "repetition_penalty" in o:
        out.append(lp.RepetitionPenaltyLogitsProcessor(o["repetition_penalty"]))
    if "no_repeat_ngram_size" in o:
        out.append(lp.NoRepeatNGramLogitsProcessor(o["no_repeat_ngram_size"]))
    if "temperature" in o:
        out.append(lp.TemperatureLogitsWarper(o["temperature"]))
    if "top_k" in o:
        out.append(lp.TopKLogitsWarper(o["top_k"]))
    if "top_p" in o:
        out.append(lp.TopPLogitsWarper(o["top_p"]))
    if "min_p" in o:
        out.append(lp.MinPLogitsWarper(o["min_p"]))
    if "typical_p" in o:
        out.append(lp.TypicalLogitsWarper(o["typical_p"]))
    return out


def main():
    lines = ["// Written by make_sampler_golden.py with transformers. Vocabulary, seed of the logits, seen ids, options,",
             "// kept ids, probability of the first and of the last kept id."]
    for vocab, seed, seen, options in CASES:
        ids = torch.tensor([seen], dtype=torch.long)
        scores = processors(options)(ids, logits(vocab, seed))[0]
        kept = torch.nonzero(torch.isfinite(scores)).flatten().tolist()
        probs = scores.softmax(-1)
        o = ", ".join(f".{k} = {v!r}" if isinstance(v, int) else f".{k} = {v!r}f" for k, v in
                      sorted(options.items(), key=lambda kv: ORDER.index(kv[0])))
        lines.append(f"{{{vocab}, {seed}, {{{', '.join(map(str, seen))}}}, {{{o}}},\n {{{', '.join(map(str, kept))}}},\n"
                     f" {probs[kept[0]].item():.9g}, {probs[kept[-1]].item():.9g}}},")
    OUT.write_text("\n".join(lines) + "\n")


ORDER = ["repetition_penalty", "no_repeat_ngram_size", "temperature", "top_k", "top_p", "min_p", "typical_p"]

if __name__ == "__main__":
    main()
