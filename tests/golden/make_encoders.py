"""Tiny random encoders, and the rows behind their last layer that transformers computes in f32.

  python tests/golden/make_encoders.py          (from any folder; versions: tests/reference/requirements.txt)

Writes encoders.json beside this file. As in make_families.py no weight is stored: names are their seeds. "hidden" has the
picked columns of every row, "mean" and "cls" those of the pooled rows, of texts of several lengths.
"""

import json
import pathlib
import re
import tempfile

import torch
from make_families import gguf_names, values
from safetensors import safe_open
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModel

HERE = pathlib.Path(__file__).resolve().parent
VOCAB, DIM, LENGTHS = 96, 96, (24, 1, 7, 40, 16)
PICKED = list(range(0, DIM, 13))

ENCODERS = {
    "bert": dict(model_type="bert", layer_norm_eps=1e-12),
    "roberta": dict(model_type="roberta", layer_norm_eps=1e-5, type_vocab_size=1, pad_token_id=1, max_position_embeddings=66),
    "bert_tanh": dict(model_type="bert", hidden_act="gelu_new", layer_norm_eps=1e-5, type_vocab_size=1),
}
COMMON = dict(vocab_size=VOCAB, hidden_size=DIM, intermediate_size=128, num_hidden_layers=3, num_attention_heads=4,
              max_position_embeddings=64, pad_token_id=0)


def spread(name):
    """(offset, amplitude) of a tensor's values."""
    if "LayerNorm.weight" in name:
        return 1.0, 0.5
    if name.endswith(".bias"):
        return 0.0, 0.3
    return (0.0, 0.5) if "embeddings" in name else (0.0, 0.25)


def key_of(name):
    return re.sub(r"\blayer\.\d+\.", "layer.#.", name)


def write(folder, roberta):
    """Puts the values that the test makes into the checkpoint; returns its tensors, those of layers once."""
    name_of = gguf_names("bert", COMMON["num_hidden_layers"])
    entries, state = {}, {}
    with safe_open(folder / "model.safetensors", "pt") as file:
        for name in file.keys():
            shape = list(file.get_slice(name).get_shape())
            offset, amplitude = spread(name)
            state[name] = values(name, shape, offset, amplitude)
            if name.startswith("pooler"):
                continue
            entries.setdefault(key_of(name), dict(hf=key_of(name), gguf=re.sub(r"blk\.\d+\.", "blk.#.", name_of(name)),
                                                  shape=shape, op="drop_unused" if roberta and "position_emb" in name else "",
                                                  offset=offset, amplitude=amplitude))
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    return list(entries.values())


def rounded(rows):
    return [[float(f"{v:.7g}") for v in row[PICKED].tolist()] for row in rows]


def golden(name, options):
    options = {**COMMON, **options}
    config = AutoConfig.for_model(options.pop("model_type"), **options)
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        AutoModel.from_config(config, dtype=torch.float32).save_pretrained(folder)
        entries = write(folder, config.model_type == "roberta")
        model = AutoModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        written = json.loads((folder / "config.json").read_text())
    texts = [[(i * i * 7 + i * 31 + 5 + n) % VOCAB for i in range(n)] for n in LENGTHS]
    # RoBERTa's positions begin behind the padding's; given, because an id of the padding would not count.
    first = config.pad_token_id + 1 if config.model_type == "roberta" else 0
    with torch.no_grad():
        rows = [model(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)),
                      position_ids=torch.arange(first, first + len(ids))[None]).last_hidden_state[0] for ids in texts]
    keys = {"bert." + key: value for key, value in {
        "embedding_length": ["u32", DIM], "block_count": ["u32", config.num_hidden_layers],
        "context_length": ["u32", config.max_position_embeddings - first],
        "feed_forward_length": ["u32", config.intermediate_size],
        "attention.head_count": ["u32", config.num_attention_heads],
        "attention.layer_norm_epsilon": ["f32", config.layer_norm_eps], "pooling_type": ["u32", 2]}.items()}
    return dict(name=name, architecture="bert", layers=config.num_hidden_layers, texts=texts, config=written, keys=keys,
                tensors=entries, picked=PICKED, hidden=[rounded(r) for r in rows],
                mean=rounded(torch.stack([r.mean(0) for r in rows])), cls=rounded(torch.stack([r[0] for r in rows])))


def main():
    torch.set_num_threads(1)
    lines = json.dumps([golden(name, options) for name, options in ENCODERS.items()], indent=1)
    lines = re.sub(r"\[\s+((?:-?[\d.e+-]+,\s+)*-?[\d.e+-]+)\s+\]", lambda m: "[" + re.sub(r"\s+", " ", m.group(1)) + "]",
                   lines)
    lines = re.sub(r"\{\s+(\"hf\":[^}]*?)\s+\}", lambda m: "{" + re.sub(r"\s+", " ", m.group(1)) + "}", lines)
    (HERE / "encoders.json").write_text(lines + "\n")


if __name__ == "__main__":
    main()
