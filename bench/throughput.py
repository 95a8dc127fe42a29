#!/usr/bin/env python3
"""Tokens a second of many answers, or many texts to embed, at once on this machine: the figures of docs/scale.md.

    bench/throughput.py MODEL --sessions 1,2 --prompt 128 --new 200
    bench/throughput.py MODEL --embed 512 --sessions 1,2

Needs the Python package. Each session is a thread with --threads threads of the engine; with --embed a process-wide
number of threads takes their place. Every count runs --rounds times, in turns; medians are printed."""

import argparse
import statistics
import threading
import time

import prenorm

TEXT = "The history of the printing press begins in the workshops of the fifteenth century. "


def answers(model, count, arguments):
    """(tokens a second while answering, tokens out a second of the whole job), all sessions together."""
    ids = model.encode(TEXT * (arguments.prompt // 10 + 1))[: arguments.prompt]
    sessions = [
        model.session(threads=arguments.threads, context=arguments.prompt + arguments.new + 1) for _ in range(count)
    ]
    results = [None] * count

    def run(i):
        results[i] = sessions[i].generate(ids, max_new_tokens=arguments.new, ignore_end_tokens=True).read()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wall = time.monotonic() - begin
    return sum(result.tokens_per_second for result in results), count * arguments.new / wall


def vectors(model, count, arguments):
    """(tokens a second, texts a second) with `count` threads."""
    words = (TEXT * (arguments.length // 10 + 1)).split()
    text = " ".join(words[: arguments.length])
    while len(model.encode(text)) > arguments.length:
        text = text.rsplit(" ", 1)[0]
    tokens = len(model.encode(text))
    model.embed([text] * 8, threads=count)
    begin = time.monotonic()
    model.embed([text] * arguments.embed, threads=count)
    wall = time.monotonic() - begin
    return arguments.embed * tokens / wall, arguments.embed / wall


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--sessions", default="1,2", help="counts, separated by commas")
    parser.add_argument("--threads", type=int, default=1, help="of a session")
    parser.add_argument("--prompt", type=int, default=128, help="tokens of the prompt")
    parser.add_argument("--new", type=int, default=200, help="tokens of the answer")
    parser.add_argument("--embed", type=int, default=0, help="embed that many texts instead")
    parser.add_argument("--length", type=int, default=117, help="tokens of a text to embed")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    model = prenorm.Model.from_pretrained(arguments.model)
    counts = [int(count) for count in arguments.sessions.split(",")]
    measure = vectors if arguments.embed else answers
    runs = {count: [] for count in counts}
    for round_ in range(arguments.rounds):
        for count in counts if round_ % 2 == 0 else reversed(counts):
            runs[count].append(measure(model, count, arguments))
    names = ("tokens/s", "texts/s") if arguments.embed else ("answering tokens/s", "whole job tokens/s")
    print(f"{prenorm.target()}, prenorm {prenorm.__version__}, {model.config['quantization']}")
    for count, values in runs.items():
        medians = [statistics.median(column) for column in zip(*values)]
        print(f"{count}: " + ", ".join(f"{name} {median:.1f}" for name, median in zip(names, medians)))


if __name__ == "__main__":
    main()
