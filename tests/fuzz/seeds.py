"""Writes a small valid file of each format that the fuzzers take:  seeds.py FOLDER [PRENORM]

PRENORM, the built command, adds a stored session. Only the standard library is needed.
"""

import json
import pathlib
import struct
import subprocess
import sys

TINY = pathlib.Path(__file__).resolve().parents[2] / "models" / "tiny"

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


def main():
    folder = pathlib.Path(sys.argv[1])

    def write(fuzzer, name, content):
        target = folder / fuzzer
        target.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes(content if isinstance(content, bytes) else content.encode())

    write("gguf_fuzz", "tiny", (TINY / "prenorm-tiny.gguf").read_bytes())
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
