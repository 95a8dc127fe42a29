#!/usr/bin/env python3
"""Texts to vectors: Prenorm beside torch and ONNX Runtime, the same folder, threads and texts.

Usage: encoder.py FOLDER --prenorm COMMAND [--threads 2] [--texts 256] [--rounds 5] [--out RESULTS.json]

FOLDER is a Hugging Face folder of a BERT model (safetensors, tokenizer.json). Needs the packages torch and transformers, and
for ONNX Runtime onnxruntime and onnx; without them that peer is left out. Two sets of texts: all of 128 tokens, and mixed
lengths (log-normal, 8 to 256 tokens, mean about 60) in random order. The peers get batches of 32, padded to the longest
text of the batch and, a second way, sorted by length first. Rounds go A B C C B A; medians count. Vectors are compared
before anything is timed: the largest cosine distance to torch is part of the result. Tokenizing is outside for all: the
peers get ids, and Prenorm's own time is of one `embed` without its start, as it reports it on stderr.
"""
import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

BATCH = 32
WORDS = ("a the of and to in is it that was for on are with as his they be at one have this from or had by hot but some what "
         "there we can out other were all your when up use word how said an each she which do their time if will way about "
         "many then them would write like so these her long make thing see him two has look more day could go come did my "
         "sound no most number who over know water than call first people may down side been now find").split()


def make_texts(tokenizer, lengths, rng):
    """Texts of exactly so many tokens, [CLS] and [SEP] included: every word of the list is one token."""
    words = [w for w in WORDS if len(tokenizer(w, add_special_tokens=False)["input_ids"]) == 1]
    return [" ".join(rng.choice(words) for _ in range(n - 2)) for n in lengths]


def batches_of(ids, by_length):
    order = sorted(range(len(ids)), key=lambda i: len(ids[i])) if by_length else list(range(len(ids)))
    for at in range(0, len(order), BATCH):
        part = order[at:at + BATCH]
        width = max(len(ids[i]) for i in part)
        rows = np.zeros((len(part), width), np.int64)
        mask = np.zeros((len(part), width), np.int64)
        for r, i in enumerate(part):
            rows[r, :len(ids[i])] = ids[i]
            mask[r, :len(ids[i])] = 1
        yield part, rows, mask


def pool(hidden, mask):
    weights = mask[:, :, None].astype(np.float32)
    mean = (hidden * weights).sum(1) / weights.sum(1)
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)


class Torch:
    def __init__(self, folder, threads):
        torch.set_num_threads(threads)
        self.model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
        self.version = torch.__version__

    def hidden(self, rows, mask):
        with torch.inference_mode():
            return self.model(input_ids=torch.from_numpy(rows), attention_mask=torch.from_numpy(mask)).last_hidden_state.numpy()


class Onnx:
    def __init__(self, source, threads, folder):
        import onnxruntime

        path = os.path.join(folder, "model.onnx")
        # The plain form of attention: others are traced with the example's own sizes.
        model = AutoModel.from_pretrained(source, dtype=torch.float32, attn_implementation="eager").eval()
        example = torch.ones(2, 8, dtype=torch.int64)
        example_mask = example.clone()
        example_mask[1, 5:] = 0

        class Plain(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = model

            def forward(self, input_ids, attention_mask):
                return self.inner(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

        axes = {0: "batch", 1: "tokens"}
        torch.onnx.export(Plain(), (example, example_mask), path, input_names=["input_ids", "attention_mask"],
                          output_names=["hidden"], opset_version=17, dynamo=False,
                          dynamic_axes={"input_ids": axes, "attention_mask": axes, "hidden": axes})
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.version = onnxruntime.__version__

    def hidden(self, rows, mask):
        return self.session.run(None, {"input_ids": rows, "attention_mask": mask})[0]


def cosine_distance(a, b):
    """The largest of the rows, in f64: unit vectors in f32 are off by 1e-7 in length alone."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    return float((1 - (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)).max())


def run_peer(peer, ids, by_length):
    out = None
    begin = time.perf_counter()
    for part, rows, mask in batches_of(ids, by_length):
        vectors = pool(peer.hidden(rows, mask), mask)
        out = np.empty((len(ids), vectors.shape[1]), np.float32) if out is None else out
        out[part] = vectors
    return time.perf_counter() - begin, out


def run_prenorm(command, folder, threads, texts):
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "x.npy")
        done = subprocess.run([command, "embed", folder, "-t", str(threads), "--out", path], input="\n".join(texts) + "\n",
                              text=True, capture_output=True, check=True)
        return float(re.search(r"tokens: ([\d.]+) ms", done.stderr).group(1)) / 1e3, np.load(path)


def measure(ways, rounds):
    """{way: [seconds]}, in turns; the first round of each warms up."""
    times = {name: [] for name in ways}
    for round_ in range(-1, rounds):
        names = list(ways)
        for name in names + names[::-1]:
            seconds = ways[name]()[0]
            if round_ >= 0:
                times[name].append(seconds)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--prenorm", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--texts", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out")
    args = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(args.folder)
    rng = random.Random(7)
    mixed = [min(256, max(8, round(rng.lognormvariate(3.8, 0.8)))) for _ in range(args.texts)]
    sets = {"equal": [128] * args.texts, "mixed": mixed}
    peers = {"torch": Torch(args.folder, args.threads)}
    result = {"threads": args.threads, "texts": args.texts, "versions": {"torch": torch.__version__}, "sets": {}}
    with tempfile.TemporaryDirectory() as place:
        try:
            peers["onnxruntime"] = Onnx(args.folder, args.threads, place)
            result["versions"]["onnxruntime"] = peers["onnxruntime"].version
        except ImportError as error:
            print(f"ONNX Runtime is left out: {error}", file=sys.stderr)
        for name, lengths in sets.items():
            texts = make_texts(tokenizer, lengths, rng)
            ids = [tokenizer(t)["input_ids"] for t in texts]
            reference = run_peer(peers["torch"], ids, False)[1]
            distances = {}
            ways = {"prenorm": lambda: run_prenorm(args.prenorm, args.folder, args.threads, texts)}
            for peer_name, peer in peers.items():
                ways[peer_name] = lambda peer=peer: run_peer(peer, ids, False)
                if name == "mixed":
                    ways[peer_name + ", sorted"] = lambda peer=peer: run_peer(peer, ids, True)
            for way, run in ways.items():
                distances[way] = cosine_distance(run()[1], reference)
            times = measure(ways, args.rounds)
            medians = {way: statistics.median(values) for way, values in times.items()}
            tokens = sum(len(i) for i in ids)
            result["sets"][name] = {"tokens": tokens, "seconds": times, "cosine_distance": distances}
            print(f"\n{name}: {len(texts)} texts, {tokens} tokens, {args.threads} threads")
            print("| | seconds | tokens/s | cosine distance to torch | Prenorm is faster by |\n|---|---:|---:|---:|---:|")
            for way, seconds in medians.items():
                print(f"| {way} | {seconds:.3f} | {tokens / seconds:.0f} | {max(0.0, distances[way]):.1e} "
                      f"| {seconds / medians['prenorm']:.2f} |")
    if args.out:
        with open(args.out, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
