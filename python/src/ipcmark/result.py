"""A result: its rows and its trials as data frames."""

from __future__ import annotations

import json
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from ipcmark.error import Error
from ipcmark.histogram import Histogram, decode
from ipcmark.names import event, load, names, place
from ipcmark.statistics import geometric_mean, median

#: The format of the result files that it reads.
SCHEMA = "ipcmark/2"

#: The properties of a case that become columns, named as in the file.
IDENTITY = [
    "transport", "family", "library_version", "pattern", "payload_bytes", "wait", "touch", "span", "subscribers",
    "silent_subscribers", "pairs", "status", "reason",
]  # fmt: skip

#: The columns that rows and trials have in common.
COMMON = ["name", *IDENTITY, "leader", "follower", "load", "options", "event"]

#: The additional columns of a row.
ROW = ["trials", "location_ns", "low_ns", "high_ns", "messages_per_second", "cpu_ns_per_message"]

#: Statistics of the times of a trial.
TIMES = ["count", "mean", "stdev", "min", "p50", "p90", "p99", "p99_9", "p99_99", "max"]

#: The additional columns of a trial.
TRIAL = [
    "trial", "round", "location_ns", "clock_free_mean_ns", "elapsed_ns", *(f"times_ns_{figure}" for figure in TIMES),
    "cpu_ns_per_message", "messages", "lost",
]  # fmt: skip

#: The figures that a row or a trial can lack: NaN, also in a column that has none.
OPTIONAL = ["location_ns", "low_ns", "high_ns", "messages_per_second", "cpu_ns_per_message"]


def read(path: str | PathLike[str]) -> Result:
    """Reads the result file that `ipcmark run -o FILE` wrote.

    Raises Error where it is none.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as cause:
        raise Error(f"cannot read {path}: {cause}") from cause
    return parse(text, str(path))


def parse(text: str, source: str = "the result") -> Result:
    """The result in the text of a file, which messages call `source`.

    Raises Error where it is none.
    """
    try:
        document = json.loads(text)
    except ValueError as cause:
        raise Error(f"cannot read {source}: {cause}") from cause
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        remedy = "a result file is what `ipcmark run -o FILE` writes"
        raise Error(f"cannot read {source}: it is of the form {schema}, not {SCHEMA}; {remedy}")
    return Result(document)


class Result:
    """A result. Times are in ns and whole: of a ping-pong the round trip, not half of it."""

    def __init__(self, document: dict[str, Any]) -> None:
        #: The file's content: docs/results.md describes it.
        self.document = document
        self._names = names(document["cases"])

    @cached_property
    def rows(self) -> pd.DataFrame:
        """One line a row.

        `location_ns` is the time in the table that rows are ranked by, whole; `low_ns` and `high_ns` are the bounds of
        its 95 % interval, where there are two trials or more.
        """
        lines = [self._row(name, case) for name, case in self._cases()]
        return _table(lines, COMMON + ROW)

    @cached_property
    def trials(self) -> pd.DataFrame:
        """One line a trial. `location_ns` is its place in the row; `times_ns_…` are at all distances."""
        lines = [
            self._trial(name, case, trial) for name, case in self._cases() for trial in _trials(case)
        ]
        return _table(lines, COMMON + TRIAL)

    @property
    def reference(self) -> int | None:
        """The distance at which rows are compared: its place in `document["distances"]["all"]`."""
        found: int | None = self.document.get("distances", {}).get("reference")
        return found

    def histogram(self, name: str, trial: int | None = None) -> Histogram:
        """Every sample of the row of this name, or of one of its trials, at all distances.

        Raises KeyError where there is no such row or trial.
        """
        cases = [case for own, case in self._cases() if own == name]
        trials = [one for case in cases for one in _trials(case) if trial in (None, one["number"])]
        if not trials:
            raise KeyError(f"{name} was not measured" if trial is None else f"{name} has no trial {trial}")
        first, *others = (decode(one["times_ns"]["histogram"]) for one in trials)
        return sum(others, first)

    def _cases(self) -> list[tuple[str, dict[str, Any]]]:
        return list(zip(self._names, self.document["cases"], strict=True))

    def _row(self, name: str, case: dict[str, Any]) -> dict[str, Any]:
        trials = _trials(case)
        located = [found for trial in trials if (found := self._location(case, trial)) is not None]
        location, low, high = geometric_mean(located)
        is_stream = case["pattern"] in ("throughput", "fan-in")
        return {
            **_identity(name, case),
            "trials": len(trials),
            "location_ns": location,
            "low_ns": low,
            "high_ns": high,
            "messages_per_second": 1e9 / location if is_stream and location else None,
            "cpu_ns_per_message": median([_cpu_ns_per_message(trial) for trial in trials]),
        }

    def _trial(self, name: str, case: dict[str, Any], trial: dict[str, Any]) -> dict[str, Any]:
        return {
            **_identity(name, case),
            "trial": trial["number"],
            "round": trial["round"],
            "location_ns": self._location(case, trial),
            "clock_free_mean_ns": trial["clock_free_mean_ns"],
            "elapsed_ns": trial["elapsed_ns"],
            **{f"times_ns_{figure}": trial["times_ns"][figure] for figure in TIMES},
            "cpu_ns_per_message": _cpu_ns_per_message(trial),
            "messages": trial["session"]["messages"],
            "lost": trial["session"]["losses"]["lost"],
        }

    def _location(self, case: dict[str, Any], trial: dict[str, Any]) -> float | None:
        """The clock-free mean at the reference distance; of a row that could not be probed the overall one."""
        is_probed = any(one["blocks"]["probe_before_ns"] for one in _trials(case))
        if self.reference is None or not is_probed:
            overall: float = trial["clock_free_mean_ns"]
            return overall if overall > 0 else None
        found = [at.get("location_ns") for at in trial["by_distance"] if at["distance"] == self.reference]
        located: float | None = found[0] if found else None
        return located


def _table(lines: list[dict[str, Any]], columns: list[str]) -> pd.DataFrame:
    table = pd.DataFrame(lines, columns=columns)
    return table.astype({column: "float64" for column in OPTIONAL if column in columns})


def _trials(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The trials of a case; none where it was not measured."""
    return [trial for kind in case.get("measurement", {}).values() for trial in kind["trials"]]


def _identity(name: str, case: dict[str, Any]) -> dict[str, Any]:
    options = " ".join(f"{option}={value}" for option, value in sorted(case["options"].items()))
    # The file contains them only if there are several.
    properties = {key: case.get(key) for key in IDENTITY} | {"pairs": case.get("pairs", 1)}
    # The two ranks of each pair of a job, if all pairs were measured.
    ends = {end: place(case["between"][end]) if "between" in case else None for end in ("leader", "follower")}
    return {"name": name, **properties, **ends, "load": load(case), "options": options, "event": event(case)}


def _cpu_ns_per_message(trial: dict[str, Any]) -> float:
    session = trial["session"]
    spent = sum(process["cpu_ns"] for process in session["processes"])
    return float(spent / max(session["messages"], 1))
