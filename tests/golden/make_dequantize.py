#!/usr/bin/env python3
"""Writes dequantize_golden.inc: what the `gguf` package makes of pseudo-random blocks of every type.

Needs gguf and numpy. Run from anywhere: python make_dequantize.py

Blocks come from a generator that the test repeats, so only a hash of each block's values is stored. Half-precision
scales are replaced by EXTREMES, so that subnormal, largest, zero and infinite scales all occur.
"""
import pathlib

import gguf
import numpy as np
from gguf import GGMLQuantizationType as T
from gguf import quants

OUT = pathlib.Path(__file__).with_name("dequantize_golden.inc")
BLOCKS = 16
EXTREMES = [0x2E66, 0xAE66, 0x0001, 0x83FF, 0x7BFF, 0x0000, 0x8000, 0x7C00]
EXPONENTS = [0, 1, 2, 3, 120, 127, 254, 255]
SCALES = {  # byte offsets of the half-precision fields
    T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q8_0: [0],
    T.Q2_K: [80, 82], T.Q3_K: [108], T.Q4_K: [0, 2], T.Q5_K: [0, 2], T.Q6_K: [208],
    T.IQ3_XXS: [0], T.IQ3_S: [0], T.IQ4_NL: [0], T.IQ4_XS: [0], T.MXFP4: [],
}
MASK = (1 << 64) - 1


def splitmix_bytes(seed, count):
    out = bytearray()
    while len(out) < count:
        seed = (seed + 0x9E3779B97F4A7C15) & MASK
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        out += (z ^ (z >> 31)).to_bytes(8, "little")
    return bytearray(out[:count])


def fnv1a(values):
    bits = values.astype(np.float32).view(np.uint32).copy()
    bits[np.isnan(values)] = 0x7FC00000
    h = 0xCBF29CE484222325
    for byte in bits.tobytes():
        h = ((h ^ byte) * 0x100000001B3) & MASK
    return h


def block(qtype, index, size):
    data = splitmix_bytes(int(qtype) * 1000 + index, size)
    for field, offset in enumerate(SCALES[qtype]):
        data[offset:offset + 2] = EXTREMES[(index + 3 * field) % 8].to_bytes(2, "little")
    if qtype == T.MXFP4:
        data[0] = EXPONENTS[index % 8]
    return data


def main():
    text = ["// Written by make_dequantize.py with gguf. Type, hash of the values of each block."]
    with np.errstate(all="ignore"):
        for qtype in SCALES:
            size = gguf.GGML_QUANT_SIZES[qtype][1]
            hashes = []
            for index in range(BLOCKS):
                raw = np.frombuffer(bytes(block(qtype, index, size)), dtype=np.uint8).reshape(1, size)
                hashes.append(f"0x{fnv1a(quants.dequantize(raw, qtype).ravel()):016x}")
            lines = [", ".join(hashes[i:i + 4]) for i in range(0, BLOCKS, 4)]
            text.append(f"{{DType::k{qtype.name},\n {{" + ",\n  ".join(lines) + "}},")
        every = np.arange(65536, dtype=np.uint16)
        for qtype in (T.F16, T.BF16):
            values = quants.dequantize(every.view(np.uint8).reshape(1, -1), qtype).ravel()
            text.append(f"{{DType::k{qtype.name}, {{0x{fnv1a(values):016x}}}}},  // all 65536 patterns")
    OUT.write_text("\n".join(text) + "\n")


main()
