"""Results of ipcmark, the benchmark for inter-process communication, as data frames.

>>> result = ipcmark.read("result.json")
>>> result.rows[["name", "location_ns", "low_ns", "high_ns"]]

`read` takes a result file, `run` measures with the command `ipcmark`. A result has a data frame of its rows, one of its
trials, and the histogram of every trial.
"""

try:
    from ipcmark.command import run
    from ipcmark.error import Error
    from ipcmark.histogram import Histogram, decode
    from ipcmark.result import Result, parse, read
except ModuleNotFoundError as missing:
    # Measuring does not need the packages that read results, so the package is installed without
    # them.
    sentence = f"cannot read results without {missing.name}: pip install 'ipcmark[data]'"
    raise ModuleNotFoundError(sentence, name=missing.name) from missing

__all__ = ["Error", "Histogram", "Result", "decode", "parse", "read", "run"]
