#!/usr/bin/env python3
"""Prenorm beside llama.cpp: the same file, the same threads, in turn.

  bench/peers/compare.py MODEL.gguf... --prenorm build/release/bin/prenorm --out results [--tests LIST] [--answers]

Each test is run A B B A (A Prenorm, B llama.cpp), a process each, as often as --blocks says. The ratio is that of the
medians of all runs, with a 95 % interval; A against A and B against B of each block are the control: differences within
its band are none. Tokenizing and sampling are not timed, as in llama-bench; --answers times whole processes instead, from
a prompt to its answer as text, after one that warms the page cache.

Writes results.json, results.md and results.svg. Results are added to those in results.json, a row for each model and test,
so that a comparison can be made piece by piece; --report only writes the table and the plot anew. Needs Python alone.
Without --llama-cpp the peer is that of bench/peers/build_llama_cpp.sh.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess

import measure
import report
import statistics_of_runs

TESTS = "pp16,pp128,pp512,tg128,tg128@d512,tg128@d2048"
PEER_BUILD = "from PyPI's llama-cpp-python, GGML_NATIVE, without AMX"


def first_line(path, otherwise="unknown"):
    try:
        return pathlib.Path(path).read_text().splitlines()[0]
    except OSError:
        return otherwise


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(": ", 1)[1]
    return platform.machine()


def load():
    return f"{os.getloadavg()[0]:.2f}"


def measure_row(ours, theirs, model, test, args):
    row = {"model": pathlib.Path(model).stem, "test": test, "blocks": []}
    for _ in range(args.blocks):
        block, probes = {}, []
        for key, program in (("a1", ours), ("b1", theirs), ("b2", theirs), ("a2", ours)):
            found = program.bench(model, test, args.runs)
            block[key] = found["samples"]
            if program is ours:
                probes.append(found["probe_gbs"])
                row.update(bytes=found["bytes"], target=found["target"])
        row["blocks"].append(block)
        row["probe_gbs"] = max(probes + [row.get("probe_gbs", 0)])
    return statistics_of_runs.summarize(row)


def measure_answers(ours, theirs, model, args):
    result = {"model": pathlib.Path(model).stem, "prompt": os.path.getsize(args.prompt), "tokens": args.answer_tokens}
    programs = (ours, theirs, theirs, ours) * args.blocks
    for program in (ours, theirs):
        measure.answer(program, model, args.prompt, args.answer_tokens)
    runs = [(p.name, measure.answer(p, model, args.prompt, args.answer_tokens)) for p in programs]
    for name in (ours.name, theirs.name):
        mine = [run for n, run in runs if n == name]
        result[name] = {key: statistics.median(run[key] for run in mine) for key in mine[0]}
    return result


def merge(rows, row, *keys):
    """In place of the row that has the same keys, else at the end."""
    for i, old in enumerate(rows):
        if all(old[k] == row[k] for k in keys):
            rows[i] = row
            return
    rows.append(row)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--prenorm", metavar="BINARY")
    parser.add_argument("--llama-cpp", metavar="FOLDER", help="of llama-bench and llama-completion")
    parser.add_argument("--out", required=True, metavar="NAME", help="of the results, without an ending")
    parser.add_argument("--tests", default=TESTS, metavar="LIST")
    parser.add_argument("--blocks", type=int, default=1, help="of A B B A a test")
    parser.add_argument("--runs", type=int, default=5, help="measured in each process")
    parser.add_argument("-t", "--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--answers", action="store_true", help="whole answers instead of the tests")
    parser.add_argument("--prompt", default="/usr/share/common-licenses/BSD", metavar="FILE", help="of --answers")
    parser.add_argument("--answer-tokens", type=int, default=64)
    parser.add_argument("--report", action="store_true")
    args = parser.parse_args()

    path = pathlib.Path(args.out + ".json")
    results = json.loads(path.read_text()) if path.exists() else {"schema": 1, "rows": [], "answers": []}
    if not args.report:
        if not args.models or not args.prenorm:
            parser.error("expected models and --prenorm")
        folder = args.llama_cpp or subprocess.run([pathlib.Path(__file__).with_name("build_llama_cpp.sh")],
                                                  stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        ours, theirs = measure.Prenorm(args.prenorm, args.threads), measure.LlamaCpp(folder, args.threads)
        results["versions"] = {p.name: p.version() for p in (ours, theirs)}
        results["peer_build"] = PEER_BUILD
        before = load()
        for model in args.models:
            for test in ["answers"] if args.answers else args.tests.split(","):
                if args.answers:
                    merge(results["answers"], measure_answers(ours, theirs, model, args), "model", "tokens")
                else:
                    merge(results["rows"], measure_row(ours, theirs, model, test, args), "model", "test")
                results["host"] = {"cpu": cpu_name(), "threads": args.threads, "kernel": platform.release(),
                                   "target": next((r["target"] for r in results["rows"]), "unknown"),
                                   "l3": first_line("/sys/devices/system/cpu/cpu0/cache/index3/size"),
                                   "load_before": before, "load_after": load()}
                path.write_text(json.dumps(results, indent=1) + "\n")  # What is done is not lost when the rest is stopped.
    table = report.markdown(results)
    path.with_suffix(".md").write_text(table)
    path.with_suffix(".svg").write_text(report.svg(results))
    print(table, end="")


if __name__ == "__main__":
    main()
