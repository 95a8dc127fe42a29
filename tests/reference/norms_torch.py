"""The accuracy report of the norm layer with torch beside it, on the same rows, by the same ruler.

  python norms_torch.py --prenorm build/release/bin/prenorm [--cols-max 4096] [--json | --markdown]

`prenorm norms --accuracy --export-rows` measures ours and writes the rows; torch's functions then run on them.
Errors are against long double, in units of the last place of the output type (f32 or bf16). Without torch, ours alone
is shown.
--json prints the object of `prenorm norms --accuracy --json`, with a field "torch" {values, max_ulp, p999_ulp,
correctly_rounded, histogram, promise_used} in each result that torch has a function for.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = None

LONG = np.longdouble
MAX_F32 = LONG(np.finfo(np.float32).max)


def ulp(x, bits):
    """Unit of the last place at x; below the normal numbers that of the smallest one."""
    _, exponent = np.frexp(np.abs(x).astype(np.float64))
    return np.ldexp(LONG(1), np.maximum(exponent - 1, -126).astype(np.int32) - bits)


class Errors:
    """Errors of one operation and pair of types, over all rows."""

    def __init__(self, bits):
        self.bits, self.ulps, self.right, self.used = bits, [], 0, 0.0

    def add(self, actual, expected, bound):
        """Elements whose bound is NaN are not promised, and left out."""
        keep = np.isfinite(bound) & np.isfinite(expected)
        actual, expected, bound = actual[keep], expected[keep], bound[keep]
        if not len(actual):
            return
        unit = ulp(expected, self.bits)
        error = np.where(np.isfinite(actual), np.abs(actual.astype(LONG) - expected), LONG(1e30))
        rounding = 0.5 * unit if self.bits == 7 else LONG(0)
        nearest = np.rint(expected / unit) * unit if self.bits == 7 else expected.astype(np.float32).astype(LONG)
        self.ulps.append((error / unit).astype(np.float64))
        # As in prenorm: where long double cannot tell the side of the middle, both neighbours are right.
        right = (actual.astype(LONG) == nearest) | (error <= unit / 2 + LONG(2) ** -35 * bound)
        self.right += int(np.count_nonzero(right))
        self.used = max(self.used, float(np.max(np.maximum(error - rounding, 0) / bound)))

    def result(self, bins):
        ulps = np.concatenate(self.ulps)
        below = [float(np.count_nonzero(ulps < limit)) / len(ulps) for limit in bins]
        return {"values": len(ulps), "max_ulp": float(ulps.max()),
                "p999_ulp": float(np.quantile(ulps, 0.999, method="higher")),
                "correctly_rounded": self.right / len(ulps),
                "histogram": [b - a for a, b in zip([0.0] + below, below + [1.0])], "promise_used": self.used}


def normal(x):
    return (np.abs(x) >= LONG(2) ** -126) & (np.abs(x) <= MAX_F32)


def layer_norm(x, eps):
    mean = x.mean()
    stddev = np.sqrt(((x - mean) ** 2).mean() + eps)
    return (x - mean) / stddev if stddev * 1e6 >= abs(mean) and stddev > 0 else None


def layer_bound(unit, gain, bias):
    return LONG(2) ** -24 * (8 * np.abs(gain * unit) + 24 * np.abs(gain) + 2 * np.abs(bias))


def measure_norms(found, x, gain, bias, eps):
    """torch's norms of one row in one type; found(op, mode, gain type) gives the Errors."""
    cols = len(x)
    wide, dtype = x.to(torch.float64).numpy().astype(LONG), x.dtype
    affine = "f32" if dtype == torch.float32 else "bf16"

    def array(t):
        return t.detach().to(torch.float32).numpy().reshape(-1)

    def exact(t):
        return t.to(torch.float64).numpy().astype(LONG)

    with np.errstate(all="ignore"):
        unit = wide / np.sqrt((wide * wide).mean() + LONG(eps))
        for kind, weight, ulps in (("none", None, 3), (affine, gain.to(dtype), 3)):
            expected = unit if weight is None else unit * exact(weight)
            bound = np.where(normal(unit) & normal(expected), ulps * ulp(expected, 23), LONG(np.nan))
            found("rms_norm", "lanes", kind).add(array(F.rms_norm(x, (cols,), weight, eps)), expected, bound)
        unit = layer_norm(wide, LONG(eps))
        if unit is None:
            return

        def compare(op, mode, y, weight, shift, kind="f32"):
            g, b = exact(weight), exact(shift)
            found(op, mode, kind).add(array(y), g * unit + b, layer_bound(unit, g, b) + 0 * unit)

        typed = gain.to(dtype), bias.to(dtype)
        compare("layer_norm", "two passes", F.layer_norm(x, (cols,), *typed, eps), *typed, affine)
        channels = 2 if cols % 2 == 0 else cols
        spread = [part[:channels].repeat_interleave(cols // channels) for part in (gain, bias)]
        if cols > 1:
            compare("group_norm", "NCHW",
                    F.group_norm(x.view(1, channels, -1), 1, gain[:channels], bias[:channels], eps), *spread)
            one = gain[:1], bias[:1]
            compare("instance_norm", "NCHW", F.instance_norm(x.view(1, 1, -1), None, None, *one, True, 0.1, eps), *one)
            if eps > 0:  # torch refuses 0 here.
                compare("batch_norm_train", "[N, C]", F.batch_norm(x.view(-1, 1), None, None, *one, True, 0.1, eps),
                        *one)


def measure_softmax(found, x):
    wide = x.numpy().astype(LONG)
    total = np.exp(wide).sum()
    expected = np.exp(wide) / total
    bound = LONG(2) ** -24 * (6 + (wide.max() - wide)) * expected
    found("softmax", "in place", "none").add(torch.softmax(x, -1).numpy(), expected,
                                             np.where(normal(expected), bound, LONG(np.nan)))
    log = np.log(total).reshape(1)
    found("log_sum_exp", "rows", "none").add(torch.logsumexp(x, -1).numpy().reshape(1), log,
                                             np.maximum(LONG(2) ** -23 * np.abs(log), LONG(2) ** -22))


def measure(path, bins):
    """Errors of torch by (op, mode, in, gain, out); the histogram's bins end at `bins`."""
    values = np.fromfile(path, dtype="<f4")
    errors = {}

    def found_for(kind):
        bits = 23 if kind == "f32" else 7
        return lambda op, mode, gain: errors.setdefault((op, mode, kind, gain, kind), Errors(bits))

    for row in json.loads(pathlib.Path(str(path) + ".json").read_text())["rows"]:
        def part(offset, cols=row["cols"]):
            return torch.from_numpy(values[offset:offset + cols].copy())
        x = part(row["offset"])
        if row["kind"] == "softmax":
            measure_softmax(found_for("f32"), x)
            continue
        for eps in row["eps"]:
            eps = float(np.float32(eps))
            measure_norms(found_for("f32"), x, part(row["gain"]), part(row["bias"]), eps)
            measure_norms(found_for("bf16"), x.to(torch.bfloat16), part(row["gain"]), part(row["bias"]), eps)
    return {key: e.result(bins) for key, e in errors.items() if e.ulps}


def rows_of_target(report):
    return [row for row in report["results"] if row["target"] == report["host"]["target"]]


def types_of(row):
    return row["in"] + ("" if row["gain"] == "none" else " * " + row["gain"]) + " > " + row["out"]


def table(report):
    bins = [f"<={limit:g}" for limit in report["ulp_bins"]] + ["more"]
    peer = "torch " + torch.__version__ if torch else "no torch"
    lines = [f"{report['host']['target']} and {peer}: errors in units of the last place of the output; % of the values",
             f"{'operation':20} {'mode':15} {'types':16} {'':6}" + "".join(f"{name:>7}" for name in bins)
             + f" {'p99.9':>9} {'max':>9}"]

    def line(label, one):
        shares = "".join(f"{100 * share:7.2f}" for share in one["histogram"])
        lines.append(f"{label:60}{shares} {one['p999_ulp']:9.3g} {one['max_ulp']:9.3g}")

    for row in rows_of_target(report):
        line(f"{row['op']:20} {row['mode']:15} {types_of(row):16} ours", row)
        if "torch" in row:
            line(f"{'':53} torch", row["torch"])
    return "\n".join(lines)


def markdown(report):
    """What torch has a function for, one line each, for the README."""
    columns = "nearest | within 1 | within 3 | largest"
    lines = [f"| | types | {columns} | torch: {columns} |", "|---|---|" + "---:|" * 8]

    def cells(one):
        within = one["correctly_rounded"], sum(one["histogram"][:2]), sum(one["histogram"][:5])
        used = one["promise_used"]
        largest = f"{used:.2f}" if used < 10 else f"{used:.0f}" if used < 1e6 else "not finite"
        return "".join(f"{100 * share:.2f} % | " for share in within) + largest

    for row in rows_of_target(report):
        if "torch" in row and (row["op"] != "rms_norm" or row["gain"] != "none"):
            lines.append(f"| `{row['op']}` | {types_of(row)} | {cells(row)} | {cells(row['torch'])} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prenorm", required=True, help="the command")
    parser.add_argument("--cols-max", default="4096", help="longest rows")
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--markdown", action="store_true", help="print the table of the README")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rows.f32"
        command = [args.prenorm, "norms", "--accuracy", "--json", "--cols-max", args.cols_max, "--export-rows", path]
        run = subprocess.run(command, stdout=subprocess.PIPE, check=False)
        if not run.stdout:
            return run.returncode
        report = json.loads(run.stdout)
        if torch:
            torch.set_num_threads(1)
            theirs = measure(path, report["ulp_bins"])
            for row in report["results"]:
                key = (row["op"], row["mode"], row["in"], row["gain"], row["out"])
                if key in theirs:
                    row["torch"] = theirs[key]
            report["torch"] = torch.__version__
        else:
            print("torch is not installed: ours alone", file=sys.stderr)
    print(json.dumps(report) if args.json else markdown(report) if args.markdown else table(report))
    return run.returncode


if __name__ == "__main__":
    sys.exit(main())
