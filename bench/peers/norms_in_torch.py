#!/usr/bin/env python3
"""Prenorm's norms inside a PyTorch process: the C interface loaded by ctypes, on torch's own buffers, calls in turn.

    norms_in_torch.py --library libprenorm_norm_c.so [--threads N] [--rounds N] [--json]

This is what a Python program gets, the cost of a call from Python on both sides included. Results are compared before
anything is timed. The ratio is torch's time over Prenorm's, the median over rounds that each run A B B A.
"""
import argparse
import ctypes
import json
import statistics
import sys
import time

import torch

F32 = 0


class RmsOptions(ctypes.Structure):
    _fields_ = [("eps", ctypes.c_float), ("eps_outside_root", ctypes.c_int), ("one_plus_gain", ctypes.c_int),
                ("round_before_gain", ctypes.c_int), ("exact_sums", ctypes.c_int)]


class LayerOptions(ctypes.Structure):
    _fields_ = [("eps", ctypes.c_float), ("single_pass", ctypes.c_int)]


class Case:
    def __init__(self, library, op, rows, cols, threads):
        self.op, self.rows, self.cols = op, rows, cols
        self.x = torch.randn(rows, cols)
        self.gain = 1 + torch.randn(cols) / 8
        self.bias = torch.zeros(cols)
        self.out = torch.empty(rows, cols)
        size, pointer = ctypes.c_size_t, ctypes.c_void_p
        x, out = pointer(self.x.data_ptr()), pointer(self.out.data_ptr())
        gain, bias = pointer(self.gain.data_ptr()), pointer(self.bias.data_ptr())
        rest = (F32, out, size(cols), size(rows), size(cols))
        end = (size(threads), None, size(0))
        if op == "rms_norm":
            options = RmsOptions(eps=1e-5)
            arguments = (F32, x, size(cols), F32, gain, *rest, ctypes.byref(options), *end)
            call = library.prenorm_rms_norm
            self.torch = lambda: torch.rms_norm(self.x, (cols,), self.gain, 1e-5)
        else:
            options = LayerOptions(eps=1e-5)
            arguments = (F32, x, size(cols), F32, gain, bias, *rest, ctypes.byref(options), *end)
            call = library.prenorm_layer_norm
            self.torch = lambda: torch.layer_norm(self.x, (cols,), self.gain, self.bias, 1e-5)
        self.ours = lambda: call(*arguments)

    def check(self):
        if self.ours() != 0:
            sys.exit(f"{self.op} {self.rows} x {self.cols}: the library refuses the call")
        torch.testing.assert_close(self.out, self.torch(), rtol=1e-4, atol=1e-5)

    def measure(self, rounds):
        times = {}
        for run in (self.ours, self.torch):
            begin = time.perf_counter()
            run()
            times[run] = max(1, min(10000, int(2e-3 / (time.perf_counter() - begin))))
        pairs = []
        for _ in range(rounds):
            ours = [0.0, 0.0]
            for run, side in ((self.ours, 0), (self.torch, 1), (self.torch, 1), (self.ours, 0)):
                begin = time.perf_counter_ns()
                for _ in range(times[run]):
                    run()
                ours[side] += (time.perf_counter_ns() - begin) / times[run] / 2
            pairs.append(ours)
        return {"op": self.op, "rows": self.rows, "cols": self.cols,
                "ns": statistics.median(p[0] for p in pairs), "torch_ns": statistics.median(p[1] for p in pairs),
                "ratio": statistics.median(p[1] / p[0] for p in pairs)}


def layer_norm_errors(library, threads):
    """Largest error of LayerNorm, in units of 2^-24, by mean over standard deviation: Prenorm, torch."""
    errors = {}
    for kappa in (1, 1e2, 1e4, 1e6):
        case = Case(library, "layer_norm", 16, 4096, threads)
        case.x.add_(kappa)
        wide = case.x.double()
        mean = wide.mean(-1, keepdim=True)
        variance = ((wide - mean) ** 2).mean(-1, keepdim=True)
        expected = (wide - mean) / (variance + float(torch.tensor(1e-5))).sqrt() * case.gain.double()
        case.ours()
        errors[kappa] = [float((result.double() - expected).abs().max()) * 2**24 for result in (case.out, case.torch())]
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, help="shared object with the functions of prenorm/norm_c.h")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    library = ctypes.CDLL(options.library)
    library.prenorm_norm_target.restype = ctypes.c_char_p
    target = library.prenorm_norm_target().decode()
    results = []
    with torch.inference_mode():
        for op, rows, cols in (("rms_norm", 1, 4096), ("rms_norm", 32, 128), ("rms_norm", 512, 4096),
                               ("layer_norm", 1, 4096), ("layer_norm", 512, 768), ("layer_norm", 512, 1024),
                               ("layer_norm", 512, 4096)):
            case = Case(library, op, rows, cols, options.threads)
            case.check()
            results.append(case.measure(options.rounds))
        errors = layer_norm_errors(library, options.threads)
    if options.json:
        print(json.dumps({"torch": torch.__version__, "target": target, "threads": options.threads, "results": results,
                          "layer_norm_errors": [{"kappa": k, "prenorm": e[0], "torch": e[1]} for k, e in errors.items()]}))
        return
    print(f"torch {torch.__version__}, target {target}, threads {options.threads}")
    for r in results:
        print(f"{r['op']:<11} {r['rows']:>4} x {r['cols']:<5} {r['ns'] / 1e3:9.2f} us, torch {r['torch_ns'] / 1e3:9.2f} us:"
              f" {r['ratio']:6.2f} times")
    print("LayerNorm, largest error in units of 2^-24:")
    for kappa, (ours, theirs) in errors.items():
        print(f"  mean / deviation {kappa:>9.0f}: Prenorm {ours:8.2f}, torch {theirs:12.2f}, ratio {theirs / ours:8.1f}")


if __name__ == "__main__":
    main()
