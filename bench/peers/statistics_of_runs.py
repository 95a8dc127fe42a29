"""Ratios of interleaved runs: medians, bootstrap intervals, and the band within which a program differs from itself."""

import random
import statistics


def ratio_interval(ours, theirs, draws=2000):
    """(ratio of medians, lower, upper): the 95 % interval of resampled runs."""
    generator = random.Random(1)
    ratios = sorted(statistics.median(generator.choices(ours, k=len(ours))) /
                    statistics.median(generator.choices(theirs, k=len(theirs))) for _ in range(draws))
    return statistics.median(ours) / statistics.median(theirs), ratios[draws // 40], ratios[-1 - draws // 40]


def control_band(blocks):
    """Largest ratio, 1 or more, between two processes of one program: those of each A B B A block."""
    band = 1.0
    for block in blocks:
        for first, second in ((block["a1"], block["a2"]), (block["b1"], block["b2"])):
            ratio = statistics.median(first) / statistics.median(second)
            band = max(band, ratio, 1 / ratio)
    return band


def verdict(ratio, band):
    """A difference counts only outside the band of the control."""
    return "ahead" if ratio > band else "behind" if ratio < 1 / band else "even"


def summarize(row):
    """Adds what follows from the samples of a row's blocks."""
    ours = [s for b in row["blocks"] for s in b["a1"] + b["a2"]]
    theirs = [s for b in row["blocks"] for s in b["b1"] + b["b2"]]
    ratio, low, high = ratio_interval(ours, theirs)
    band = control_band(row["blocks"])
    median = statistics.median(ours)
    row.update(ours_ts=median, theirs_ts=statistics.median(theirs), ratio=ratio, ratio_low=low, ratio_high=high,
               control_band=band, verdict=verdict(ratio, band))
    if row.get("bytes"):
        row["gbs"] = row["bytes"] * median / 1e9
        row["probe_share"] = row["gbs"] / row["probe_gbs"]
        row["theirs_gbs"] = row["bytes"] * row["theirs_ts"] / 1e9
    return row
