"""Trains the tokenizer and the tiny Llama model on the generated corpus; can be stopped and resumed at any step.

  python train.py --work DIR                    all steps
  python train.py --work DIR --until-step 300   up to there; run again to go on from the checkpoint in DIR

Writes DIR/tokenizer.json and DIR/checkpoint.pt; the result is the same however the steps are cut.
"""

import argparse
import math
import pathlib
import time

import determinism

determinism.restart_pinned()

import corpus  # noqa: E402
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers  # noqa: E402

SEED = 20
STEPS = 560
COOL_DOWN_FROM = 300  # step
CONTEXT = 512  # tokens
DOCUMENTS_PER_STEP = 14
WARMUP_STEPS = 40
PEAK_RATE = 4e-3
COSINE_STEPS = 1000  # the cosine is cut short by the cool-down
WEIGHT_DECAY = 0.05
VOCAB_SIZE = 768
TOKENIZER_DOCUMENTS = 4000
IGNORED = -100  # target of padding
SPECIAL_TOKENS = ["<|endoftext|>", corpus.IM_START, corpus.IM_END]  # ids 0, 1, 2
CONFIG = dict(
    vocab_size=VOCAB_SIZE, hidden_size=128, intermediate_size=224, num_hidden_layers=4, num_attention_heads=4,
    num_key_value_heads=2, head_dim=32, max_position_embeddings=CONTEXT, rms_norm_eps=1e-5,
    rope_parameters={"rope_type": "default", "rope_theta": 10000.0}, tie_word_embeddings=True, attention_bias=False,
    mlp_bias=False, hidden_act="silu", initializer_range=0.04, bos_token_id=1, eos_token_id=2, pad_token_id=2)


def train_tokenizer():
    """A byte-level BPE whose pre-tokenizer is the one GGUF calls "smollm": digits alone, then GPT-2's pattern."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE, special_tokens=SPECIAL_TOKENS, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False)
    texts = []
    for seed in range(corpus.TRAIN_SEED, corpus.TRAIN_SEED + TOKENIZER_DOCUMENTS):
        texts += [f"{role}\n{content}\n" for role, content in corpus.chat_turns(seed)]
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def next_batch(tokenizer, step):
    """The documents of one step as rows of token ids, one document a row: every use of the model starts with a
    document's first token, and a second hero in the same row would hide which name is to be repeated."""
    first = corpus.TRAIN_SEED + step * DOCUMENTS_PER_STEP
    return [tokenizer.encode(corpus.document(seed)).ids[:CONTEXT] for seed in range(first, first + DOCUMENTS_PER_STEP)]


def learning_rate(step):
    """Linear warm-up, then a slow cosine, at the end a linear cool-down to zero."""
    warm_up = min(1.0, (step + 1) / WARMUP_STEPS)
    cosine = 0.5 * (1 + math.cos(math.pi * max(0, step - WARMUP_STEPS) / (COSINE_STEPS - WARMUP_STEPS)))
    cool_down = min(1.0, (STEPS - step) / (STEPS - COOL_DOWN_FROM))
    return PEAK_RATE * warm_up * cosine * cool_down


def make_optimizer(torch, model):
    matrices = [p for p in model.parameters() if p.dim() == 2]
    gains = [p for p in model.parameters() if p.dim() == 1]
    groups = [dict(params=matrices, weight_decay=WEIGHT_DECAY), dict(params=gains, weight_decay=0.0)]
    return torch.optim.AdamW(groups, lr=PEAK_RATE, betas=(0.9, 0.95), foreach=False, fused=False)


def train(work, until_step):
    torch = determinism.pin_torch(SEED)
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer_file, checkpoint_file = work / "tokenizer.json", work / "checkpoint.pt"
    if not tokenizer_file.exists():
        train_tokenizer().save(str(tokenizer_file))
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    model = LlamaForCausalLM(LlamaConfig(**CONFIG, attn_implementation="sdpa"))
    optimizer = make_optimizer(torch, model)
    step = tokens = 0
    if checkpoint_file.exists():
        state = torch.load(checkpoint_file, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
    start = time.monotonic()
    while step < until_step:
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step)
        batch = next_batch(tokenizer, step)
        width = max(map(len, batch))
        # Padding follows a row's text, so the causal mask hides it; its targets are ignored.
        ids = torch.tensor([row + [0] * (width - len(row)) for row in batch])
        targets = torch.tensor([row[1:] + [IGNORED] * (width - len(row)) for row in batch])
        logits = model(ids, use_cache=False).logits[:, :-1]
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, VOCAB_SIZE), targets.reshape(-1), ignore_index=IGNORED)
        tokens += sum(map(len, batch))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=False)
        optimizer.step()
        step += 1
        if step % 20 == 0 or step == until_step:
            rate = tokens / (time.monotonic() - start)
            print(f"step {step}: loss {loss.item():.4f}, {rate:.0f} tokens/s", flush=True)
    torch.save(dict(model=model.state_dict(), optimizer=optimizer.state_dict(), step=step), checkpoint_file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True, help="folder for tokenizer.json and checkpoint.pt")
    parser.add_argument("--until-step", type=int, default=STEPS)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    train(args.work, min(args.until_step, STEPS))


if __name__ == "__main__":
    main()
