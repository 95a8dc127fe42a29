#!/usr/bin/env python3
"""Writes quantize_golden.inc: hashes of what the `gguf` package encodes pseudo-random rows to.

Needs gguf and numpy. Run from anywhere: python make_quantize.py
"""
import pathlib

import numpy as np
from gguf import GGMLQuantizationType as T
from gguf import quants

OUT = pathlib.Path(__file__).with_name("quantize_golden.inc")
TYPES = [T.Q8_0, T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.BF16, T.F16]
EXPONENTS = [0, -20, -4, 10, -60, -131, 40, 100]  # of the scale of each block in turn; -131 gives subnormal scales
BLOCKS = 64
MASK = (1 << 64) - 1


def row():
    """Blocks of fine values, of coarse ones (many ties), and of zeros; the test makes the same."""
    values, seed = [], 42
    for i in range(32 * BLOCKS):
        seed = (seed + 0x9E3779B97F4A7C15) & MASK
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        z ^= z >> 31
        block = i // 32
        if block % 16 == 15:
            values.append(0.0)
            continue
        whole = (z >> 40) - (1 << 23) if block % 2 == 0 else ((z >> 56) - 128) * (1 << 16)
        values.append(whole * 2.0 ** -23 * 2.0 ** EXPONENTS[block // 2 % 8])
    return np.array(values, dtype=np.float64).astype(np.float32)


def fnv1a(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = ((h ^ byte) * 0x100000001B3) & MASK
    return h


def main():
    x = row()
    text = ["// Written by make_quantize.py with gguf. Type, hash of the encoded row."]
    with np.errstate(all="ignore"):
        for qtype in TYPES:
            encoded = quants.quantize(x.reshape(1, -1), qtype)
            text.append(f"{{DType::k{qtype.name}, 0x{fnv1a(encoded.tobytes()):016x}}},")
    OUT.write_text("\n".join(text) + "\n")


main()
