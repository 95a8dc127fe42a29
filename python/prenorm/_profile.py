"""Times of operators: as rows, as text, and as a picture in notebooks."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

# As in the pictures of `prenorm profile`: the palette of Okabe and Ito, normalization with its strongest colour.
_COLORS = {
    "norm": "#d55e00",
    "residual": "#e69f00",
    "matmul": "#0072b2",
    "attention": "#56b4e9",
    "pack": "#009e73",
    "activation": "#cc79a7",
    "rope": "#f0e442",
    "embedding": "#7f5539",
    "barrier": "#7d858e",
    "idle": "#aab1b8",
    "rest": "#c9ced4",
}


class Row(NamedTuple):
    """One kind of operator at one site, in one layer (-1: outside) or summed over them. `ns` is the mean of the
    threads; bytes and flops are what it must move and compute, all threads together."""

    kind: str
    site: str
    layer: int
    calls: int
    ns: float
    bytes: int
    flops: int


class Phase:
    """A prompt, or tokens decoded one by one: `wall_ns` for `tokens` of them; `layers` has the rows of each layer."""

    def __init__(self, tokens: int, wall_ns: float, rows: Sequence[tuple[Any, ...]]) -> None:
        self.tokens = tokens
        self.wall_ns = wall_ns
        self.layers = [Row(*row) for row in rows]

    @property
    def rows(self) -> list[Row]:
        """Summed over layers, the longest first."""
        sums: dict[tuple[str, str], list[Any]] = {}
        for row in self.layers:
            total = sums.setdefault((row.kind, row.site), [0, 0.0, 0, 0])
            for i, value in enumerate(row[3:]):
                total[i] += value
        return sorted((Row(kind, site, -1, *total) for (kind, site), total in sums.items()), key=lambda row: -row.ns)

    @property
    def kinds(self) -> dict[str, float]:
        """Share of the wall time by kind, the largest first; "rest" is what no operator accounts for."""
        shares: dict[str, float] = {}
        for row in self.layers:
            shares[row.kind] = shares.get(row.kind, 0.0) + row.ns / max(self.wall_ns, 1.0)
        shares = dict(sorted(shares.items(), key=lambda item: -item[1]))
        shares["rest"] = max(0.0, 1.0 - sum(shares.values()))
        return shares

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / max(self.wall_ns, 1.0) * 1e9


class Profile:
    """`phases` maps "prefill" and "decode" to a Phase; `norm_share` to normalization's share of its wall time."""

    def __init__(
        self,
        config: Mapping[str, Any],
        threads: int,
        phases: Mapping[str, tuple[int, float, Sequence[tuple[Any, ...]]]],
    ) -> None:
        self.config = dict(config)
        self.threads = threads
        self.phases = {name: Phase(*phase) for name, phase in phases.items()}

    @property
    def norm_share(self) -> dict[str, float]:
        return {name: phase.kinds.get("norm", 0.0) for name, phase in self.phases.items()}

    def __repr__(self) -> str:
        lines = [_title(self)]
        for name, phase in self.phases.items():
            lines.append(_summary(name, phase))
            lines.append(f"  {'kind':<11} {'site':<15} {'calls':>7} {'us/token':>10} {'share':>6} {'GB/s':>7}")
            for row in phase.rows:
                lines.append(
                    f"  {row.kind:<11} {row.site:<15} {row.calls:>7} {row.ns / phase.tokens / 1e3:>10.2f} "
                    f"{row.ns / phase.wall_ns:>6.1%} {_rate(row):>7}"
                )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        parts = [f"<div style='font-family:sans-serif;font-size:13px'><b>{html.escape(_title(self))}</b>"]
        for name, phase in self.phases.items():
            parts += [
                f"<p style='margin:10px 0 2px'>{html.escape(_summary(name, phase))}</p>",
                _bar(phase),
                _legend(phase),
                _table(phase),
            ]
        if "decode" in self.phases:
            parts += [
                "<p style='margin:10px 0 2px'>Norms of each layer, microseconds a token when decoding</p>",
                _norm_layers(self.phases["decode"]),
            ]
        return "".join(parts) + "</div>"


def _title(profile: Profile) -> str:
    config = profile.config
    return f"{config['name'] or config['architecture']} {config['quantization']}, {profile.threads} threads"


def _summary(name: str, phase: Phase) -> str:
    return (
        f"{name}: {phase.tokens} tokens in {phase.wall_ns / 1e6:.1f} ms, {phase.tokens_per_second:.0f} tokens/s, "
        f"normalization {phase.kinds.get('norm', 0.0):.1%}"
    )


def _rate(row: Row) -> str:
    return f"{row.bytes / row.ns:.1f}" if row.bytes and row.ns else ""


def _rect(x: float, y: float, width: float, height: float, color: str, hint: str) -> str:
    return (
        f"<rect x='{x:.1f}' y='{y:.1f}' width='{max(width, 0.0):.1f}' height='{height:.1f}' fill='{color}'>"
        f"<title>{html.escape(hint)}</title></rect>"
    )


def _bar(phase: Phase) -> str:
    x, width, parts = 0.0, 720.0, []
    scale = max(1.0, sum(phase.kinds.values()))
    for kind, share in phase.kinds.items():
        parts.append(_rect(x, 0, width * share / scale, 22, _COLORS[kind], f"{kind} {share:.1%}"))
        x += width * share / scale
    return f"<svg width='{width:.0f}' height='22' role='img'>{''.join(parts)}</svg>"


def _legend(phase: Phase) -> str:
    items = (
        f"<span style='margin-right:12px;white-space:nowrap'><span style='color:{_COLORS[kind]}'>&#9632;</span> "
        f"{kind} {share:.1%}</span> "
        for kind, share in phase.kinds.items()
    )
    return f"<div>{''.join(items)}</div>"


def _table(phase: Phase) -> str:
    head = "".join(f"<th>{name}</th>" for name in ("kind", "site", "calls", "us/token", "share", "GB/s", ""))
    lines = []
    for row in phase.rows:
        share = row.ns / phase.wall_ns
        bar = f"<svg width='160' height='12'>{_rect(0, 0, 160 * share, 12, _COLORS[row.kind], f'{share:.1%}')}</svg>"
        lines.append(
            f"<tr><td>{row.kind}</td><td>{row.site}</td><td>{row.calls}</td><td>{row.ns / phase.tokens / 1e3:.2f}"
            f"</td><td>{share:.1%}</td><td>{_rate(row)}</td><td>{bar}</td></tr>"
        )
    return f"<details><summary>operators</summary><table><tr>{head}</tr>{''.join(lines)}</table></details>"


def _norm_layers(phase: Phase) -> str:
    rows = [row for row in phase.layers if row.kind == "norm" and row.layer >= 0]
    if not rows:
        return ""
    sites = list(dict.fromkeys(row.site for row in rows))
    cell, left = max(8.0, min(24.0, 600.0 / (1 + max(row.layer for row in rows)))), 120.0
    most = max(row.ns for row in rows)
    parts = [
        f"<text x='0' y='{18 * i + 13}' font-size='12' fill='currentColor'>{html.escape(site)}</text>"
        for i, site in enumerate(sites)
    ]
    for row in rows:
        micros = row.ns / phase.tokens / 1e3
        height = 16 * row.ns / most
        parts.append(
            _rect(
                left + cell * row.layer,
                18 * sites.index(row.site) + 16 - height,
                cell - 1,
                height,
                _COLORS["norm"],
                f"layer {row.layer}, {row.site}: {micros:.2f} us a token",
            )
        )
    return f"<svg width='730' height='{18 * len(sites)}' role='img'>{''.join(parts)}</svg>"
