"""A result of the real command, which scripts/python.sh names, for all tests."""

import os
import subprocess
from pathlib import Path

import ipcmark
import pytest

WORDS = "-t pipe,null -s 64 -w spin -p latency,throughput -n 2000 --trials 3 --timeout 5m"


@pytest.fixture(scope="session")
def command() -> str:
    """The command under test."""
    found = os.environ.get("IPCMARK")
    assert found, "IPCMARK does not name the command; run the tests with `make python`"
    return found


@pytest.fixture(scope="session")
def saved(command: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result file: a ping-pong and a stream, three trials each, the harness itself, and a row that cannot be."""
    path = tmp_path_factory.mktemp("saved") / "result.json"
    ended = subprocess.run([command, "run", *WORDS.split(), "-o", path], stdout=subprocess.DEVNULL, check=False)
    assert ended.returncode == 1, "one row was asked for by name that cannot be"
    return path


@pytest.fixture(scope="session")
def result(saved: Path) -> ipcmark.Result:
    """The same, read."""
    return ipcmark.read(saved)


@pytest.fixture(scope="session")
def show(command: str, saved: Path):
    """The saved result in a format."""

    def shown(form: str, *words: str) -> str:
        line = [command, "show", saved, "--format", form, *words]
        return subprocess.run(line, check=True, capture_output=True, encoding="utf-8").stdout

    return shown
