"""How far a runtime's next-token distributions are from the f32 reference (protocol: windows of 512 tokens).

  python compare_logits.py MODEL.gguf --text GPL-3 --prenorm build/prenorm [--peer]

Windows of 512 tokens, one after the other, as many as the text has and --positions needs; positions 256 to 511 of each
count, so each has at least 256 tokens before it. Per position KL(reference || runtime) in nats, in f64. Use the GPL-3
text that the distribution installs among its common licences; both runtimes see the same ids. Exit code 1 when
--max-kl or --max-ratio (ours / peer's mean KL) is exceeded.
"""

import argparse
import json
import sys

import numpy as np

import runtimes
from reference_model import ReferenceModel

WINDOW, FIRST = 512, 256  # tokens


def log_softmax(logits):
    logits = logits.astype(np.float64)
    logits -= logits.max(axis=-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def divergence(reference, other):
    """KL(reference || other) per row, in nats."""
    p, q = log_softmax(reference), log_softmax(other)
    return np.sum(np.exp(p) * (p - q), axis=-1)


def windows(tokenizer, text, positions):
    """Lists of WINDOW ids; a tokenizer that wants a BOS gets one at the start of each."""
    ids = tokenizer.encode(text, add_special_tokens=False)
    with_special = tokenizer.encode("a", add_special_tokens=True)
    bos = [tokenizer.bos_token_id] if with_special[0] == tokenizer.bos_token_id else []
    body = WINDOW - len(bos)
    found = [bos + ids[start:start + body] for start in range(0, len(ids) - body + 1, body)]
    needed = -(-positions // (WINDOW - FIRST))
    if len(found) < needed:
        # A short text: a second pass, half a window further on, so that other tokens come to be judged.
        found += [bos + ids[start:start + body] for start in range(body // 2, len(ids) - body + 1, body)]
    if len(found) < needed:
        raise SystemExit(f"the text has {len(ids)} tokens: {len(found)} windows found, {needed} needed")
    return found[:needed]


def judge(runtime, reference, all_windows):
    kl, same, delta = [], [], 0.0
    for ids in all_windows:
        expected = np.asarray(reference.logits(ids, FIRST))
        found = runtime.logits(ids)[FIRST:]
        if found.shape != expected.shape:
            raise SystemExit(f"{runtime.name}: logits of shape {found.shape}, reference {expected.shape}")
        kl.append(divergence(expected, found))
        same.append(expected.argmax(axis=-1) == found.argmax(axis=-1))
        delta = max(delta, float(np.abs(expected - found).max()))
    kl, same = np.concatenate(kl), np.concatenate(same)
    return {"runtime": runtime.name, "positions": len(kl), "kl_mean": float(kl.mean()),
            "kl_p99": float(np.quantile(kl, 0.99)), "kl_max": float(kl.max()), "same_top1": float(same.mean()),
            "max_abs_delta": delta}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    runtimes.add_arguments(parser)
    parser.add_argument("--text", required=True, metavar="FILE")
    parser.add_argument("--positions", type=int, default=4096)
    parser.add_argument("--max-kl", type=float, help="bound of our mean KL")
    parser.add_argument("--max-ratio", type=float, help="bound of our mean KL over the peer's")
    args = parser.parse_args()
    reference = ReferenceModel(args.model, args.threads)
    with open(args.text, encoding="utf-8") as file:
        all_windows = windows(reference.tokenizer(), file.read(), args.positions)
    results = {r.name: judge(r, reference, all_windows) for r in runtimes.from_arguments(args, WINDOW)}
    failures = []
    ours, peer = results.get("prenorm"), results.get("llama.cpp")
    if ours and args.max_kl is not None and not ours["kl_mean"] <= args.max_kl:
        failures.append(f"mean KL {ours['kl_mean']:.3g} > {args.max_kl:.3g}")
    if ours and peer and args.max_ratio is not None and not ours["kl_mean"] <= args.max_ratio * peer["kl_mean"]:
        failures.append(f"mean KL {ours['kl_mean']:.3g} > {args.max_ratio} x {peer['kl_mean']:.3g}")
    if args.json:
        print(json.dumps({"schema": 1, "model_sha256": reference.sha256, "results": list(results.values()),
                          "failures": failures}))
    else:
        for r in results.values():
            print(f"{r['runtime']}: {r['positions']} positions, KL mean {r['kl_mean']:.3e} p99 {r['kl_p99']:.3e} "
                  f"max {r['kl_max']:.3e}, same top-1 {100 * r['same_top1']:.2f} %, "
                  f"max |delta logit| {r['max_abs_delta']:.4g}")
        for failure in failures:
            print("FAILED: " + failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
