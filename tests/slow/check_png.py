#!/usr/bin/env python3
"""Checks that a screenshot is no blank page and has the ground of its colour scheme: check_png.py FILE light|dark."""
import collections
import struct
import sys
import zlib


def read_png(path):
    """Width, height and rows of (r, g, b) of an 8-bit PNG without interlacing."""
    data = open(path, "rb").read()
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError("no PNG")
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, color, _, _, interlace = struct.unpack(">IIBBBBB", body)
        elif kind == b"IDAT":
            packed += body
        at += 12 + length
    if depth != 8 or color not in (2, 6) or interlace:
        raise ValueError("expected 8-bit RGB or RGBA without interlacing")
    channels = 3 if color == 2 else 4
    raw, stride, previous, rows = zlib.decompress(packed), width * channels, bytearray(width * channels), []
    for y in range(height):
        kind = raw[y * (stride + 1)]
        line = bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride):
            left = line[i - channels] if i >= channels else 0
            up = previous[i]
            corner = previous[i - channels] if i >= channels else 0
            if kind == 1:
                add = left
            elif kind == 2:
                add = up
            elif kind == 3:
                add = (left + up) // 2
            elif kind == 4:
                p = left + up - corner
                by = (abs(p - left), abs(p - up), abs(p - corner))
                add = (left, up, corner)[by.index(min(by))]
            else:
                add = 0
            line[i] = (line[i] + add) & 255
        rows.append([tuple(line[x * channels:x * channels + 3]) for x in range(width)])
        previous = line
    return width, height, rows


def main():
    path, scheme = sys.argv[1:]
    width, height, rows = read_png(path)
    colors = collections.Counter(pixel for row in rows for pixel in row)
    ground, count = colors.most_common(1)[0]
    share = count / (width * height)
    frequent = sum(1 for n in colors.values() if n >= 20)
    print(f"{path}: {width} x {height}, ground {ground} on {share:.0%}, {frequent} colours")
    if width != 800:
        sys.exit("expected a width of 800 pixels")
    if frequent < 12 or share > 0.97:
        sys.exit("the picture is blank, or nearly")
    if (sum(ground) > 384) != (scheme == "light"):
        sys.exit(f"the ground is not {scheme}")


main()
