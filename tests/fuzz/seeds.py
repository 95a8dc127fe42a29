"""Writes a small valid file of each format that the fuzzers take:  seeds.py FOLDER [PRENORM]

PRENORM, the built command, adds a stored session. Only the standard library is needed.
"""

import json
import math
import pathlib
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TINY = ROOT / "models" / "tiny"
GOLDEN = ROOT / "tests" / "golden"

TEMPLATE = """{%- set count = namespace(turns=0) -%}
{%- macro turn(role, text) -%}<|{{ role }}|>{{ text | trim }}
{% endmacro -%}
{%- for message in messages if message.content is string -%}
  {%- if loop.first and message.role != 'system' -%}{{ turn('system', 'Be brief.') }}{%- endif -%}
  {{- turn(message['role'], message.content[:100]) -}}
  {%- set count.turns = count.turns + 1 -%}
{%- else -%}
  {{- raise_exception('nobody spoke') -}}
{%- endfor -%}
{%- if tools -%}{{ tools | tojson(indent=2) }}{%- endif -%}
{{- '%d of %s' % (count.turns, range(3) | list) if count.turns > 9 else '' -}}
{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}
"""

PIECES = ["<unk>", "<s>", "</s>", "\u2581", "a", "b", "\u2581a", "ab", "\u00e9", "\u2581ab"]


