"""Writes the trained model as a GGUF file (F32) and as a Hugging Face folder (BF16); both hold the same values.

  python export.py --work DIR --out models/tiny

The weights are rounded to BF16 first, so that the F32 file, the BF16 file and any reader's f32 copy are equal.
"""

import argparse
import json
import pathlib

import determinism

determinism.restart_pinned()

import gguf  # noqa: E402
import torch  # noqa: E402
from safetensors.torch import save_file  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402

import train  # noqa: E402

NAME = "prenorm-tiny"
ROPE_THETA = train.CONFIG["rope_parameters"]["rope_theta"]

# ChatML as SmolLM2 writes it, without a system message of its own.
CHAT_TEMPLATE = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")

# Hugging Face name within a layer -> GGUF name within a block.
LAYER_TENSORS = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}


def rounded_weights(checkpoint):
    """Name -> BF16 tensor, without the tied output matrix."""
    state = torch.load(checkpoint, weights_only=True)["model"]
    return {name: tensor.to(torch.bfloat16).contiguous() for name, tensor in state.items() if name != "lm_head.weight"}


def pair_neighbours(weight, heads):
    """Re-orders the rows of a query or key matrix from rotated halves (i, i + d/2) to neighbours (2i, 2i + 1)."""
    rows, cols = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, cols).swapaxes(1, 2).reshape(rows, cols)


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_hf(folder, weights, tokenizer):
    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights, str(folder / "model.safetensors"), metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)  # the writer makes it private
    config = {key: value for key, value in train.CONFIG.items() if key != "rope_parameters"}
    write_json(folder / "config.json", {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16", **config,
        "rope_theta": ROPE_THETA, "rope_scaling": None, "attention_dropout": 0.0, "use_cache": True})
    write_json(folder / "generation_config.json", {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2})
    tokenizer.save(str(folder / "tokenizer.json"))
    write_json(folder / "tokenizer_config.json", {
        "tokenizer_class": "PreTrainedTokenizerFast", "add_prefix_space": False, "clean_up_tokenization_spaces": False,
        "model_max_length": train.CONTEXT, "bos_token": "<|im_start|>", "eos_token": "<|im_end|>",
        "pad_token": "<|im_end|>", "unk_token": "<|endoftext|>", "chat_template": CHAT_TEMPLATE})


def write_gguf(path, weights, tokenizer):
    config = train.CONFIG
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_type("model")
    writer.add_name(NAME)
    writer.add_license("apache-2.0")
    writer.add_languages(["en"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_rope_freq_base(ROPE_THETA)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_vocab_size(config["vocab_size"])
    writer.add_rope_dimension_count(config["head_dim"])

    model = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    special = {token["content"] for token in json.loads(tokenizer.to_str())["added_tokens"]}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.CONTROL if t in special else gguf.TokenType.NORMAL for t in tokens])
    writer.add_token_merges([" ".join(pair) for pair in model["merges"]])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(CHAT_TEMPLATE)

    def add(name, tensor):
        writer.add_tensor(name, tensor.to(torch.float32).numpy())

    add("token_embd.weight", weights["model.embed_tokens.weight"])
    for layer in range(config["num_hidden_layers"]):
        for hf, ours in LAYER_TENSORS.items():
            tensor = weights[f"model.layers.{layer}.{hf}.weight"]
            if ours == "attn_q":
                tensor = pair_neighbours(tensor, config["num_attention_heads"])
            elif ours == "attn_k":
                tensor = pair_neighbours(tensor, config["num_key_value_heads"])
            add(f"blk.{layer}.{ours}.weight", tensor.contiguous())
    add("output_norm.weight", weights["model.norm.weight"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True, help="folder that train.py wrote")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    weights = rounded_weights(args.work / "checkpoint.pt")
    tokenizer = Tokenizer.from_file(str(args.work / "tokenizer.json"))
    write_hf(args.out / "hf", weights, tokenizer)
    write_gguf(args.out / f"{NAME}.gguf", weights, tokenizer)


if __name__ == "__main__":
    main()
