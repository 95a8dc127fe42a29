"""Ways to place norms and to join branches, as plain torch computes them in f32 on the weights of encoders.json's "bert".

  python tests/golden/make_blocks.py          (from any folder, after make_encoders.py)

Writes blocks.json beside this file: for each form the picked columns of the last rows of one text. With n and f a norm and a
branch, of every branch in turn:
  post_ln      x = n(x + f(x))                            Vaswani et al. 2017
  pre_ln       x = x + f(n(x)), a norm at the end         Baevski and Auli 2018
  sandwich     x = x + n'(f(n(x))), a norm at the end     Ding et al. 2021
  deepnorm     x = n(alpha x + f(x)), alpha = (2 L)^1/4   Wang et al. 2022
  skip_init    x = x + a f(x), one number a branch        De and Smith 2020
  layer_scale  x = x + l * f(n(x)), l of each dimension   Touvron et al. 2021
  fixup        x = x + m f(x), the first matrix of a branch scaled by L^(-1/(2m-2)), m matrices in a branch: 2 in the
               feed-forward part, and with value and output 2 in attention           Zhang et al. 2019
Norms in front take the gains of those behind; the norm at the end that of the embeddings, which pre_ln and sandwich leave
out in front. Numbers a and m of layer i are 0.5 - 0.1 i, l = 0.5 + 0.4 u, u hashed from "layer_scale.I.attn" and ".ffn".
"""

import json
import math
import pathlib
import re

import torch
from make_families import values
from torch.nn import functional

HERE = pathlib.Path(__file__).resolve().parent
FORMS = ("post_ln", "pre_ln", "sandwich", "deepnorm", "skip_init", "layer_scale", "fixup")


def load():
    golden = json.loads((HERE / "encoders.json").read_text())[0]
    weights = {}
    for entry in golden["tensors"]:
        for layer in range(golden["layers"]) if "#" in entry["hf"] else [0]:
            name = entry["hf"].replace("#", str(layer))
            weights[name] = values(name, entry["shape"], entry["offset"], entry["amplitude"])
    return golden, weights


def run(form, golden, w):
    layers, dim, heads = golden["layers"], golden["config"]["hidden_size"], golden["config"]["num_attention_heads"]
    ids = golden["texts"][0]
    fixup = layers ** (-1 / (2 * 2 - 2)) if form == "fixup" else 1.0
    alpha = (2 * layers) ** 0.25 if form == "deepnorm" else 1.0

    def norm(x, name):
        return functional.layer_norm(x, (dim,), w[name + ".weight"], w[name + ".bias"], 1e-12)

    def linear(x, name, factor=1.0):
        return functional.linear(x, factor * w[name + ".weight"], w[name + ".bias"])

    def attention(x, p):
        q, k, v = (linear(x, p + "attention.self." + n, fixup if n == "value" else 1.0).view(-1, heads, dim // heads)
                   .transpose(0, 1) for n in ("query", "key", "value"))
        scores = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(dim // heads), -1)
        return linear((scores @ v).transpose(0, 1).reshape(-1, dim), p + "attention.output.dense")

    def feed_forward(x, p):
        return linear(functional.gelu(linear(x, p + "intermediate.dense", fixup)), p + "output.dense")

    def join(x, f, name, i, which):
        if form in ("post_ln", "deepnorm"):
            return norm(alpha * x + f(x), name)
        if form in ("skip_init", "fixup"):
            return x + (0.5 - 0.1 * i) * f(x)
        branch = f(norm(x, name))
        if form == "sandwich":
            branch = norm(branch, name)
        if form == "layer_scale":
            branch = branch * values(f"layer_scale.{i}.{which}", [dim], 0.5, 0.4)
        return x + branch

    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.token_type_embeddings.weight"][0]
    x = x + w["embeddings.position_embeddings.weight"][: len(ids)]
    ends = form in ("pre_ln", "sandwich")
    x = x if ends else norm(x, "embeddings.LayerNorm")
    for i in range(layers):
        p = f"encoder.layer.{i}."
        x = join(x, lambda y: attention(y, p), p + "attention.output.LayerNorm", i, "attn")
        x = join(x, lambda y: feed_forward(y, p), p + "output.LayerNorm", i, "ffn")
    return norm(x, "embeddings.LayerNorm") if ends else x


def main():
    torch.set_num_threads(1)
    golden, weights = load()
    forms = {form: [[float(f"{v:.7g}") for v in row[golden["picked"]].tolist()] for row in run(form, golden, weights)]
             for form in FORMS}
    lines = json.dumps(forms, indent=1)
    lines = re.sub(r"\[\s+((?:-?[\d.e+-]+,\s+)*-?[\d.e+-]+)\s+\]", lambda m: "[" + re.sub(r"\s+", " ", m.group(1)) + "]",
                   lines)
    (HERE / "blocks.json").write_text(lines + "\n")


if __name__ == "__main__":
    main()
