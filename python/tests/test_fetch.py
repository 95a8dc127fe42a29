"""Models that are fetched, from a hub in this process: python -m unittest. PRENORM_TINY_MODEL names the tiny model."""

import fcntl
import hashlib
import http.server
import json
import os
import pathlib
import signal
import tempfile
import threading
import unittest
from unittest import mock

import prenorm
from prenorm import _prenorm

TINY = pathlib.Path(os.environ["PRENORM_TINY_MODEL"]).read_bytes()


class Hub(http.server.BaseHTTPRequestHandler):
    """A repository me/mine with one file, the tiny model; of me/other the hash is that of something else; me/silent
    gets no answer."""

    def do_GET(self):
        self.server.paths.append(self.path)
        if self.path.startswith("/api/models/me/silent"):
            self.server.over.wait()
        if self.path.startswith("/api/models/"):
            right = self.path.startswith("/api/models/me/mine?")
            digest = hashlib.sha256(TINY if right else b"other").hexdigest()
            files = [{"rfilename": "tiny-Q8_0.gguf", "size": len(TINY), "lfs": {"sha256": digest}}]
            body = json.dumps({"sha": "c0ffee", "siblings": files}).encode()
        elif self.path.endswith("/resolve/c0ffee/tiny-Q8_0.gguf"):
            body = TINY
        else:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass  # The other side has had enough.

    def log_message(self, *_arguments):
        pass


@unittest.skipUnless(_prenorm.can_download(), "built without libcurl")
class FetchTest(unittest.TestCase):
    def setUp(self):
        self.hub = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
        self.hub.paths = []
        self.hub.over = threading.Event()
        threading.Thread(target=self.hub.serve_forever, daemon=True).start()
        self.addCleanup(self.hub.server_close)
        self.addCleanup(self.hub.shutdown)
        self.addCleanup(self.hub.over.set)
        cache = tempfile.TemporaryDirectory()
        self.addCleanup(cache.cleanup)
        self.models = pathlib.Path(cache.name, "prenorm", "models")
        environment = mock.patch.dict(
            os.environ,
            XDG_CACHE_HOME=cache.name,
            HF_ENDPOINT=f"http://127.0.0.1:{self.hub.server_port}",
            no_proxy="127.0.0.1",
        )
        environment.start()
        self.addCleanup(environment.stop)

    def test_a_model_of_the_hub_is_fetched_once(self):
        seen = []
        model = prenorm.Model.from_pretrained("me/mine", fetch_progress=lambda *step: seen.append(step))
        self.assertEqual(model.config["architecture"], "llama")
        self.assertEqual((self.models / "me--mine" / "tiny-Q8_0.gguf").read_bytes(), TINY)
        self.assertEqual({file for file, _ in seen}, {"tiny-Q8_0.gguf"})
        self.assertEqual([share for _, share in seen], sorted(share for _, share in seen))
        self.assertEqual(seen[-1][1], 1.0)
        asked = len(self.hub.paths)
        prenorm.Model.from_pretrained("me/mine:q8")
        prenorm.Model.from_pretrained("me/mine", local_files_only=True)
        self.assertEqual(len(self.hub.paths), asked)

    def test_an_address(self):
        with mock.patch("sys.stderr") as stderr:
            prenorm.Model.from_pretrained(os.environ["HF_ENDPOINT"] + "/me/mine/resolve/c0ffee/tiny-Q8_0.gguf")
        said = "".join(call.args[0] for call in stderr.write.call_args_list)
        self.assertIn("tiny-Q8_0.gguf: 10%", said)
        self.assertIn("100%", said)
        self.assertIn(hashlib.sha256(TINY).hexdigest(), said)
        self.assertTrue((self.models / "tiny-Q8_0.gguf").exists())

    def test_another_file_than_expected_is_thrown_away(self):
        with self.assertRaisesRegex(OSError, "SHA-256 expected " + hashlib.sha256(b"other").hexdigest()):
            prenorm.Model.from_pretrained("me/other", fetch_progress=lambda *_: None)
        self.assertEqual([path for path in self.models.rglob("*.gguf*")], [])

    def test_what_is_not_there(self):
        with self.assertRaisesRegex(FileNotFoundError, "HTTP status 404"):
            prenorm.Model.from_pretrained(os.environ["HF_ENDPOINT"] + "/no/such.gguf", fetch_progress=lambda *_: None)
        with self.assertRaises(FileNotFoundError):
            prenorm.Model.from_pretrained("me/mine", local_files_only=True)
        asked = len(self.hub.paths)
        with self.assertRaisesRegex(ValueError, "empty"):
            prenorm.Model.from_pretrained("")
        self.assertEqual(len(self.hub.paths), asked)

    def test_it_can_be_ended_before_bytes_come(self):
        def expect_an_end(name):
            flag = _prenorm.CancelFlag()
            threading.Timer(0.2, flag.cancel).start()
            with self.assertRaises(prenorm.Error) as caught:
                _prenorm.fetch_model(name, print, lambda *_: True, flag)
            self.assertEqual(caught.exception.code, "cancelled")

        expect_an_end("me/silent")
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            prenorm.Model.from_pretrained("me/silent")
        folder = self.models / "me--mine"
        folder.mkdir(parents=True)
        with (folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            expect_an_end("me/mine")

    def test_progress_may_end_it_and_may_raise(self):
        with self.assertRaises(prenorm.Error) as caught:
            prenorm.Model.from_pretrained("me/mine", fetch_progress=lambda *_: False)
        self.assertEqual(caught.exception.code, "cancelled")

        def fail(*_):
            raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            prenorm.Model.from_pretrained("me/mine", fetch_progress=fail)
        prenorm.Model.from_pretrained("me/mine", fetch_progress=lambda *_: None)  # What had come is of use.


if __name__ == "__main__":
    unittest.main()
