"""Tiny random models of every supported family, and the logits that transformers computes for them in f32.

  python tests/golden/make_families.py          (from any folder; versions: tests/reference/requirements.txt)

Writes families.json beside this file. No weight is stored: tests/runtime/model/families_test.cc makes the same values
from the tensors' names. Value i of a tensor is offset + amplitude * u, with u in [-1, 1) from the upper 24 bits of
splitmix64(fnv1a64(Hugging Face name) + i). Norm gains lie around 1, biases are not 0, and the sequence is three times as
long as the sliding windows.

Names of GGUF tensors come from the gguf package; "op" tells how a converter changes the values:
  permute    rows of each head (i, i + half) -> (2i, 2i + 1), for rotary pairs of neighbours
  plus_one   1 is added
  transpose  [in, out] -> [out, in]
  stack      one tensor for each expert, joined
"""

import json
import math
import pathlib
import re
import tempfile

import gguf
import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM

HERE = pathlib.Path(__file__).resolve().parent
POSITIONS, VOCAB, DIM, WINDOW = 24, 96, 96, 8  # The root of DIM is not exact: Gemma multiplies by it.
PICKED = list(range(0, VOCAB, 13))  # Of each row of logits these are kept.

COMMON = dict(vocab_size=VOCAB, hidden_size=DIM, intermediate_size=128, num_hidden_layers=3, num_attention_heads=4,
              num_key_value_heads=2, max_position_embeddings=64, rms_norm_eps=1e-5, bos_token_id=1, eos_token_id=2,
              pad_token_id=0, tie_word_embeddings=False)
LLAMA3 = dict(rope_type="llama3", rope_theta=1000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=32)
YARN = dict(rope_type="yarn", rope_theta=10000.0, factor=4.0, original_max_position_embeddings=16)
EXPERTS = dict(num_experts_per_tok=2)
# With usual bases the last pairs hardly turn within 24 tokens; with usual eps it hardly shows beside Gemma's larger rows.
SMALL_BASE = dict(rope_type="default", rope_theta=100.0)
LARGE_EPS = 1e-3
MSCALE = {**YARN, "mscale": 0.8, "mscale_all_dim": 0.3}


def longrope(original):
    half = DIM // COMMON["num_attention_heads"] // 2
    return dict(original_max_position_embeddings=original,
                rope_parameters=dict(rope_type="longrope", rope_theta=10000.0, original_max_position_embeddings=original,
                                     short_factor=[round(1.0 + 0.05 * i, 2) for i in range(half)],
                                     long_factor=[round(1.2 + 0.5 * i, 2) for i in range(half)]))


def family(architecture, model_type, **options):
    return dict(architecture=architecture, config={**COMMON, "model_type": model_type, **options})


