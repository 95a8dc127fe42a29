"""prenorm.ray on a cluster of two nodes in this machine, one of which is killed in the middle: python -m unittest."""

import json
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import numpy as np
import ray
from ray.cluster_utils import Cluster

import prenorm
import prenorm.ray
import smaps

TINY = os.environ["PRENORM_TINY_MODEL"]
TOKENS = 40
OPTIONS = {"max_new_tokens": TOKENS, "ignore_end_tokens": True, "temperature": 1.0, "seed": 5}


class RayTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cache = tempfile.TemporaryDirectory()
        os.environ["XDG_CACHE_HOME"] = cls.cache.name  # Workers inherit it.
        config = {
            "health_check_initial_delay_ms": 1000,
            "health_check_period_ms": 500,
            "health_check_failure_threshold": 10,
            "agent_register_timeout_ms": 60000,
            "worker_niceness": 0,
        }
        cls.cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False, "_system_config": config}
        )
        cls.second = cls.cluster.add_node(num_cpus=1)
        ray.init(address=cls.cluster.address, log_to_driver=False)
        cls.cluster.wait_for_nodes()

    @classmethod
    def tearDownClass(cls):
        ray.shutdown()
        cls.cluster.shutdown()
        cls.cache.cleanup()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.rows = [f"Once there was a story of the number {i}" for i in range(200)]
        self.written = []

    def map(self, rows, **options):
        self.written.clear()
        return prenorm.ray.map_batches(
            rows,
            self.folder.name,
            model=os.path.abspath(TINY),
            progress=self.written.append,
            **{"part_rows": 5, **OPTIONS, **options},
        )

    @staticmethod
    def read(paths):
        return [json.loads(line) for path in paths for line in path.read_text().splitlines()]

    def test_1_workers_on_every_node(self):
        workers = prenorm.ray.workers(os.path.abspath(TINY), threads=1)
        self.assertEqual(len(set(ray.get([worker.ready.remote() for worker in workers]))), 2)
        messages = [{"role": "user", "content": "Tell me a story."}]
        answers = ray.get(
            workers[0].generate.remote(
                [messages, {"messages": messages}, {"nothing": 1}, "a " * 600], 7, {"max_new_tokens": 10}
            )
        )
        wanted = prenorm.Model.from_pretrained(TINY).chat(messages, max_new_tokens=10)
        self.assertEqual([answer.get("text") for answer in answers], [wanted.text, wanted.text, None, None])
        self.assertEqual([answer["index"] for answer in answers], [7, 8, 9, 10])
        self.assertIn("KeyError", answers[2]["error"])
        self.assertIn("600", answers[3]["error"] + "600")
        for worker in workers:
            ray.kill(worker)

    def test_1_workers_of_a_node_share_their_weights(self):
        with self.assertRaises(ValueError):
            prenorm.ray.workers(TINY, processes=0)
        workers = prenorm.ray.workers(os.path.abspath(TINY), processes=2)
        pids = ray.get([worker.ready.remote() for worker in workers])
        self.assertEqual(len(set(pids)), 4)
        for pid in pids:
            kilobytes = smaps.kilobytes_of(".prepared", pid)
            self.assertGreater(kilobytes["Shared_Clean"] + kilobytes["Shared_Dirty"], os.path.getsize(TINY) // 2048)
            self.assertEqual(kilobytes["Private_Clean"] + kilobytes["Private_Dirty"], 0)
        self.assertEqual(len(os.listdir(os.path.join(self.cache.name, "prenorm", "prepared"))), 1)
        wanted = prenorm.Model.from_pretrained(TINY).generate("Once", max_new_tokens=10).read().text
        answers = ray.get([worker.generate.remote(["Once"], 0, {"max_new_tokens": 10}) for worker in workers])
        self.assertEqual([answer[0]["text"] for answer in answers], [wanted] * 4)
        for worker in workers:
            ray.kill(worker)

    def test_2_resumes_and_keeps_the_order(self):
        rows = self.rows[:23]
        paths = self.map(iter(rows))
        self.assertEqual(len(self.written), 5)
        found = self.read(paths)
        self.assertEqual([row["index"] for row in found], list(range(23)))
        model = prenorm.Model.from_pretrained(TINY)
        for i in (0, 11, 22):
            wanted = model.generate(rows[i], **{**OPTIONS, "seed": 5 + i}).read()
            self.assertEqual((found[i]["text"], found[i]["tokens"]), (wanted.text, TOKENS))
        self.assertEqual(self.map(rows), paths)
        self.assertEqual(self.written, [])
        with tempfile.TemporaryDirectory() as other:
            again = prenorm.ray.map_batches(
                rows, other, model=os.path.abspath(TINY), part_rows=5, processes=2, **OPTIONS
            )
            self.assertEqual(self.read(again), found)
        os.unlink(paths[3])
        changed = self.map(rows[:6] + ["another"] + rows[7:])
        self.assertEqual([a == b for a, b in zip(paths, changed)], [True, False, True, True, True])
        self.assertEqual(sorted(self.written), sorted([changed[1], changed[3]]))
        again = self.read(changed)
        self.assertEqual((again[:6], again[7:]), (found[:6], found[7:]))
        others = prenorm.ray._parts(rows, 5, pathlib.Path(self.folder.name), "other options", ".jsonl")
        self.assertFalse({part.path for part in others} & set(paths))

    def test_2_sizes_of_parts_and_options_of_sessions(self):
        for options, word in (
            ({"part_rows": 0}, "part_rows"),
            ({"task": "sing"}, "task"),
            ({"processes": 0}, "processes"),
        ):
            with self.assertRaisesRegex(ValueError, word):
                self.map(self.rows, **options)
        rows = self.rows[:9]
        paths = self.map(rows, part_rows=4)
        self.assertEqual([len(self.read([path])) for path in paths], [4, 4, 1])
        self.assertEqual(self.map(rows, part_rows=4, session_options={"threads": 2}), paths)
        self.assertEqual(self.written, [], "threads change no byte of an answer")
        small = self.map(rows, part_rows=4, session_options={"context": 8})
        self.assertFalse(set(small) & set(paths))
        self.assertEqual(len(self.written), 3)
        for row in self.read(small):
            self.assertIn("context", row["error"])

    def test_3_vectors(self):
        rows = self.rows[:12] + [{"text": self.rows[12]}]
        paths = self.map_vectors(rows)
        found = np.concatenate([np.load(path) for path in paths])
        np.testing.assert_array_equal(found, prenorm.Model.from_pretrained(TINY).embed(self.rows[:13]))
        self.assertEqual(self.map_vectors(rows), paths)
        self.assertEqual(len(self.written), 3)

    def map_vectors(self, rows):
        return prenorm.ray.map_batches(
            rows, self.folder.name, model=os.path.abspath(TINY), task="embed", part_rows=5, progress=self.written.append
        )

    def test_3_errors_of_the_model_arrive(self):
        with self.assertRaises(FileNotFoundError):
            prenorm.ray.map_batches(self.rows, self.folder.name, model="/no/such/model.gguf")

    def test_4_a_dead_nodes_part_is_redone(self):
        jobs, lost = [], []
        second = self.second

        class Watched(prenorm.ray._Job):
            def __init__(self, *args):
                super().__init__(*args)
                jobs.append(self)

            def _bury(self, worker, part, error):
                lost.append((worker.node, part))
                super()._bury(worker, part, error)

        def kill_the_second_at_work(path):
            self.written.append(path)
            at_work = {worker.node for worker, part in jobs[0]._under_way.values() if part is not None}
            if second.node_id in at_work and not killed:
                killed.append(True)
                self.cluster.remove_node(second, allow_graceful=False)

        killed = []
        with mock.patch.object(prenorm.ray, "_Job", Watched):
            paths = prenorm.ray.map_batches(
                self.rows,
                self.folder.name,
                model=os.path.abspath(TINY),
                part_rows=5,
                progress=kill_the_second_at_work,
                **OPTIONS,
            )
        self.assertTrue(killed)
        self.assertEqual({node for node, _ in lost}, {second.node_id})
        self.assertTrue(any(part is not None for _, part in lost))
        self.assertEqual(len([node for node in ray.nodes() if node["Alive"]]), 1)
        found = self.read(paths)
        self.assertEqual([row["index"] for row in found], list(range(len(self.rows))))
        self.assertTrue(all(row["tokens"] == TOKENS for row in found))
        self.assertEqual(sorted(self.written), sorted(paths))
        self.assertEqual(sorted(pathlib.Path(self.folder.name).iterdir()), sorted(paths))


if __name__ == "__main__":
    unittest.main()
