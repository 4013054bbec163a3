"""A result as data frames: its figures are those of the command's own formats."""

import copy
import importlib.resources
import io

import ipcmark
import numpy as np
import pandas as pd
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families


def metrics(show):
    """The samples of the command's exposition, by metric and row."""
    families = text_string_to_metric_families(show("openmetrics"))
    samples = [sample for family in families for sample in family.samples]
    return {(sample.name, sample.labels.get("row")): sample.value for sample in samples}


def test_rows_have_the_figures_and_intervals_of_the_command(result, show):
    shown = metrics(show)
    columns = {"location_ns": "_nanoseconds", "low_ns": "_low_nanoseconds", "high_ns": "_high_nanoseconds"}
    others = {"cpu_ns_per_message": "cpu_per_message_nanoseconds", "messages_per_second": "stream_messages_per_second"}
    assert len(result.rows) == 4
    for row in result.rows.to_dict("records"):
        assert shown["ipcmark_row_measured", row["name"]] == (row["status"] == "ok")
        assert (row["status"] == "ok") == pd.isna(row["reason"])
        of_event = {column: f"{row['event']}{metric}" for column, metric in columns.items()}
        for column, metric in {**of_event, **others}.items():
            # On a busy machine a row may have no samples at the reference distance: then it has no figure here either.
            figure = shown.get((f"ipcmark_{metric}", row["name"]), np.nan)
            assert row[column] == pytest.approx(figure, rel=1e-9, nan_ok=True), (row["name"], column)


def test_a_column_of_figures_is_of_numbers_even_if_all_are_missing(result):
    cases = [case for case in result.document["cases"] if case["pattern"] != "throughput"]
    rows = ipcmark.Result({**result.document, "cases": cases}).rows
    assert rows.messages_per_second.dtype == np.float64
    assert rows.messages_per_second.isna().all()


def test_trials_have_the_figures_of_the_csv(result, show):
    # `null` is a transport, not a missing value.
    lines = pd.read_csv(io.StringIO(show("csv")), keep_default_na=False, na_values=[""])
    lines = lines[lines.status == "ok"].reset_index(drop=True)
    assert len(result.trials) == len(lines) == 9
    for column in ["transport", "pattern", "trial", "round", "clock_free_mean_ns", "elapsed_ns", "messages"]:
        assert list(result.trials[column]) == list(lines[column]), column
    for column in [column for column in result.trials if column.startswith("times_ns_")]:
        assert list(result.trials[column]) == list(lines[column]), column


def test_histograms_have_every_sample(result):
    for trial in result.trials.itertuples():
        histogram = result.histogram(trial.name, trial.trial)
        assert histogram.count == trial.times_ns_count
        assert histogram.values[0] <= trial.times_ns_min <= histogram.highest[0]
        assert histogram.values[-1] <= trial.times_ns_max <= histogram.highest[-1]
        for q, figure in [(50, trial.times_ns_p50), (99, trial.times_ns_p99)]:
            assert histogram.percentile(q) == figure
    for name, trials in result.trials.groupby("name"):
        together = result.histogram(name)
        assert together.count == trials.times_ns_count.sum()
        assert (np.diff(together.values) > 0).all()


def test_row_names_are_unique(result):
    def name(**changes):
        document = copy.deepcopy(result.document)
        document["cases"] = [{**document["cases"][0], "options": {}, **changes}] * 2
        document["cases"] = copy.deepcopy(document["cases"])
        return list(ipcmark.Result(document).rows.name)

    usual = {"pattern": "latency", "transport": "tcp", "wait": "spin", "span": "process"}
    assert name(**usual) == ["latency/tcp/64/spin/round_trip", "latency/tcp/64/spin/round_trip#2"]
    rate = {"rate": {"per_second": 10, "arrivals": "poisson"}}
    assert name(**usual, load=rate)[0] == "latency/tcp/64/spin/rate:10/poisson/response"
    trace = {"trace": {"messages": 2, "span_ns": 20, "bytes": 128, "digest": 171}}
    assert name(**usual, load=trace)[0] == "latency/tcp/64/spin/trace:000000ab/response"
    pause = {"interval": {"pause_ns": 5}}
    followers = {"subscribers": 3, "silent_subscribers": 1}
    others = {**usual, **followers, "touch": "head", "load": pause, "options": {"b": "1, 2"}}
    expected = "latency/tcp/64/spin/touch:head/pause_ns:5/subscribers:3/silent:1/b:1__2/round_trip"
    assert name(**others)[0] == expected
    assert name(**usual, pairs=4)[0] == "latency/tcp/64/spin/pairs:4/round_trip"
    ends = {"leader": {"rank": 0, "host": "a"}, "follower": {"rank": 1, "host": "b"}}
    assert name(**usual, between=ends)[0] == "latency/tcp/64/spin/between:a/0:b/1/round_trip"


def test_rows_between_ranks_name_both(result):
    ends = {"leader": {"rank": 0, "host": "a"}, "follower": {"rank": 1, "host": "b"}}
    document = copy.deepcopy(result.document)
    document["cases"][0]["between"] = ends
    rows = ipcmark.Result(document).rows
    assert (rows.leader[0], rows.follower[0]) == ("a/0", "b/1")


def test_pairs_default_to_one(result):
    assert "pairs" not in result.document["cases"][0]
    assert set(result.rows.pairs) == {1} and set(result.trials.pairs) == {1}


def test_a_result_without_rows_has_all_columns(result):
    empty = ipcmark.Result({**result.document, "cases": []})
    assert list(empty.rows) == list(result.rows) and list(empty.trials) == list(result.trials)
    assert empty.rows.empty and empty.trials.groupby("name").location_ns.mean().empty


def test_the_package_is_marked_as_typed():
    assert (importlib.resources.files("ipcmark") / "py.typed").is_file()


def test_files_that_are_not_results_are_rejected(tmp_path):
    with pytest.raises(ipcmark.Error, match="cannot read .*none.json: .*No such file"):
        ipcmark.read(tmp_path / "none.json")
    others = [("{", "cannot read .*json"), ("[]", "of the form None"), ('{"schema": "x/1"}', "x/1, not ipcmark/2")]
    for text, said in others:
        path = tmp_path / "other.json"
        path.write_text(text)
        with pytest.raises(ipcmark.Error, match=said):
            ipcmark.read(path)
    with pytest.raises(ipcmark.Error, match="cannot read a histogram"):
        ipcmark.decode("no histogram")


def test_missing_rows_and_trials_are_reported(result):
    with pytest.raises(KeyError, match="was not measured"):
        result.histogram("latency/tcp/64/spin/round_trip")
    with pytest.raises(KeyError, match="has no trial 9"):
        result.histogram("latency/pipe/64/spin/round_trip", 9)
    with pytest.raises(ValueError, match="between 0 and 100"):
        result.histogram("latency/pipe/64/spin/round_trip").percentile(101)


def test_frames_travel_as_parquet(result, tmp_path):
    for name, frame in [("rows", result.rows), ("trials", result.trials)]:
        path = tmp_path / f"{name}.parquet"
        frame.to_parquet(path)
        pd.testing.assert_frame_equal(pd.read_parquet(path), frame)
