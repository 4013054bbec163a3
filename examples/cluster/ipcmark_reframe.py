"""A ReFrame test: what a message takes between each two nodes, followed from run to run.

    reframe -C SETTINGS.py -c ipcmark_reframe.py -S num_tasks=8 -r
"""

import json

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import deferrable, performance_function, run_before, sanity_function, variable


@rfm.simple_test
class IpcmarkPairs(rfm.RunOnlyRegressionTest):
    """Passes if every pair was measured; its figures are the medians of half a round trip."""

    descr = "TCP between each two nodes, 64 bytes"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    num_tasks = 4
    num_tasks_per_node = 1
    transport = variable(str, value="tcp")
    size = variable(str, value="64")
    wait = variable(str, value="block")
    executable = "ipcmark"

    @run_before("run")
    def set_flags(self):
        """The same command on every rank; they meet in the stage directory, which all nodes see."""
        self.executable_opts = [
            "rank", "--all-pairs", "-t", self.transport, "-s", self.size, "-w", self.wait, "-o", "result.json",
            "--rendezvous", "meeting",
        ]  # fmt: skip

    @deferrable
    def cases(self):
        """The rows of the result."""
        with open("result.json", encoding="utf-8") as file:
            return json.load(file)["cases"]

    @sanity_function
    def is_whole(self):
        """Every pair has its row, and all are measured."""
        pairs = self.num_tasks * (self.num_tasks - 1) // 2
        cases = self.cases()
        return sn.all(
            [
                sn.assert_eq(sn.len(cases), pairs, "there are {0} rows, not one for each of {1} pairs"),
                sn.assert_true(sn.all(sn.map(lambda case: case["status"] == "ok", cases)), "a pair was not measured"),
            ]
        )

    @deferrable
    def medians_us(self):
        """The median of half a round trip of each pair, over its trials."""
        def middle(case):
            trials = case["measurement"]["round_trips"]["trials"]
            medians = sorted(trial["times_ns"]["p50"] for trial in trials)
            return medians[len(medians) // 2] / 2e3

        return [middle(case) for case in self.cases()]

    @performance_function("us")
    def fastest_pair(self):
        """The pair that is nearest."""
        return sn.min(self.medians_us())

    @performance_function("us")
    def slowest_pair(self):
        """The pair that is farthest."""
        return sn.max(self.medians_us())
