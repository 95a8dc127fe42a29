#!/usr/bin/env python3
"""Text to ids: Prenorm beside Hugging Face tokenizers (Rust), one thread each, the same vocabularies and text.

Usage: tokenizer_speed.py MODEL... --prenorm COMMAND [--text FILE] [--rounds 5]

MODEL is a GGUF file, from which the peer's tokenizer is made here, or a folder with tokenizer.json. Needs the packages
tokenizers and, for GGUF files, gguf. Without --text it is 1 MB of English and Python: the topics of Python's help, then
modules of its library. Ids must be equal, or the vocabulary is reported and the exit code is 1. Runs go A B B A.
Prenorm is a new process each time (`tokenize --json` reports the time of encoding); the peer keeps its cache of words,
and of its two calls, `encode` and the one without offsets, the faster one counts.
"""
import argparse
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers  # noqa: E402

from statistics_of_runs import ratio_interval  # noqa: E402

MEGABYTE = 1_000_000
NORMAL, USER_DEFINED = 1, 4  # types of tokens in GGUF
SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + SPACES


def default_text():
    import pydoc_data.topics as help_texts

    text = "".join(help_texts.topics[name] for name in sorted(help_texts.topics))
    for path in sorted(glob.glob(os.path.join(os.path.dirname(os.__file__), "*.py"))):
        if len(text) >= MEGABYTE:
            break
        with open(path, encoding="utf-8") as file:
            text += file.read()
    return text.encode()[:MEGABYTE].decode(errors="ignore")


def byte_level(first):
    last = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not isinstance(first, pre_tokenizers.Split))
    return pre_tokenizers.Sequence([first, last])


def merges_of_scores(tokens, types, scores):
    """SentencePiece keeps scores of tokens, the peer wants ranked pairs: all ways to make a token, best token first."""
    ids = {token: i for i, token in enumerate(tokens) if types[i] in (NORMAL, USER_DEFINED)}
    pairs = []
    for token, i in ids.items():
        if types[i] == NORMAL:
            ways = [(token[:k], token[k:]) for k in range(1, len(token)) if token[:k] in ids and token[k:] in ids]
            pairs += [(-scores[i], ids[left], ids[right], left, right) for left, right in ways]
    return [(left, right) for _, _, _, left, right in sorted(pairs)]


def peer_of_gguf(path):
    from gguf import GGUFReader

    fields = GGUFReader(path).fields
    prefix = "tokenizer.ggml."
    value = {name[len(prefix) :]: fields[name].contents() for name in fields if name.startswith(prefix)}
    tokens, types = value["tokens"], value["token_type"]
    vocabulary = {token: i for i, token in enumerate(tokens)}
    if value["model"] == "gpt2":
        merges = [tuple(merge.split(" ")) for merge in value["merges"]]
        tokenizer = Tokenizer(models.BPE(vocabulary, merges))
        if value["pre"] == "smollm":
            tokenizer.pre_tokenizer = byte_level(pre_tokenizers.Digits(individual_digits=True))
        elif value["pre"] == "qwen2":
            tokenizer.normalizer = normalizers.NFC()
            tokenizer.pre_tokenizer = byte_level(pre_tokenizers.Split(Regex(QWEN2), "isolated"))
        else:
            sys.exit(f"{path}: this script knows no pre-tokenizer {value['pre']}")
        tokenizer.decoder = decoders.ByteLevel()
    elif value["model"] == "llama":
        merges = merges_of_scores(tokens, types, value["scores"])
        unknown = tokens[value["unknown_token_id"]]
        tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token=unknown, fuse_unk=True, byte_fallback=True))
        steps = [normalizers.Replace(" ", "\u2581")]
        if value.get("add_space_prefix", True):
            steps.insert(0, normalizers.Prepend("\u2581"))
        tokenizer.normalizer = normalizers.Sequence(steps)
    else:
        sys.exit(f"{path}: this script knows no tokenizer model {value['model']}")
    tokenizer.add_tokens(
        [AddedToken(tokens[i], normalized=False) for i, kind in enumerate(types) if kind == USER_DEFINED]
    )
    return tokenizer


def peer_of(model):
    if not os.path.isdir(model):
        return peer_of_gguf(model)
    tokenizer = Tokenizer.from_file(os.path.join(model, "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def run_prenorm(command, model, path):
    """(seconds, ids)"""
    arguments = [command, "tokenize", model, "-f", path, "--json"]
    out = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
    answer = json.loads(out)
    return answer["timings"]["encode_ns"] / 1e9, answer["ids"]


def run_peer(encode):
    begin = time.perf_counter()
    ids = encode()
    return time.perf_counter() - begin, ids


def compare(model, text, path, command, rounds):
    peer = peer_of(model)
    calls = (lambda: peer.encode(text, add_special_tokens=False).ids,
             lambda: peer.encode_batch_fast([text], add_special_tokens=False)[0].ids)
    ids = run_prenorm(command, model, path)[1]
    name = os.path.basename(model.rstrip("/"))
    for call in calls:
        theirs = call()
        if theirs != ids:
            at = next((i for i, pair in enumerate(zip(ids, theirs)) if pair[0] != pair[1]), min(len(ids), len(theirs)))
            print(f"| {name} | ids differ from number {at} on: {ids[at:at + 5]}, tokenizers {theirs[at:at + 5]} |")
            return False
    call = min(calls, key=lambda c: min(run_peer(c)[0] for _ in range(2)))
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(run_prenorm(command, model, path)[0])
        theirs += [run_peer(call)[0], run_peer(call)[0]]
        ours.append(run_prenorm(command, model, path)[0])
    ratio, low, high = ratio_interval(theirs, ours)
    size = len(text.encode()) / MEGABYTE
    print(f"| {name} | {len(ids)} | {size / statistics.median(ours):.1f} | {size / statistics.median(theirs):.1f} "
          f"| {ratio:.1f} ({low:.1f}\u2013{high:.1f}) |", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--prenorm", required=True)
    parser.add_argument("--text")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    text = default_text()
    if args.text:
        with open(args.text, encoding="utf-8", newline="") as file:
            text = file.read()
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "text")
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        print("| vocabulary | tokens | Prenorm, MB/s | tokenizers, MB/s | ratio |")
        print("|---|---:|---:|---:|---:|", flush=True)
        equal = [compare(model, text, path, args.prenorm, args.rounds) for model in args.models]
    sys.exit(0 if all(equal) else 1)


if __name__ == "__main__":
    main()
