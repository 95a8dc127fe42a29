"""The results as a Markdown table and as an SVG plot of the ratios."""

from xml.sax.saxutils import escape


def markdown(results):
    host = results["host"]
    lines = [f"{host['cpu']}, {host['threads']} threads, target {host['target']}, L3 {host['l3']}, Linux {host['kernel']}; "
             f"{results['versions']['Prenorm']} and {results['versions']['llama.cpp']} ({results['peer_build']}). "
             f"Load before and after: {host['load_before']}, {host['load_after']}.", "",
             "| model | test | Prenorm t/s | llama.cpp t/s | ratio (95 %) | control | GB/s | of the probe |",
             "|---|---|---:|---:|---:|---:|---:|---:|"]
    for r in results["rows"]:
        gbs = f"{r['gbs']:.1f} | {100 * r['probe_share']:.0f} %" if "gbs" in r else "|"
        lines.append(f"| {r['model']} | {r['test']} | {r['ours_ts']:.1f} | {r['theirs_ts']:.1f} | "
                     f"{r['ratio']:.2f} ({r['ratio_low']:.2f}–{r['ratio_high']:.2f}) | {r['control_band']:.2f} | {gbs} |")
    if results["answers"]:
        lines += ["", "| model | prompt, answer | | first token | whole | peak memory |", "|---|---|---|---:|---:|---:|"]
        for a in results["answers"]:
            for name in ("Prenorm", "llama.cpp"):
                m = a[name]
                lines.append(f"| {a['model']} | {a['prompt']} bytes, {a['tokens']} tokens | {name} | {m['first_s']:.2f} s | "
                             f"{m['total_s']:.2f} s | {m['peak_bytes'] / 2**20:.0f} MiB |")
    return "\n".join(lines) + "\n"


def svg(results):
    """A bar a row: the ratio, its interval as a whisker, the control's band around 1 in grey."""
    rows, left, width, step = results["rows"], 250, 420, 24
    most = max([r["ratio_high"] for r in rows] + [2.0]) * 1.05
    height = step * len(rows) + 46

    def x(value):
        return left + width * value / most

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 60} {height}" '
             'font-family="sans-serif" font-size="12">',
             '<style>text{fill:#222}.bar{fill:#3465a4}.behind{fill:#cc0000}.band{fill:#bbb}.line{stroke:#222}'
             '@media(prefers-color-scheme:dark){text{fill:#ddd}.line{stroke:#ddd}.band{fill:#555}}</style>',
             f'<text x="{left}" y="14">tokens a second, Prenorm / llama.cpp</text>']
    for i, r in enumerate(rows):
        y = 24 + step * i
        band = r["control_band"]
        parts += [f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{escape(r["model"])}, {escape(r["test"])}</text>',
                  f'<rect class="band" x="{x(1 / band):.1f}" y="{y}" width="{x(band) - x(1 / band):.1f}" height="{step - 2}"/>',
                  f'<rect class="{"behind" if r["verdict"] == "behind" else "bar"}" x="{left}" y="{y + 4}" '
                  f'width="{x(r["ratio"]) - left:.1f}" height="{step - 10}"/>',
                  f'<line class="line" x1="{x(r["ratio_low"]):.1f}" x2="{x(r["ratio_high"]):.1f}" y1="{y + 11}" y2="{y + 11}"/>',
                  f'<text x="{x(r["ratio_high"]) + 6:.1f}" y="{y + 15}">{r["ratio"]:.2f}</text>']
    parts += [f'<line class="line" x1="{x(1):.1f}" x2="{x(1):.1f}" y1="20" y2="{height - 18}"/>',
              f'<text x="{x(1):.1f}" y="{height - 4}" text-anchor="middle">1</text>', "</svg>"]
    return "\n".join(parts) + "\n"
