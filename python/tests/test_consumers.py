"""The formats for other tools, read by those tools."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from junitparser import Failure, JUnitXml, Skipped
from prometheus_client import parser as older
from prometheus_client.openmetrics import parser as openmetrics

#: From the Debian package libbenchmark-tools.
COMPARE = Path("/usr/share/benchmark/compare.py")


def intervals(path):
    """The intervals of a histogram log."""
    reader = HistogramLogReader(str(path), HdrHistogram(1, 3_600_000_000_000, 3))
    while (interval := reader.get_next_interval_histogram()) is not None:
        yield interval


def test_hdrhistogram_reads_the_log(result, show, tmp_path):
    path = tmp_path / "result.hlog"
    path.write_text(show("hlog"))
    read = list(intervals(path))
    assert [interval.get_tag() for interval in read] == list(result.trials.name)
    assert [interval.get_total_count() for interval in read] == list(result.trials.times_ns_count)
    for interval, trial in zip(read, result.trials.itertuples(), strict=True):
        samples = result.histogram(trial.name, trial.trial)
        assert interval.get_max_value() == samples.highest[-1]
        assert interval.get_mean_value() == pytest.approx(trial.times_ns_mean, rel=1e-3)


def test_the_distribution_agrees_with_hdrhistogram(result, show):
    """The points of the curve, in the columns in which the library prints them for its plotter."""
    name = "latency/pipe/64/spin/round_trip"
    samples = at_reference(result, name)
    if samples.get_total_count() == 0:
        pytest.skip("the machine is so busy that no sample of the row was taken at the reference distance")
    printed = io.BytesIO()
    samples.output_percentile_distribution(printed, 1)
    comment, head, empty, *lines = show("hgrm", "--row", name).splitlines()
    assert comment.startswith(f"#[{name}, in ns")
    assert [head, empty] == printed.getvalue().decode().splitlines()[:2]
    points = [[float(figure) for figure in line.split()] for line in lines if not line.startswith("#")]
    for value, percentile, total, *_ in points:
        assert total == up_to(samples, value), value
        assert total >= percentile * samples.get_total_count() - 1e-6
    assert points[-1] == [samples.get_max_value(), 1, samples.get_total_count()]


def up_to(samples, value):
    """How many samples are at most this long."""
    steps = samples.get_recorded_iterator()
    return sum(step.count_added_in_this_iter_step for step in steps if step.value_iterated_to <= value)


def at_reference(result, name):
    """The samples of a row of round trips at the distance at which rows are compared."""
    case = result.document["cases"][list(result.rows.name).index(name)]
    samples = HdrHistogram(1, 3_600_000_000_000, 3)
    for trial in case["measurement"]["round_trips"]["trials"]:
        placed = [at["times_ns"] for at in trial["by_distance"] if at["distance"] == result.reference]
        for times in placed if result.reference is not None else [trial["times_ns"]]:
            samples.decode_and_add(times["histogram"])
    return samples


@pytest.mark.parametrize("parser", [openmetrics, older])
def test_prometheus_reads_the_exposition(result, show, parser):
    """As OpenMetrics, and in the older format, which is what node_exporter reads."""
    found = parser.text_string_to_metric_families(show("openmetrics"))
    families = {family.name: family for family in found}
    assert families["ipcmark_round_trip_nanoseconds"].type == "gauge"
    measured = families["ipcmark_row_measured"].samples
    assert {sample.labels["row"] for sample in measured} == set(result.rows.name)
    unmeasured = [sample.labels for sample in measured if sample.value == 0]
    assert [labels["reason"] for labels in unmeasured] == list(result.rows.reason.dropna())
    machine = families["ipcmark_machine_info"].samples[0].labels
    assert machine["cpu_model"] == result.document["environment"]["cpu_model"]


def outcomes(text):
    """The outcomes of a JUnit file, by test case."""
    suites = JUnitXml.fromstring(text.encode())
    return {case.name: case.result for suite in suites for case in suite}


def test_junit_is_read(result, show):
    cases = outcomes(show("junit"))
    assert list(cases) == list(result.rows.name)
    for row in result.rows.itertuples():
        kinds = [type(outcome) for outcome in cases[row.name]]
        assert kinds == ([] if row.status == "ok" else [Skipped])


def test_junit_of_a_comparison_is_read(command, saved, tmp_path):
    slower = json.loads(saved.read_text())
    files = [[], []]
    for number in range(6):
        side = number % 2
        run = json.loads(json.dumps(slower))
        run["run"]["id"] = f"r{number}"
        scale(run, (1 + number / 1000) * (2 if side else 1))
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(run))
        files[side].append(str(path))
    line = [command, "compare", ",".join(files[0]), ",".join(files[1]), "--format", "junit"]
    ended = subprocess.run(line, capture_output=True, encoding="utf-8", check=False)
    assert ended.returncode == 1, ended.stderr
    failed = [name for name, found in outcomes(ended.stdout).items() if any(isinstance(one, Failure) for one in found)]
    assert "latency/pipe/64/spin/round_trip" in failed


def scale(run, factor):
    """Makes every row of a result that many times as slow, without a word of where its processors stood."""
    run.pop("distances", None)
    for case in run["cases"]:
        for kind in case.get("measurement", {}).values():
            for trial in kind["trials"]:
                trial["clock_free_mean_ns"] *= factor
                trial["by_distance"] = []


@pytest.fixture
def compare():
    """Google Benchmark's own comparison; where continuous builds lack it, that is a failure."""
    if not COMPARE.exists():
        missing = f"{COMPARE} is not there: apt-get install libbenchmark-tools"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(missing)
    return COMPARE


def test_google_benchmark_compares(result, show, compare, tmp_path):
    base, new, found = (tmp_path / name for name in ["base.json", "new.json", "found.json"])
    base.write_text(show("google-benchmark"))
    document = json.loads(base.read_text())
    for entry in document["benchmarks"]:
        entry["real_time"] *= 2
    new.write_text(json.dumps(document))
    line = [sys.executable, compare, "--dump_to_json", found, "benchmarks", base, new]
    ended = subprocess.run(line, capture_output=True, encoding="utf-8", check=False)
    assert ended.returncode == 0, ended.stderr
    entries = {entry["name"]: entry for entry in json.loads(found.read_text())}
    located = result.trials.dropna(subset="location_ns")
    assert set(located.name) <= set(entries)
    for name, trials in located.groupby("name"):
        times = entries[name]["measurements"]
        assert [time["time"] for time in times] == pytest.approx([1.0] * len(trials)), name
        assert [time["real_time"] for time in times] == pytest.approx(list(trials.location_ns))