FAMILIES = {
    "llama": family("llama", "llama"),
    "llama_scaled": family("llama", "llama", rope_parameters=LLAMA3, tie_word_embeddings=True),
    "llama_yarn": family("llama", "llama", rope_parameters=YARN),
    "llama_linear": family("llama", "llama", rope_parameters=dict(rope_type="linear", rope_theta=10000.0, factor=4.0)),
    "llama_dynamic": family("llama", "llama", rope_parameters=dict(rope_type="dynamic", rope_theta=10000.0, factor=2.0)),
    "llama_mscale": family("llama", "llama", rope_parameters=MSCALE),
    "mistral": family("llama", "mistral", sliding_window=WINDOW, head_dim=32),
    "mixtral": family("llama", "mixtral", num_local_experts=5, rope_parameters=SMALL_BASE, **EXPERTS),
    "qwen2": family("qwen2", "qwen2", use_sliding_window=False),
    "qwen2moe": family("qwen2moe", "qwen2_moe", num_experts=6, moe_intermediate_size=48, norm_topk_prob=False,
                       shared_expert_intermediate_size=160, use_sliding_window=False, **EXPERTS),
    "qwen3": family("qwen3", "qwen3", head_dim=32, use_sliding_window=False),
    "qwen3moe": family("qwen3moe", "qwen3_moe", head_dim=32, num_experts=6, moe_intermediate_size=64,
                       norm_topk_prob=True, **EXPERTS),
    "gemma": family("gemma", "gemma", head_dim=32, tie_word_embeddings=True, hidden_act="gelu_pytorch_tanh",
                    rms_norm_eps=LARGE_EPS),
    "gemma2": family("gemma2", "gemma2", head_dim=32, sliding_window=WINDOW, query_pre_attn_scalar=32,
                     tie_word_embeddings=True, rms_norm_eps=LARGE_EPS, attn_logit_softcapping=5.0, final_logit_softcapping=6.0),
    "gemma3": family("gemma3", "gemma3_text", head_dim=32, num_hidden_layers=7, sliding_window=WINDOW,
                     query_pre_attn_scalar=32, tie_word_embeddings=True, rms_norm_eps=LARGE_EPS,
                     rope_parameters=dict(
                         sliding_attention=dict(rope_type="default", rope_theta=10000.0),
                         full_attention=dict(rope_type="linear", rope_theta=100.0, factor=4.0))),
    "phi3": family("phi3", "phi3", sliding_window=WINDOW),
    "phi3_short": family("phi3", "phi3", **longrope(32)),
    "phi3_long": family("phi3", "phi3", **longrope(16)),
    "smollm3": family("smollm3", "smollm3", num_hidden_layers=4, use_sliding_window=False, tie_word_embeddings=True,
                      rope_parameters=SMALL_BASE),
    "gpt2": dict(architecture="gpt2", config=dict(model_type="gpt2", vocab_size=VOCAB, n_embd=DIM, n_layer=3, n_head=4,
                                                  n_positions=64, bos_token_id=1, eos_token_id=2)),
    "olmo2": family("olmo2", "olmo2"),
    "cohere": family("command-r", "cohere", logit_scale=0.25, tie_word_embeddings=True, layer_norm_eps=1e-5,
                     rope_parameters=SMALL_BASE),
    "cohere_qk_norm": family("command-r", "cohere", logit_scale=0.25, tie_word_embeddings=True, use_qk_norm=True,
                             layer_norm_eps=1e-5, rope_parameters=SMALL_BASE),
    "cohere2": family("cohere2", "cohere2", num_hidden_layers=5, logit_scale=0.25, tie_word_embeddings=True,
                      layer_norm_eps=1e-5, sliding_window=WINDOW, head_dim=24),
    "granite": family("granite", "granite", embedding_multiplier=3.0, residual_multiplier=0.4,
                      attention_multiplier=0.3, logits_scaling=2.0),
}
PERMUTED = {"llama", "smollm3", "granite"}


def values(name, shape, offset, amplitude):
    seed = 0xCBF29CE484222325
    for byte in name.encode():
        seed = (seed ^ byte) * 0x100000001B3 % 2**64
    z = np.uint64(seed) + np.arange(math.prod(shape), dtype=np.uint64)
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    u = (z >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-23) - np.float32(1.0)
    return torch.from_numpy((np.float32(offset) + np.float32(amplitude) * u).reshape(shape))


def spread(architecture, name, shape):
    """(offset, amplitude) of a tensor's values."""
    if re.search(r"norm|ln_", name):
        if name.endswith(".bias"):
            return 0.0, 0.3
        return (0.0, 0.5) if architecture.startswith("gemma") else (1.0, 0.5)
    if name.endswith(".bias"):
        return 0.0, 0.3
    if architecture.startswith("gemma") and "embed_tokens" in name:
        return (0.0, 0.15)  # They are multiplied, and should not drown what the branches add.
    return (0.0, 0.5) if re.search(r"embed_tokens|wte|wpe", name) else (0.0, 0.25)


def operation(architecture, name, shape):
    if architecture in PERMUTED and re.search(r"[qk]_proj\.(weight|bias)$", name):
        return "permute"
    if architecture.startswith("gemma") and "norm" in name:
        return "plus_one"
    if architecture == "gpt2" and len(shape) == 2 and "wte" not in name and "wpe" not in name:
        return "transpose"
    return "stack" if ".experts." in name else ""


