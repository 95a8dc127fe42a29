"""Teacher-forced comparison on the reference's own greedy text: same argmax wherever the reference is sure.

  python compare_greedy.py MODEL.gguf --prenorm build/prenorm --max-delta 0.9

The reference continues chat prompts greedily (plain ones, where the file has no template); the runtime gets the same
ids and must name the same next token wherever the reference's best logit leads its second by more than 2 x --max-delta,
the largest |delta logit| that compare_logits.py measured (on another text, so the claim can fail). Exit code 1 when a
position breaks it.

A text counts up to the first special token, the end of the answer, inclusive. What would follow is no text: on long runs
of <|endoftext|> the logits of SmolLM2 jump by 40 for changes in the last bits, with every runtime.
"""

import argparse
import json
import pathlib
import sys

import numpy as np

import runtimes
from reference_model import ReferenceModel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "tiny_model"))

import corpus  # noqa: E402

CONTEXT = 512  # tokens: prompt and text stay below


def chat_prompts(tokenizer, count):
    """The first requests of held-out chats, rendered with the model's template, as lists of ids; no two are equal."""
    requests, seed = [], corpus.HELD_OUT_SEED
    while len(requests) < count:
        request = corpus.chat_turns(seed)[0][1]
        if request not in requests:
            requests.append(request)
        seed += 1
    prompts = []
    for request in requests:
        if tokenizer.chat_template is None:
            prompts.append(tokenizer.encode(request))
            continue
        text = tokenizer.apply_chat_template([{"role": "user", "content": request}], tokenize=False,
                                             add_generation_prompt=True)
        prompts.append(tokenizer.encode(text, add_special_tokens=False))
    return prompts


def until_end(text, special):
    """The ids of `text` with its first special one as the last."""
    ends = np.flatnonzero(np.isin(text, special))
    return text[:ends[0] + 1].tolist() if len(ends) else text.tolist()


def judge(runtime, reference, prompts, texts, max_delta):
    sure = same = positions = 0
    broken, worst_margin, delta = [], 0.0, 0.0
    for number, (prompt, text) in enumerate(zip(prompts, texts)):
        end = until_end(text, reference.tokenizer().all_special_ids)
        count, ids, first = len(end), prompt + text.tolist(), len(prompt) - 1
        expected = np.asarray(reference.logits(ids, first))[:count]
        found = runtime.logits(ids)[first:first + count]
        best = expected.argmax(axis=-1)
        top = np.partition(expected, -2, axis=-1)
        margin = top[:, -1] - top[:, -2]
        equal = best == found.argmax(axis=-1)
        delta = max(delta, float(np.abs(expected - found).max()))
        must = margin > 2 * max_delta
        positions += count
        sure += int(must.sum())
        same += int(equal.sum())
        if not equal.all():
            worst_margin = max(worst_margin, float(margin[~equal].max()))
        broken += [[number, int(i), float(margin[i])] for i in np.flatnonzero(must & ~equal)]
    return {"runtime": runtime.name, "prompts": len(prompts), "positions": positions, "positions_bound": sure,
            "same_top1": same / positions, "largest_margin_of_a_difference": worst_margin, "max_abs_delta": delta,
            "broken": broken}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    runtimes.add_arguments(parser)
    parser.add_argument("--max-delta", type=float, required=True, help="max |delta logit| of compare_logits.py")
    parser.add_argument("--prompts", type=int, default=50)
    parser.add_argument("--tokens", type=int, default=128, help="greedy tokens per prompt")
    args = parser.parse_args()
    reference = ReferenceModel(args.model, args.threads)
    prompts = chat_prompts(reference.tokenizer(), args.prompts)
    texts = reference.greedy(prompts, args.tokens)
    results = [judge(r, reference, prompts, texts, args.max_delta) for r in runtimes.from_arguments(args, CONTEXT)]
    if args.json:
        print(json.dumps({"schema": 1, "model_sha256": reference.sha256, "results": results}))
    else:
        for r in results:
            print(f"{r['runtime']}: {r['prompts']} prompts, {r['positions']} positions, {r['positions_bound']} with a margin "
                  f"above {2 * args.max_delta:.4g}, {len(r['broken'])} of them broken; same top-1 "
                  f"{100 * r['same_top1']:.2f} %, largest margin of a difference "
                  f"{r['largest_margin_of_a_difference']:.4g}, max |delta logit| {r['max_abs_delta']:.4g}")
    sys.exit(1 if any(r["broken"] for r in results if r["runtime"] == "prenorm") else 0)


if __name__ == "__main__":
    main()
