"""Runs of both programs: tokens a second of a test, and whole answers with first token and peak memory."""

import json
import os
import re
import subprocess
import time


class Prenorm:
    name = "Prenorm"

    def __init__(self, binary, threads):
        self.binary, self.threads = binary, threads

    def version(self):
        return subprocess.run([self.binary, "--version"], capture_output=True, text=True, check=True).stdout.strip()

    def bench(self, model, test, runs):
        """Tokens a second of each run, and GB/s and probe of the whole."""
        out = subprocess.run([self.binary, "bench", model, "-t", str(self.threads), "--tests", test, "--runs", str(runs),
                              "--json"], capture_output=True, text=True, check=True).stdout
        found = json.loads(out)
        row = found["results"][0]
        return {"samples": row["samples_ts"], "bytes": row.get("bytes"), "probe_gbs": row["probe_gbs"],
                "target": found["host"]["target"]}

    def answer_command(self, model, prompt_file, tokens):
        return [self.binary, "generate", model, "-f", prompt_file, "-n", str(tokens), "--temp", "0", "-q",
                "--ignore-end-tokens", "-t", str(self.threads)]


class LlamaCpp:
    name = "llama.cpp"

    def __init__(self, folder, threads):
        self.folder, self.threads = folder, threads

    def version(self):
        out = subprocess.run([f"{self.folder}/llama-bench", "--version"], capture_output=True, text=True, check=True)
        return (out.stdout + out.stderr).strip().splitlines()[0]

    def bench(self, model, test, runs):
        kind, tokens, depth = re.fullmatch(r"(pp|tg)(\d+)(?:@d(\d+))?", test).groups()
        prompt, new = (tokens, "0") if kind == "pp" else ("0", tokens)
        out = subprocess.run([f"{self.folder}/llama-bench", "-m", model, "-t", str(self.threads), "-p", prompt, "-n", new,
                              "-d", depth or "0", "-r", str(runs), "-o", "json"],
                             capture_output=True, text=True, check=True).stdout
        return {"samples": json.loads(out)[0]["samples_ts"]}

    def answer_command(self, model, prompt_file, tokens):
        return [f"{self.folder}/llama-completion", "-m", model, "-f", prompt_file, "-n", str(tokens), "--temp", "0",
                "-no-cnv", "--no-display-prompt", "--ignore-eos", "-t", str(self.threads)]


def answer(program, model, prompt_file, tokens):
    """One process: seconds to the first byte of the answer and to the end, peak resident bytes."""
    begin = time.monotonic()
    process = subprocess.Popen(program.answer_command(model, prompt_file, tokens), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    first = None
    while chunk := os.read(process.stdout.fileno(), 65536):
        if first is None and chunk.strip():
            first = time.monotonic() - begin
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0 or first is None:
        raise RuntimeError(f"{program.name} ended with {process.returncode}: {' '.join(program.answer_command(model, prompt_file, tokens))}")
    return {"first_s": first, "total_s": time.monotonic() - begin, "peak_bytes": usage.ru_maxrss * 1024}
