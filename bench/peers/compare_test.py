"""The statistics and the report of the comparison, on made-up runs."""

import pathlib
import sys
import unittest
from xml.etree import ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import report  # noqa: E402
import statistics_of_runs  # noqa: E402


def block(a1, b1, b2, a2):
    return {"a1": [a1, a1 * 1.01, a1 * 0.99], "b1": [b1] * 3, "b2": [b2] * 3, "a2": [a2] * 3}


class StatisticsTest(unittest.TestCase):
    def test_ratio_lies_in_its_interval(self):
        ratio, low, high = statistics_of_runs.ratio_interval([200, 210, 190, 205], [100, 102, 98, 101])
        self.assertAlmostEqual(ratio, 202.5 / 100.5)
        self.assertLessEqual(low, ratio)
        self.assertLessEqual(ratio, high)
        self.assertGreater(low, 1.7)

    def test_equal_runs_have_no_width(self):
        self.assertEqual(statistics_of_runs.ratio_interval([3.0] * 5, [2.0] * 5), (1.5, 1.5, 1.5))

    def test_differences_within_the_control_do_not_count(self):
        row = statistics_of_runs.summarize({"blocks": [block(100, 104, 104, 110)]})
        self.assertAlmostEqual(row["control_band"], 1.1)
        self.assertEqual(row["verdict"], "even")
        self.assertEqual(statistics_of_runs.summarize({"blocks": [block(200, 100, 100, 201)]})["verdict"], "ahead")
        self.assertEqual(statistics_of_runs.summarize({"blocks": [block(50, 100, 100, 51)]})["verdict"], "behind")

    def test_share_of_the_probe(self):
        row = statistics_of_runs.summarize({"blocks": [block(100, 50, 50, 100)], "bytes": 10**8, "probe_gbs": 20.0})
        self.assertAlmostEqual(row["gbs"], 10.0)
        self.assertAlmostEqual(row["probe_share"], 0.5)


class ReportTest(unittest.TestCase):
    def setUp(self):
        rows = [statistics_of_runs.summarize({"model": "m<1>", "test": test, "blocks": [block(100, 50, 50, 100)], **more})
                for test, more in (("pp512", {}), ("tg128", {"bytes": 10**8, "probe_gbs": 20.0}))]
        of_program = {"first_s": 0.5, "total_s": 1.0, "peak_bytes": 2**27}
        self.results = {"rows": rows, "answers": [{"model": "m", "prompt": 900, "tokens": 64, "Prenorm": of_program,
                                                   "llama.cpp": of_program}],
                        "versions": {"Prenorm": "prenorm 1", "llama.cpp": "version 2"}, "peer_build": "built",
                        "host": {"cpu": "c", "threads": 2, "target": "AVX2", "l3": "1M", "kernel": "6", "load_before": "0",
                                 "load_after": "0"}}

    def test_every_row_of_the_table_has_the_columns_of_its_head(self):
        counts = [line.count("|") for line in report.markdown(self.results).splitlines() if line.startswith("|")]
        self.assertEqual(counts, [9] * 4 + [7] * 4)
        self.assertIn("| 10.0 | 50 % |", report.markdown(self.results))

    def test_the_plot_is_well_formed_with_a_bar_a_row(self):
        root = ElementTree.fromstring(report.svg(self.results))
        bars = [e for e in root.iter() if e.get("class") == "bar"]
        self.assertEqual(len(bars), 2)


if __name__ == "__main__":
    unittest.main()
