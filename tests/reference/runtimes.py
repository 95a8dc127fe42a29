"""The runtimes under test behind one interface: name, and logits(ids) -> f32 [len(ids), rows of the embedding]."""

import pathlib
import subprocess
import tempfile

import numpy as np


class Prenorm:
    """Our command line: one process per sequence."""

    name = "prenorm"

    def __init__(self, binary, model, threads):
        self.binary, self.model, self.threads = binary, model, threads

    def logits(self, ids):
        with tempfile.TemporaryDirectory() as folder:
            tokens, out = pathlib.Path(folder, "tokens.txt"), pathlib.Path(folder, "logits.npy")
            tokens.write_text(",".join(map(str, ids)) + "\n")
            subprocess.run([self.binary, "logits", str(self.model), "--tokens-file", str(tokens), "--out", str(out),
                            "-t", str(self.threads)], check=True, stdout=subprocess.DEVNULL)
            result = np.load(out)
        if result.dtype != np.float32 or result.shape[0] != len(ids):
            raise ValueError(f"logits: expected f32 [{len(ids)}, ...], found {result.dtype} {list(result.shape)}")
        return result


class LlamaCpp:
    """The peer, through the llama-cpp-python package (its library may be replaced by LLAMA_CPP_LIB_PATH)."""

    name = "llama.cpp"

    def __init__(self, model, threads, context):
        from llama_cpp import Llama

        self.llama = Llama(str(model), n_ctx=context, n_batch=context, n_ubatch=context, n_threads=threads,
                           n_threads_batch=threads, logits_all=True, verbose=False)

    def logits(self, ids):
        self.llama.reset()
        self.llama.eval(ids)
        return np.array(self.llama.scores[:len(ids)], dtype=np.float32)


def add_arguments(parser):
    parser.add_argument("model", help="GGUF file")
    parser.add_argument("--prenorm", metavar="BINARY", help="the prenorm command to judge")
    parser.add_argument("--peer", action="store_true", help="judge llama.cpp too")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")


def from_arguments(args, context):
    chosen = []
    if args.prenorm:
        chosen.append(Prenorm(args.prenorm, args.model, args.threads))
    if args.peer:
        chosen.append(LlamaCpp(args.model, args.threads, context))
    return chosen
