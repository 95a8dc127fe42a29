"""Models and sessions of the Python package, on the tiny model that PRENORM_TINY_MODEL names: python -m unittest."""

import _thread
import gc
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import numpy as np

import prenorm
import smaps

TINY = os.environ["PRENORM_TINY_MODEL"]
LONG = {"ignore_end_tokens": True, "max_new_tokens": 1_000_000}  # Until the context is full.
CONTEXT = 100_000


def long_tiny():
    """The bytes of the tiny model, said to be made for long texts: what runs on it for minutes can be interrupted."""
    data = bytearray(pathlib.Path(TINY).read_bytes())
    key = b".context_length"
    at = data.index(key) + len(key) + 4  # The number stands behind its type.
    data[at : at + 4] = CONTEXT.to_bytes(4, "little")
    return bytes(data)


def greedy(model, ids, count):
    """The most likely token again and again, by evaluation alone."""
    session = model.session()
    session.eval(ids)
    found = []
    for _ in range(count):
        found.append(int(np.argmax(session.logits())))
        session.eval([found[-1]])
    return found


MAPPED = """
import sys, prenorm
model = prenorm.Model.from_pretrained(sys.argv[1], prepared=sys.argv[2])
print(model.prepared_path, flush=True)
sys.stdin.read(1)
"""


class ModelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = prenorm.Model.from_pretrained(TINY, threads=2)

    def test_processes_share_prepared_weights(self):
        with tempfile.TemporaryDirectory() as folder:
            with subprocess.Popen(
                [sys.executable, "-c", MAPPED, TINY, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            ) as other:
                path = other.stdout.readline().strip()
                model = prenorm.Model.from_pretrained(TINY, prepared=folder)
                self.assertEqual(model.prepared_path, path)
                self.assertEqual(os.listdir(folder), [os.path.basename(path)])
                kilobytes = smaps.kilobytes_of(path)
                self.assertEqual(kilobytes["Shared_Clean"] + kilobytes["Shared_Dirty"], kilobytes["Rss"])
                self.assertGreaterEqual(kilobytes["Rss"], os.path.getsize(path) // 1024)
                other.stdin.write("x")
            ids = model.encode("Once there was a fox")
            mine, shared = self.model.session(), model.session(threads=2)
            mine.eval(ids)
            shared.eval(ids)
            self.assertEqual(mine.logits().tobytes(), shared.logits().tobytes())
        with tempfile.TemporaryDirectory() as cache, mock.patch.dict(os.environ, XDG_CACHE_HOME=cache):
            path = prenorm.Model.from_pretrained(TINY, prepared=True).prepared_path
            self.assertEqual(os.path.dirname(path), os.path.join(cache, "prenorm", "prepared"))
        with self.assertRaises(ValueError):
            prenorm.Model.from_pretrained(TINY, prepared="unused", use_mmap=False)

    def test_names(self):
        with tempfile.TemporaryDirectory() as cache, mock.patch.dict(os.environ, XDG_CACHE_HOME=cache):
            with self.assertRaisesRegex(FileNotFoundError, "prenorm models fetch smollm2-135m-instruct-q4_1"):
                prenorm.Model.from_pretrained(local_files_only=True)
            folder = pathlib.Path(cache, "prenorm", "models")
            (folder / "me--mine").mkdir(parents=True)
            for name in ("smollm2-135m-instruct-q4_1.gguf", "other.gguf", "me--mine/a-Q4_0.gguf"):
                os.symlink(os.path.abspath(TINY), folder / name)
            for name in (None, "smollm2-135m-instruct-q4_1", "other", "other.gguf", "me/mine", "me/mine:q4"):
                self.assertEqual(prenorm.Model.from_pretrained(name).config, self.model.config)
            for name in ("gemma3-270m-q4_k_m", "nothing", "me/mine:q8", "../prenorm/models/other.gguf"):
                with self.assertRaises(FileNotFoundError):
                    prenorm.Model.from_pretrained(name, local_files_only=True)
            for name in ("nothing", "../prenorm/models/other.gguf", "a/path.gguf"):
                with self.assertRaises(FileNotFoundError):
                    prenorm.Model.from_pretrained(name)

    def test_tokenizer(self):
        text = "Once there was a möwe"
        ids = self.model.encode(text, add_special=False)
        self.assertEqual(self.model.decode(ids), text)
        self.assertEqual(self.model.decode(np.array(ids)), text)
        self.assertEqual(b"".join(self.model.piece(i) for i in ids).strip(), text.encode())
        special = self.model.special_tokens
        self.assertIn(special["eos"], special["ends"])

    def test_from_bytes_answers_alike(self):
        other = prenorm.Model.from_bytes(pathlib.Path(TINY).read_bytes())
        self.assertEqual(
            "".join(self.model.generate("Once", max_new_tokens=8)), "".join(other.generate("Once", max_new_tokens=8))
        )

    def test_progress_cancels_and_raises(self):
        shares = []
        prenorm.Model.from_pretrained(TINY, progress=shares.append)
        self.assertEqual(shares, sorted(shares))
        with self.assertRaises(prenorm.Error) as raised:
            prenorm.Model.from_pretrained(TINY, progress=lambda share: False)
        self.assertEqual(raised.exception.code, "cancelled")
        with self.assertRaises(ZeroDivisionError):
            prenorm.Model.from_pretrained(TINY, progress=lambda share: 1 / 0)

    def test_errors(self):
        with self.assertRaises(prenorm.Error) as raised:
            prenorm.Model.from_bytes(b"this is no model at all")
        self.assertEqual(raised.exception.code, "bad_model")
        self.assertIsInstance(raised.exception, RuntimeError)
        with self.assertRaises(ValueError):
            self.model.session(threads=-1)
        with self.assertRaisesRegex(ValueError, "cache"):
            self.model.session(cache="f17")
        with self.assertRaises(ValueError):
            list(self.model.generate("Once", temperature=-1.0))
        with self.assertRaises(TypeError):
            list(self.model.generate("Once", no_such_option=1))
        with self.assertRaises(prenorm.Error) as raised:
            self.model.session(context=4).eval([1, 2, 3, 4, 5])
        self.assertEqual(raised.exception.code, "context_full")

    def test_profile(self):
        profile = self.model.profile(prefill=16, decode=4)
        layers = self.model.config["n_layers"]
        norms = {row.site: row.calls for row in profile.phases["decode"].rows if row.kind == "norm"}
        self.assertGreater(norms["attn_norm"], 0)
        self.assertEqual(norms["attn_norm"] % (4 * layers), 0)
        per_layer = [row for row in profile.phases["decode"].layers if row[:2] == ("norm", "attn_norm")]
        self.assertEqual([row.layer for row in per_layer if row.layer >= 0], list(range(layers)))
        for name, share in profile.norm_share.items():
            self.assertTrue(0 < share < 1, name)
            self.assertAlmostEqual(max(1.0, sum(profile.phases[name].kinds.values())), 1.0, delta=0.05)
        output = next(row for row in profile.phases["decode"].rows if row.site == "output" and row.kind == "matmul")
        self.assertGreaterEqual(output.flops, 4 * 2 * self.model.config["dim"] * self.model.config["vocab_size"])
        page = profile._repr_html_()
        self.assertEqual(page.count("<svg"), page.count("</svg>"))
        self.assertIn("attn_norm", page)
        self.assertIn("attn_norm", repr(profile))

    def test_package_is_typed(self):
        folder = pathlib.Path(prenorm.__file__).parent
        self.assertTrue((folder / "py.typed").exists())
        stub = (folder / "_prenorm.pyi").read_text()
        compile(stub, "_prenorm.pyi", "exec")
        self.assertIn("def generate", stub)


class EmbedTest(unittest.TestCase):
    def test_vectors(self):
        model = prenorm.Model.from_pretrained(TINY)
        texts = ["Once there was a story.", "Another one", "Once"]
        rows = model.embed(texts)
        self.assertEqual((rows.shape, rows.dtype), ((3, model.config["dim"]), np.float32))
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, rtol=1e-5)
        np.testing.assert_array_equal(model.embed(texts[1]), rows[1])
        np.testing.assert_array_equal(model.embed(texts[::-1], threads=1), rows[::-1])
        plain = model.embed(texts, normalize=False)
        np.testing.assert_allclose(plain / np.linalg.norm(plain, axis=1, keepdims=True), rows, rtol=1e-5, atol=1e-6)
        self.assertFalse(np.allclose(model.embed(texts, pooling="mean"), rows))
        with self.assertRaisesRegex(ValueError, "pooling"):
            model.embed(texts, pooling="median")
        long = "a story " * 2000
        with self.assertRaises(prenorm.Error) as raised:
            model.embed(long)
        self.assertEqual(raised.exception.code, "context_full")
        self.assertEqual(model.embed(long, truncate=True).shape, (model.config["dim"],))


class GenerateTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = prenorm.Model.from_pretrained(TINY, threads=2)
        cls.long_model = prenorm.Model.from_bytes(long_tiny(), threads=2, context=CONTEXT)

    def test_stream_joined_is_the_result(self):
        stream = self.model.generate("Once there was", max_new_tokens=20)
        text = "".join(stream)
        self.assertEqual(text, stream.result.text)
        self.assertEqual(len(stream.result.ids), 20)
        self.assertEqual(stream.result.finish_reason, "length")
        self.assertEqual(text, self.model.generate(self.model.encode("Once there was"), max_new_tokens=20).read().text)

    def test_greedy_is_the_arg_max_of_the_logits(self):
        ids = self.model.encode("Once there was")
        wanted = greedy(self.model, ids, 12)
        for options in ({}, {"speculate": "lookup"}, {"speculate": self.model.session()}):
            result = self.model.generate(ids, max_new_tokens=12, ignore_end_tokens=True, **options).read()
            self.assertEqual(result.ids, wanted)
        session = self.model.session()
        session.eval(ids)
        np.testing.assert_allclose(np.exp(session.logprobs().astype(np.float64)).sum(), 1.0, rtol=1e-5)

    def test_seed_repeats(self):
        options = {"max_new_tokens": 20, "temperature": 1.5, "ignore_end_tokens": True}
        first = self.model.generate("Once there was a", **options).read()
        again = self.model.generate("Once there was a", seed=first.seed, **options).read()
        self.assertEqual(first.ids, again.ids)
        self.assertEqual(again.reused_tokens, again.prompt_tokens - 1)

    def test_stop_string(self):
        text = "".join(self.model.generate("Once there was", max_new_tokens=20))
        stop = text[5:9]
        self.assertEqual(
            "".join(self.model.generate("Once there was", max_new_tokens=20, stop=stop)), text[: text.index(stop)]
        )

    def test_leaving_early_ends_the_answer(self):
        with self.long_model.generate("Once", **LONG) as stream:
            next(stream)
        self.assertEqual(stream.result.finish_reason, "interrupted")
        self.assertEqual(list(stream), [])

    def test_a_stream_given_up_ends(self):
        stream = self.long_model.session().generate("Once", **LONG)
        job = stream._job
        next(stream)
        del stream
        gc.collect()
        job.wait()
        self.assertEqual(job.value.finish_reason, "interrupted")

    def test_keyboard_interrupt_inside_prefill(self):
        session = self.long_model.session(chunk=1)
        ids = [i % 100 for i in range(90_000)]  # More than a minute.
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            session.eval(ids)
        self.assertEqual(session.position, 0)
        threading.Timer(0.2, _thread.interrupt_main).start()
        with self.assertRaises(KeyboardInterrupt):
            next(session.generate(ids))
        session.rewind(0)
        session.eval([1, 2, 3])
        self.assertEqual(session.position, 3)

    def test_exit_while_an_answer_is_made(self):
        code = (
            "import prenorm, sys\n"
            f"model = prenorm.Model.from_pretrained(sys.argv[1], context={CONTEXT})\n"
            "stream = model.generate('Once', ignore_end_tokens=True)\n"
            "print(next(stream))\n"
        )
        with tempfile.NamedTemporaryFile(suffix=".gguf") as file:
            file.write(long_tiny())
            file.flush()
            done = subprocess.run(
                [sys.executable, "-c", code, file.name], capture_output=True, text=True, timeout=100, check=False
            )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_loading_can_be_cancelled(self):
        flag = prenorm._prenorm.CancelFlag()
        flag.cancel()
        with self.assertRaises(prenorm.Error) as raised:
            prenorm._prenorm.Model.load(TINY, True, "", None, flag)
        self.assertEqual(raised.exception.code, "cancelled")

        sent = threading.Event()

        def interrupt(_share):
            if not sent.is_set():
                sent.set()
                os.kill(os.getpid(), signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            prenorm.Model.from_pretrained(TINY, progress=interrupt)

        def fail(_share):
            raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            prenorm.Model.from_pretrained(TINY, progress=fail)

    def test_other_threads_run_while_it_computes(self):
        session = self.long_model.session()
        stream = session.generate("Once", **LONG)
        next(stream)
        begin = time.monotonic()
        ticks = 0
        while time.monotonic() - begin < 0.2:
            ticks += 1
        self.assertGreater(ticks, 0)
        with self.assertRaises(prenorm.Error) as raised:
            session.eval([1])
        self.assertEqual(raised.exception.code, "busy")
        stream.close()

    def test_answers_of_threads_at_once(self):
        wanted = "".join(self.model.generate("Once there was", max_new_tokens=20))
        found = []

        def answer():
            found.append("".join(self.model.generate("Once there was", max_new_tokens=20)))

        threads = [threading.Thread(target=answer) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [wanted] * 4)

    def test_chat(self):
        messages = [{"role": "user", "content": "Tell me a story."}]
        text, ids = self.model.render_chat(messages)
        self.assertIn("Tell me a story.", text)
        wanted = self.model.session().generate(ids, max_new_tokens=10).read().text
        for _ in range(2):
            self.assertEqual(self.model.chat(messages, max_new_tokens=10).text, wanted)
        self.assertEqual("".join(self.model.chat_stream(messages, max_new_tokens=10)), wanted)
        messages += [{"role": "assistant", "content": wanted}, {"role": "user", "content": "Go on."}]
        self.assertGreater(self.model.chat(messages, max_new_tokens=1).reused_tokens, 0)
        with self.assertRaises(ValueError):
            self.model.chat([{"role": "nobody", "content": ""}])

    def test_fork_save_restore_rewind(self):
        session = self.model.session()
        session.eval([1, 20, 30, 40])
        wanted = session.logits()
        forked = session.fork(3)
        forked.eval([40])
        np.testing.assert_array_equal(forked.logits(), wanted)
        small = self.model.session(cache="int8", context=64)
        small.eval([1, 20])
        self.assertEqual(small.fork().capacity, 64)
        restored = self.model.session()
        restored.restore(session.save())
        self.assertEqual(restored.tokens, [1, 20, 30, 40])
        np.testing.assert_array_equal(restored.logits(), wanted)
        session.rewind(1)
        session.eval([20, 30, 40])
        np.testing.assert_array_equal(session.logits(), wanted)
        state = bytearray(session.save())
        state[len(state) // 2] ^= 1
        with self.assertRaises(prenorm.Error):
            session.restore(bytes(state))


if __name__ == "__main__":
    unittest.main()
