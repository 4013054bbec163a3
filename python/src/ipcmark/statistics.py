"""The statistics of ipcmark's tables."""

from __future__ import annotations

import numpy as np
from scipy import stats

#: The confidence level of every interval.
CONFIDENCE = 0.95


def geometric_mean(times: list[float]) -> tuple[float | None, float | None, float | None]:
    """The geometric mean of a time of each trial and the bounds of its interval: Student's on the logarithm."""
    if not times:
        return None, None, None
    logarithms = np.log(times)
    mean = float(logarithms.mean())
    if len(times) == 1:
        return times[0], None, None
    error = float(logarithms.std(ddof=1)) / len(times) ** 0.5
    width = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(times) - 1)) * error
    return float(np.exp(mean)), float(np.exp(mean - width)), float(np.exp(mean + width))


def median(figures: list[float]) -> float | None:
    """The median; none of nothing."""
    return float(np.median(figures)) if figures else None