def gguf_names(architecture, layers):
    arch = next(a for a, name in gguf.MODEL_ARCH_NAMES.items() if name == architecture)
    names = gguf.get_tensor_name_map(arch, layers)
    return lambda name: names.get_name(name, try_suffixes=(".weight", ".bias"))


def tensors(architecture, layers, folder):
    """Entries of one layer, with # for its number and @ for an expert's."""
    name_of = gguf_names(architecture, layers)
    entries = {}
    with safe_open(folder / "model.safetensors", "pt") as file:
        for name in file.keys():
            shape = list(file.get_slice(name).get_shape())
            key = re.sub(r"\.(layers|h)\.\d+\.", r".\1.#.", name)
            op = operation(architecture, name, shape)
            if op == "stack":
                key = re.sub(r"experts\.\d+\.", "experts.@.", key)
            if key in entries:
                continue
            # A mixture's matrices are known to the package by the name that they have when joined.
            known = name_of(re.sub(r"experts\.\d+\.", "experts.", name)) if op == "stack" else name_of(name)
            offset, amplitude = spread(architecture, name, shape)
            entries[key] = dict(hf=key, gguf=re.sub(r"blk\.\d+\.", "blk.#.", known), shape=shape, op=op, offset=offset,
                                amplitude=amplitude)
    return list(entries.values())


def fill(folder, entries):
    """Writes the values that the test makes."""
    with safe_open(folder / "model.safetensors", "pt") as file:
        shapes = {name: list(file.get_slice(name).get_shape()) for name in file.keys()}
    kinds = {entry["hf"]: entry for entry in entries}
    state = {}
    for name, shape in shapes.items():
        key = re.sub(r"\.(layers|h)\.\d+\.", r".\1.#.", name)
        key = re.sub(r"experts\.\d+\.", "experts.@.", key)
        state[name] = values(name, shape, kinds[key]["offset"], kinds[key]["amplitude"])
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})


