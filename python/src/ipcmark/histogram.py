"""Histograms of a result file: HdrHistogram V2, compressed, in base64."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from ipcmark.error import Error


@dataclass(frozen=True)
class Histogram:
    """Samples in ns by value: `counts[i]` of them lie between `values[i]` and `highest[i]`, both included.

    Only values that were seen stand there, in ascending order. They are known to one part in a thousand.
    """

    values: NDArray[np.int64]
    highest: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def count(self) -> int:
        """Number of samples."""
        return int(self.counts.sum())

    def percentile(self, q: float) -> int:
        """The value in ns that `q` of 100 samples do not exceed, as the result file has it."""
        if not 0 <= q <= 100:
            raise ValueError(f"a percentile lies between 0 and 100, not at {q}")
        if self.count == 0:
            return 0
        rank = max(np.ceil(q / 100 * self.count), 1)
        return int(self.highest[np.searchsorted(self.counts.cumsum(), rank)])

    def __add__(self, other: Histogram) -> Histogram:
        """The samples of both."""
        values, places = np.unique(np.concatenate([self.values, other.values]), return_inverse=True)
        counts = np.zeros(len(values), np.int64)
        np.add.at(counts, places, np.concatenate([self.counts, other.counts]))
        highest = np.zeros(len(values), np.int64)
        highest[places] = np.concatenate([self.highest, other.highest])
        return Histogram(values, highest, counts)


def decode(text: str) -> Histogram:
    """The histogram of this text.

    Raises Error where the text is none.
    """
    try:
        histogram = HdrHistogram.decode(text)
    except Exception as cause:  # The library raises the exceptions of its parts.
        raise Error(f"cannot read a histogram: {cause}") from cause
    recorded = [
        (step.value_iterated_to, step.count_added_in_this_iter_step)
        for step in histogram.get_recorded_iterator()
    ]
    values = [histogram.get_lowest_equivalent_value(value) for value, _ in recorded]
    highest = [histogram.get_highest_equivalent_value(value) for value, _ in recorded]
    counts = [count for _, count in recorded]
    return Histogram(*(np.array(column, np.int64) for column in (values, highest, counts)))
