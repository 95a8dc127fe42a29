"""Perplexity of the tiny model on held-out documents (seeds that training never used), and some samples to read.

  python evaluate.py models/tiny/hf [--samples 4]

Each document is a sequence of its own; every token after the first is predicted; perplexity is per token.
"""

import argparse
import math

import corpus
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def negative_log_likelihood(model, ids):
    """Sum over tokens 1.. of -ln p(token | tokens before it), in nats."""
    with torch.no_grad():
        logits = model(torch.tensor([ids]), use_cache=False).logits[0].double()
    return torch.nn.functional.cross_entropy(logits[:-1], torch.tensor(ids[1:]), reduction="sum").item()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="Hugging Face folder")
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--samples", type=int, default=0)
    args = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForCausalLM.from_pretrained(args.model, dtype=torch.float32).eval()
    total, tokens, size = 0.0, 0, 0
    for seed in range(corpus.HELD_OUT_SEED, corpus.HELD_OUT_SEED + args.documents):
        text = corpus.document(seed)
        ids = tokenizer.encode(text)[:model.config.max_position_embeddings]
        total += negative_log_likelihood(model, ids)
        tokens += len(ids) - 1
        size += len(text.encode())
    print(f"{args.documents} documents, {tokens} tokens: perplexity {math.exp(total / tokens):.4f} per token, "
          f"{total / math.log(2) / size:.4f} bits per byte")
    requests = ["Tell me a story about a fox", "Tell me a story.", "What is normalization?", "Hello!"]
    for request in requests[:args.samples]:
        ids = tokenizer.apply_chat_template([{"role": "user", "content": request}], add_generation_prompt=True,
                                            return_tensors="pt", return_dict=True)
        torch.manual_seed(1)
        out = model.generate(**ids, max_new_tokens=350, do_sample=True, temperature=0.7)
        print("---\n" + tokenizer.decode(out[0]))


if __name__ == "__main__":
    main()