def varint(number):
    """A base-128 number of Protocol Buffers."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def message(field, payload):
    """A length-delimited field."""
    return varint(field << 3 | 2) + varint(len(payload)) + payload


def sentencepiece(kind):
    """A ModelProto: pieces with scores and types, and a trainer_spec that says the kind (1 unigram, 2 BPE)."""
    out = b""
    for rank, piece in enumerate(PIECES):
        body = message(1, piece.encode()) + varint(2 << 3 | 5) + struct.pack("<f", -float(rank))
        piece_type = 2 if piece == "<unk>" else 3 if piece in ("<s>", "</s>") else 1
        out += message(1, body + varint(3 << 3) + varint(piece_type))
    return out + message(2, varint(3 << 3) + varint(kind))


def tokenizer_json(kind):
    """A tokenizer.json with a model of the kind."""
    vocab = {piece: index for index, piece in enumerate(PIECES)}
    model = {
        "WordPiece": {"type": "WordPiece", "unk_token": "<unk>", "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": 100, "vocab": vocab},
        "Unigram": {"type": "Unigram", "unk_id": 0, "vocab": [[piece, -float(i)] for i, piece in enumerate(PIECES)]},
        "BPE": {"type": "BPE", "vocab": vocab, "merges": ["a b"], "byte_fallback": True, "unk_token": "<unk>"},
    }[kind]
    normalizer = {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"},
                  {"type": "Replace", "pattern": {"Regex": " +"}, "content": " "}]}
    return json.dumps({
        "version": "1.0",
        "added_tokens": [{"id": 1, "content": "<s>", "special": True, "lstrip": False, "rstrip": True,
                          "normalized": False, "single_word": False}],
        "normalizer": normalizer,
        "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first"},
        "post_processor": None,
        "decoder": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first"},
        "model": model,
    })


# Ids of storage types with 32 weights in a block, and the bytes of one: F16, Q4_0, Q4_1, Q5_0, Q8_0, IQ4_NL, MXFP4.
BLOCKS = [(1, 64), (2, 18), (3, 20), (6, 22), (8, 34), (20, 18), (39, 17)]
FILLER = b"\x2c"  # Small finite numbers in every type.


def text(value):
    """A string of GGUF."""
    return struct.pack("<Q", len(value)) + value.encode()


def gguf_key(key, kind, value):
    """A key with a value of kind "u32", "f32" or "string", or a list of strings or of i32."""
    if isinstance(value, list):
        items = [text(v) if kind == "string" else struct.pack("<i", v) for v in value]
        return text(key) + struct.pack("<IIQ", 9, 8 if kind == "string" else 5, len(value)) + b"".join(items)
    return text(key) + {
        "u32": lambda: struct.pack("<II", 4, value),
        "f32": lambda: struct.pack("<If", 6, value),
        "string": lambda: struct.pack("<I", 8) + text(value),
    }[kind]()


def golden_gguf(golden):
    """A model of the family with one layer and a vocabulary of three tokens, in mixed storage types."""
    keys = dict(golden["keys"])
    for key in keys:
        if key.endswith(".block_count"):
            keys[key] = ["u32", 1]
    entries = [gguf_key("general.architecture", "string", golden["architecture"]),
               gguf_key("tokenizer.ggml.model", "string", "gpt2"), gguf_key("tokenizer.ggml.pre", "string", "smollm"),
               gguf_key("tokenizer.ggml.tokens", "string", ["a", "b", "c"]),
               gguf_key("tokenizer.ggml.token_type", "i32", [1, 1, 1]),
               gguf_key("tokenizer.ggml.merges", "string", [])]
    entries += [gguf_key(key, *value) for key, value in keys.items()]
    if golden["architecture"] == "bert":
        entries += [gguf_key("tokenizer.ggml.cls_token_id", "u32", 0), gguf_key("tokenizer.ggml.seperator_token_id", "u32", 1)]
    tensors, data = [], b""
    for rank, tensor in enumerate(golden["tensors"]):
        dims = tensor["shape"] if tensor["op"] == "transpose" else tensor["shape"][::-1]
        if tensor["op"] == "stack":
            dims = dims + [golden["config"].get("num_local_experts") or golden["config"]["num_experts"]]
        type_id, block = BLOCKS[rank % len(BLOCKS)] if len(dims) > 1 and dims[0] % 32 == 0 else (0, 128)
        size = -(-math.prod(dims) * block // 32)
        tensors.append(text(tensor["gguf"].replace("#", "0")) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, type_id,
                                                                           len(data)))
        data += FILLER * (-(-size // 32) * 32)
    header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(entries)) + b"".join(entries) + b"".join(tensors)
    return header + b"\0" * (-len(header) % 32) + data


def safetensors():
    """The tensors of the one-layer Llama whose config.json is in safetensors_fuzz.cc."""
    layer = "model.layers.0."
    shapes = {"model.embed_tokens.weight": [3, 32], "lm_head.weight": [3, 32], "model.norm.weight": [32],
              layer + "input_layernorm.weight": [32], layer + "post_attention_layernorm.weight": [32]}
    for name in ("self_attn.q_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"):
        shapes[layer + name + ".weight"] = [32, 32]
    for name in ("self_attn.k_proj", "self_attn.v_proj"):
        shapes[layer + name + ".weight"] = [16, 32]
    header, size = {"__metadata__": {"format": "pt"}}, 0
    for rank, (name, shape) in enumerate(shapes.items()):
        dtype, width = [("F32", 4), ("F16", 2), ("BF16", 2)][rank % 3]
        end = size + math.prod(shape) * width
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [size, end]}
        size = end
    words = json.dumps(header)
    words += " " * (-len(words) % 8)
    return struct.pack("<Q", len(words)) + words.encode() + FILLER * size


def main():
    folder = pathlib.Path(sys.argv[1])

    def write(fuzzer, name, content):
        target = folder / fuzzer
        target.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes(content if isinstance(content, bytes) else content.encode())

    write("gguf_fuzz", "tiny", (TINY / "prenorm-tiny.gguf").read_bytes())
    families = json.loads((GOLDEN / "families.json").read_text())
    for golden in families + json.loads((GOLDEN / "encoders.json").read_text())[:1]:
        if "_" not in golden["name"]:
            write("gguf_fuzz", golden["name"], golden_gguf(golden))
    write("safetensors_fuzz", "llama", safetensors())
    write("safetensors_fuzz", "tiny", (TINY / "hf" / "model.safetensors").read_bytes())
    write("template_fuzz", "turns", TEMPLATE)
    write("template_fuzz", "arguments", TEMPLATE + "\0" + '{"tools": [{"name": "f", "n": 1.5}], "b": null}')
    config = json.loads((TINY / "hf" / "tokenizer_config.json").read_text())
    write("template_fuzz", "tiny", config["chat_template"])
    write("tokenizer_json_fuzz", "tiny", (TINY / "hf" / "tokenizer.json").read_bytes())
    for kind in ("WordPiece", "Unigram", "BPE"):
        write("tokenizer_json_fuzz", kind, tokenizer_json(kind))
    write("tokenizer_model_fuzz", "unigram", sentencepiece(1))
    write("tokenizer_model_fuzz", "bpe", sentencepiece(2))
    write("text_fuzz", "mixed", "It's 12345 o'clock\n\n\t\u00e9\u4f60\u597d \U0001f642 <|im_end|> \u0301".encode() + b"\xff\xe4\xbd")
    write("targets_fuzz", "floats", bytes(range(256)) + (b"\x00\x00\x80\x3f" * 67) + b"\xff\xff\x7f\x7f" * 3)
    if len(sys.argv) > 2:
        stored = folder / "session_fuzz" / "tiny"
        stored.parent.mkdir(parents=True, exist_ok=True)
        stored.unlink(missing_ok=True)
        subprocess.run([sys.argv[2], "generate", TINY / "prenorm-tiny.gguf", "-p", "Once", "-n", "4", "-c", "64", "-q",
                        "--temp", "0", "--session", stored], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
