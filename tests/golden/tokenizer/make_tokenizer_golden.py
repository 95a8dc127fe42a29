#!/usr/bin/env python3
"""Writes <kind>.json: a small tokenizer of each kind and the ids that Hugging Face tokenizers gives generated texts.

Usage: make_tokenizer_golden.py [--cases N] [OUT_FOLDER]   (needs the package tokenizers; seen with 0.23)

Texts mix scripts, marks, digits, white space and contractions at random (fixed seed). Their code points were assigned in
Unicode 3.2 and have kept their category since, so that no library's Unicode version matters.
"""
import argparse
import json
import os
import random
import unicodedata

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + SPACES
MAX_TOKENS = 16  # of an encoder's text
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
GPT4O = (rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{CONTRACTIONS}?|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{CONTRACTIONS}?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + SPACES)


def assigned():
    old = unicodedata.ucd_3_2_0
    groups = {}
    for code in range(1, 0x30000):
        char = chr(code)
        category = old.category(char)
        if category in ("Cn", "Cs", "Co") or category != unicodedata.category(char):
            continue
        groups.setdefault(category, []).append(char)
    return groups


def make_text(rng, groups):
    words = ["the", "The", "MILL", "it's", "I'LL", "we'Ve", "don't", "naïve", "Straße", "мельница", "水車", "가나다", "e\u0301",
             "12", "2024", "3.14", "x=y;", "...", "--", "👩\u200d🚀", "\u0915\u094d\u0937"]
    spaces = [" ", " ", " ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", "\u00a0", "\u3000", "\u2028", " \n "]
    parts = []
    for _ in range(rng.randint(1, 12)):
        kind = rng.random()
        if kind < 0.45:
            parts.append(rng.choice(words))
        elif kind < 0.75:
            category = rng.choice(sorted(groups))
            parts.append("".join(rng.choice(groups[category]) for _ in range(rng.randint(1, 3))))
        else:
            parts.append("".join(chr(rng.randint(33, 126)) for _ in range(rng.randint(1, 5))))
        if rng.random() < 0.7:
            parts.append(rng.choice(spaces))
    return "".join(parts)


def byte_level(pattern, corpus, normalizer=None, ignore_merges=False):
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=420, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  special_tokens=["<|end|>"], show_progress=False)
    tokenizer.train_from_iterator(corpus, trainer)
    return tokenizer


def characters_with_byte_fallback(corpus):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    trainer = trainers.BpeTrainer(vocab_size=620, limit_alphabet=120, show_progress=False,
                                  special_tokens=["<unk>", "<s>"] + [f"<0x{byte:02X}>" for byte in range(256)])
    tokenizer.train_from_iterator(corpus, trainer)
    text = json.loads(tokenizer.to_str())
    text["added_tokens"] = text["added_tokens"][:2]  # byte tokens are plain entries of the vocabulary
    text["decoder"] = {"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}
    return Tokenizer.from_str(json.dumps(text))


def word_piece(corpus):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(cleanup=False)
    trainer = trainers.WordPieceTrainer(vocab_size=500, limit_alphabet=200, special_tokens=["[UNK]"], show_progress=False)
    tokenizer.train_from_iterator(corpus, trainer)
    return tokenizer


def whole_texts(tokenizer):
    """The same with [CLS] and [SEP] around a text, cut to MAX_TOKENS, as an encoder takes it."""
    tokenizer = Tokenizer.from_str(tokenizer.to_str())
    tokenizer.add_special_tokens(["[CLS]", "[SEP]"])
    ends = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


def unigram(corpus):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=400, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False)
    tokenizer.train_from_iterator(corpus, trainer)
    return tokenizer


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("out", nargs="?", default=os.path.dirname(os.path.abspath(__file__)))
    args = parser.parse_args()
    rng = random.Random(20)
    groups = assigned()
    common = {k: v for k, v in groups.items() if k in ("Ll", "Lu", "Nd")}
    corpus = [make_text(rng, common) for _ in range(400)]
    texts = [make_text(rng, groups) for _ in range(args.cases)]
    kinds = {
        "byte_level_nfc": byte_level(QWEN, corpus, normalizers.NFC()),
        "byte_level_whole": byte_level(GPT4O, corpus, ignore_merges=True),
        "byte_fallback": characters_with_byte_fallback(corpus),
        "word_piece": word_piece(corpus),
        "unigram": unigram([text.encode("ascii", "ignore").decode() for text in corpus]),
    }
    kinds["word_piece_ends"] = whole_texts(kinds["word_piece"])
    for name, tokenizer in kinds.items():
        ends = name.endswith("_ends")
        own = ["", " ", "a" * 100, "a" * 101, "e\u0301" * 60, "é" * 100 + "é the"] if ends else []
        cases = [{"text": text, "ids": tokenizer.encode(text, add_special_tokens=ends).ids} for text in own + texts]
        golden = {"tokenizer": json.loads(tokenizer.to_str()), "cases": cases}
        if ends:
            golden["max_tokens"] = MAX_TOKENS
        with open(os.path.join(args.out, name + ".json"), "w", encoding="utf-8") as file:
            json.dump(golden, file, ensure_ascii=False, separators=(",", ":"))
            file.write("\n")


if __name__ == "__main__":
    main()
