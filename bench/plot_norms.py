#!/usr/bin/env python3
"""Draws what `prenorm norms --bench --grid full --json` measured, as an SVG: no packages needed.

    prenorm norms --bench --grid full --json > norms.json
    plot_norms.py norms.json norms.svg

Left, ns per row over the width of the row, one row at a time and hot, Prenorm beside its peers. Right, the share of the
speed of a copy with the same bytes, by number of rows. Colours are of Okabe and Ito's palette, each line has a marker of
its own as well, and the sheet follows the reader's light or dark scheme.
"""
import argparse
import json
import math
from xml.sax.saxutils import escape

COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"]
WIDTH, HEIGHT, MARGIN_LEFT, MARGIN_TOP, PANEL_W, PANEL_H = 960, 440, 70, 64, 360, 290
STYLE = """text{font:13px sans-serif;fill:#222}.axis{stroke:#555;fill:none}.grid{stroke:#ccc}.sheet{fill:#fff}
@media(prefers-color-scheme:dark){text{fill:#ddd}.axis{stroke:#aaa}.grid{stroke:#444}.sheet{fill:#161616}}"""


def marker(kind, x, y, color):
    shapes = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"', f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"',
              f'<path d="M{x:.1f} {y - 5:.1f}l5 9h-10z"', f'<path d="M{x:.1f} {y - 5:.1f}l5 5-5 5-5-5z"',
              f'<path d="M{x - 4:.1f} {y - 4:.1f}l8 8m0-8l-8 8" stroke="{color}" stroke-width="2"']
    return f'{shapes[kind % 5]} fill="{color}"/>'


class Panel:
    def __init__(self, left, title, xs, low, high, log, y_label):
        self.left, self.xs, self.low, self.high, self.log = left, xs, low, high, log
        self.parts = [f'<text x="{left}" y="{MARGIN_TOP - 14}" font-weight="bold">{escape(title)}</text>']
        for value in self.ticks():
            y = self.y(value)
            self.parts.append(f'<path class="grid" d="M{left} {y:.1f}h{PANEL_W}"/>')
            self.parts.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
        bottom = MARGIN_TOP + PANEL_H
        drawn = -100.0
        for x in xs:
            if self.x(x) - drawn < 40:
                continue  # The labels would touch.
            drawn = self.x(x)
            self.parts.append(f'<text x="{self.x(x):.1f}" y="{bottom + 18}" text-anchor="middle">{x}</text>')
        self.parts.append(f'<path class="axis" d="M{left} {MARGIN_TOP}v{PANEL_H}h{PANEL_W}"/>')
        self.parts.append(f'<text x="{left + PANEL_W / 2}" y="{bottom + 38}" text-anchor="middle">elements of a row</text>')
        self.parts.append(f'<text transform="translate({left - 52} {MARGIN_TOP + PANEL_H / 2})rotate(-90)" '
                          f'text-anchor="middle">{escape(y_label)}</text>')

    def ticks(self):
        if not self.log:
            return [self.high * i / 5 for i in range(6)]
        return [10.0**e for e in range(round(math.log10(self.low)), round(math.log10(self.high)) + 1)]

    def x(self, value):
        first, last = math.log(self.xs[0]), math.log(self.xs[-1])
        return self.left + 16 + (PANEL_W - 32) * (math.log(value) - first) / max(last - first, 1e-9)

    def y(self, value):
        share = ((math.log(value / self.low) / math.log(self.high / self.low)) if self.log
                 else (value - self.low) / (self.high - self.low))
        return MARGIN_TOP + PANEL_H * (1 - share)

    def line(self, index, name, points):
        color = COLORS[index % len(COLORS)]
        path = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        self.parts += [marker(index, self.x(x), self.y(y), color) for x, y in points]
        legend = MARGIN_TOP + 14 + 19 * index
        self.parts.append(marker(index, self.left + 20, legend - 4, color))
        self.parts.append(f'<text x="{self.left + 32}" y="{legend}">{escape(name)}</text>')


def series(rows, key, value):
    lines = {}
    for row in rows:
        for name, number in value(row):
            lines.setdefault(key(row, name), []).append((row["cols"], number))
    return lines


def draw(report):
    rows = [r for r in report["results"] if r["op"] == "rms_norm" and r["dtype"] == "f32" and r["threads"] == 1
            and r["cache"] == "hot"]
    if not rows:
        raise SystemExit("no hot rms_norm cases of f32 on one thread: measure with --grid full")
    xs = sorted({r["cols"] for r in rows})
    single = [r for r in rows if r["rows"] == 1]
    times = series(single, lambda r, name: name, lambda r: [("Prenorm", r["ns"]), *sorted(r["peers"].items())])
    values = [y for points in times.values() for _, y in points]
    low, high = 10.0**math.floor(math.log10(min(values))), 10.0**math.ceil(math.log10(max(values)))
    left = Panel(MARGIN_LEFT, "RMSNorm, one hot row, one thread", xs, low, high, True, "ns per row")
    for index, (name, points) in enumerate(times.items()):
        left.line(index, name, sorted(points))
    shares = series(rows, lambda r, name: f"{r['rows']} row" + ("s" if r["rows"] > 1 else ""),
                    lambda r: [("", r["copy_ns"] / r["ns"])])
    top = max(1.0, math.ceil(5 * max(y for points in shares.values() for _, y in points)) / 5)
    right = Panel(MARGIN_LEFT + PANEL_W + 110, "Share of the speed of a copy", xs, 0.0, top, False, "copy time / norm time")
    for index, (name, points) in enumerate(shares.items()):
        right.line(index, name, sorted(points))
    host = report["host"]
    caption = f'{host["cpu"]}, target {host["target"]}; ' + ", ".join(report.get("peers", {}).values())
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"><style>{STYLE}</style>'
            f'<rect class="sheet" width="{WIDTH}" height="{HEIGHT}"/><text x="{MARGIN_LEFT}" y="24">{escape(caption)}</text>'
            + "".join(left.parts + right.parts) + "</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", help="JSON of prenorm norms --bench")
    parser.add_argument("svg", help="file to write")
    options = parser.parse_args()
    with open(options.report, encoding="utf-8") as file:
        svg = draw(json.load(file))
    with open(options.svg, "w", encoding="utf-8") as file:
        file.write(svg)


if __name__ == "__main__":
    main()
