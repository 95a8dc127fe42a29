"""Golden values of the tiny model, made by tokenizers and transformers in f32 from the Hugging Face folder.

  python tests/golden/make_tiny.py          (from any folder; versions: tools/tiny_model/requirements.txt)

Writes beside this file:
  tiny.json        token ids, greedy continuations, chat prompts, held-out negative log-likelihoods
  tiny_logits.npy  f32 [48, 512]: the logits of every position of "logits"."ids"
"""

import json
import math
import pathlib
import re
import sys

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MODEL = ROOT / "models" / "tiny" / "hf"
sys.path.insert(0, str(ROOT / "tools" / "tiny_model"))

import corpus  # noqa: E402

LOGIT_TOKENS = 48
GREEDY_TOKENS = 64
HELD_OUT_STORIES = 12
# The held-out stories here are not those that evaluate.py averages over.
FIRST_HELD_OUT = corpus.HELD_OUT_SEED + 10_000

TEXTS = [
    "Once upon a time there was a small fox named Mia.",
    "\"Do not cry,\" said Finn.\n\nIn 2024 there were 1,234 stars  and   three spaces. ",
    "tabs\tand\r\nline ends, I'LL don't it's we've",
    "na\u00efve caf\u00e9, \u00dcbergr\u00f6\u00dfe, \u0434\u043e\u043c, \u6771\u4eac, \U0001f638 and \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "<|im_start|>user\nHello<|im_end|>\n",
    "",
    " leading and trailing ",
    "u != v , w . k ?",
]
GREEDY_PROMPTS = [
    "Once upon a time there was a",
    "Mia was a small fox who lived",
    "One rainy day",
    "There once lived a brave owl under an old oak tree. Her name was",
    "\"I will help you",
]
CHATS = [
    [{"role": "user", "content": "Tell me a story about a fox"}],
    [{"role": "user", "content": "What is the moon?"}],
    [{"role": "system", "content": "You tell short stories."}, {"role": "user", "content": "Hello!"},
     {"role": "assistant", "content": "Hello! I know many short stories. Ask me for one."},
     {"role": "user", "content": "Write a story about Tom the bear and Ivy the owl."}],
]


def logits_of(model, ids):
    with torch.no_grad():
        return model(torch.tensor([ids]), use_cache=False).logits[0]


def greedy(model, ids, count):
    """Greedy continuation up to the end token: (ids, finish reason, smallest top-1 minus top-2 logit on the way)."""
    ids, new, margin = list(ids), [], math.inf
    while len(new) < count:
        top = torch.topk(logits_of(model, ids)[-1], 2)
        margin = min(margin, (top.values[0] - top.values[1]).item())
        token = top.indices[0].item()
        if token == model.config.eos_token_id:
            return new, "stop", margin
        ids.append(token)
        new.append(token)
    return new, "length", margin


def main():
    torch.set_num_threads(1)
    plain = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
    plain.encode_special_tokens = True  # markers in a text are text
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    model = AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32, attn_implementation="eager").eval()

    def decode(ids):
        return tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)

    golden = {"tokenize": [], "greedy": [], "chat": [], "held_out": []}
    for text in TEXTS:
        golden["tokenize"].append({"text": text, "ids": plain.encode(text).ids, "pieces": plain.encode(text).tokens,
                                   "ids_with_special": tokenizer.encode(text)})
    for prompt in GREEDY_PROMPTS:
        ids = plain.encode(prompt).ids
        new, reason, margin = greedy(model, ids, GREEDY_TOKENS)
        golden["greedy"].append({"prompt": prompt, "prompt_ids": ids, "ids": new, "text": decode(new),
                                 "finish_reason": reason, "min_margin": round(margin, 6)})
    for messages in CHATS:
        rendered = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        ids = tokenizer.encode(rendered)
        room = model.config.max_position_embeddings - len(ids)
        new, reason, margin = greedy(model, ids, min(room, 320))
        golden["chat"].append({"messages": messages, "rendered": rendered, "prompt_ids": ids, "ids": new,
                               "text": decode(new), "finish_reason": reason, "min_margin": round(margin, 6)})

    ids = plain.encode(corpus.story_text(FIRST_HELD_OUT - 1)).ids[:LOGIT_TOKENS]
    golden["logits"] = {"file": "tiny_logits.npy", "ids": ids}
    np.save(HERE / "tiny_logits.npy", logits_of(model, ids).numpy())

    total, tokens = 0.0, 0
    for seed in range(FIRST_HELD_OUT, FIRST_HELD_OUT + HELD_OUT_STORIES):
        text = corpus.story_text(seed)
        ids = plain.encode(text).ids
        logits = logits_of(model, ids).double()
        nll = torch.nn.functional.cross_entropy(logits[:-1], torch.tensor(ids[1:]), reduction="sum").item()
        golden["held_out"].append({"text": text, "ids": ids, "nll": nll, "predicted": len(ids) - 1})
        total += nll
        tokens += len(ids) - 1
    golden["held_out_perplexity"] = math.exp(total / tokens)

    lines = json.dumps(golden, indent=1, ensure_ascii=True)
    # One array of numbers a line keeps the file readable.
    lines = re.sub(r"\[\s+((?:-?\d+,\s+)*-?\d+)\s+\]", lambda m: "[" + re.sub(r"\s+", " ", m.group(1)) + "]", lines)
    (HERE / "tiny.json").write_text(lines + "\n")
    print(f"held-out perplexity {golden['held_out_perplexity']:.4f} on {tokens} tokens; smallest greedy margin "
          f"{min(entry['min_margin'] for entry in golden['greedy'] + golden['chat']):.5f}")


if __name__ == "__main__":
    main()