def gguf_keys(architecture, config):
    """As a converter writes them: {key: [type, value]}."""
    keys = {}

    def add(name, kind, value):
        if value is not None:
            keys[f"{architecture}.{name}"] = [kind, value]

    get = lambda *names: next((getattr(config, n) for n in names if getattr(config, n, None) is not None), None)
    dim, heads = get("hidden_size"), get("num_attention_heads")
    add("embedding_length", "u32", dim)
    add("block_count", "u32", get("num_hidden_layers"))
    add("context_length", "u32", get("max_position_embeddings"))
    add("feed_forward_length", "u32", get("intermediate_size") or 4 * dim)
    add("attention.head_count", "u32", heads)
    if architecture == "gpt2":
        add("attention.layer_norm_epsilon", "f32", config.layer_norm_epsilon)
        return keys
    add("attention.head_count_kv", "u32", get("num_key_value_heads"))
    add("attention.layer_norm_rms_epsilon" if hasattr(config, "rms_norm_eps") and "cohere" not in config.model_type
        else "attention.layer_norm_epsilon", "f32", get("layer_norm_eps", "rms_norm_eps"))
    if get("head_dim") not in (None, dim // heads):
        add("attention.key_length", "u32", config.head_dim)
        add("attention.value_length", "u32", config.head_dim)
    if architecture != "qwen2":
        add("attention.sliding_window", "u32", get("sliding_window"))
    for name in ("attn_logit_softcapping", "final_logit_softcapping"):
        add(name, "f32", get(name))
    add("expert_count", "u32", get("num_local_experts", "num_experts"))
    add("expert_used_count", "u32", get("num_experts_per_tok"))
    add("expert_feed_forward_length", "u32", get("moe_intermediate_size"))
    add("expert_shared_feed_forward_length", "u32", get("shared_expert_intermediate_size"))
    add("logit_scale", "f32", get("logit_scale", "logits_scaling"))
    add("embedding_scale", "f32", get("embedding_multiplier"))
    add("residual_scale", "f32", get("residual_multiplier"))
    add("attention.scale", "f32", get("attention_multiplier"))
    rope = config.rope_parameters
    rope = rope.get("full_attention", rope)
    add("rope.freq_base", "f32", rope["rope_theta"])
    if rope["rope_type"] in ("linear", "yarn"):
        add("rope.scaling.type", "string", rope["rope_type"])
        add("rope.scaling.factor", "f32", rope["factor"])
    if rope["rope_type"] == "longrope":
        original = rope["original_max_position_embeddings"]
        add("rope.scaling.original_context_length", "u32", original)
        add("rope.scaling.attn_factor", "f32", math.sqrt(1 + math.log(config.max_position_embeddings / original) /
                                                         math.log(original)))
    if "mscale" in rope:  # As a factor of the usual magnitude.
        log = 0.1 * math.log(rope["factor"])
        add("rope.scaling.attn_factor", "f32",
            (log * rope["mscale"] + 1) / (log * rope["mscale_all_dim"] + 1) / (log + 1))
    if rope["rope_type"] == "yarn":
        add("rope.scaling.original_context_length", "u32", rope["original_max_position_embeddings"])
    return keys


def rope_divisors(config):
    """rope_freqs of Llama 3.1, as converters compute it."""
    rope = getattr(config, "rope_parameters", None)
    if not rope or rope.get("rope_type") != "llama3":
        return None
    half = config.hidden_size // config.num_attention_heads // 2
    low, high = (rope["original_max_position_embeddings"] / rope[f"{end}_freq_factor"] for end in ("low", "high"))
    divisors = []
    for i in range(half):
        wavelength = 2 * math.pi * rope["rope_theta"] ** (i / half)
        if wavelength < high:
            divisors.append(1.0)
        elif wavelength > low:
            divisors.append(rope["factor"])
        else:
            kept = (rope["original_max_position_embeddings"] / wavelength - rope["low_freq_factor"]) / (
                rope["high_freq_factor"] - rope["low_freq_factor"])
            divisors.append(1.0 / ((1.0 - kept) / rope["factor"] + kept))
    return divisors


def golden(name, architecture, options):
    options = dict(options)
    config = AutoConfig.for_model(options.pop("model_type"), **options)
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        AutoModelForCausalLM.from_config(config, dtype=torch.float32).save_pretrained(folder)
        layers = config.num_hidden_layers
        entries = tensors(architecture, layers, folder)
        fill(folder, entries)
        model, info = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager",
                                                           output_loading_info=True)
        assert not info["missing_keys"] and not info["unexpected_keys"], (name, info)
        written = json.loads((folder / "config.json").read_text())
        ids = [(i * i * 7 + i * 31 + 5) % VOCAB for i in range(POSITIONS)]
        with torch.no_grad():
            logits = model.eval()(torch.tensor([ids]), use_cache=False).logits[0]
    out = dict(name=name, architecture=architecture, layers=layers, ids=ids, config=written,
               keys=gguf_keys(architecture, config), tensors=entries, picked=PICKED,
               max_logit=round(logits.abs().max().item(), 4),
               logits=[[float(f"{v:.7g}") for v in row[PICKED].tolist()] for row in logits])
    if (divisors := rope_divisors(config)) is not None:
        out["rope_divisors"] = [float(f"{d:.8g}") for d in divisors]
    rope = getattr(config, "rope_parameters", None) or {}
    if rope.get("rope_type") == "longrope":
        out["rope_factors"] = {kind: rope[f"{kind}_factor"] for kind in ("short", "long")}
    return out


def main():
    torch.set_num_threads(1)
    models = []
    for name, spec in FAMILIES.items():
        models.append(golden(name, spec["architecture"], spec["config"]))
        print(f"{name}: largest logit {models[-1]['max_logit']}")
    lines = json.dumps(models, indent=1)
    # One array of numbers, and one tensor, a line keeps the file readable.
    lines = re.sub(r"\[\s+((?:-?[\d.e+-]+,\s+)*-?[\d.e+-]+)\s+\]", lambda m: "[" + re.sub(r"\s+", " ", m.group(1)) + "]",
                   lines)
    lines = re.sub(r"\{\s+(\"hf\":[^}]*?)\s+\}", lambda m: "{" + re.sub(r"\s+", " ", m.group(1)) + "}", lines)
    (HERE / "families.json").write_text(lines + "\n")


if __name__ == "__main__":
    main()
