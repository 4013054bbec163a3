"""The command `ipcmark`, called from Python."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from os import PathLike

from ipcmark.error import Error
from ipcmark.result import Result, parse


def run(words: str | Sequence[str], command: str | PathLike[str] | None = None) -> Result:
    """Measures with `ipcmark run` and these words, such as `"-t pipe -s 64"`, and returns the result.

    `command` is the path of `ipcmark`; without it that of the environment variable IPCMARK, the one that
    was installed with this package, or the one on the PATH.

    Raises Error with the command's own sentence where it fails. What it measured is in the error's `result`: a row that
    was asked for by name and could not be measured is a failure, too.
    """
    words = shlex.split(words) if isinstance(words, str) else list(words)
    line = [_found(command), "run", *words, "--format", "json"]
    try:
        ended = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False)
    except OSError as cause:
        raise Error(f"cannot start {line[0]}: {cause}") from cause
    result = parse(ended.stdout) if ended.stdout.startswith("{") else None
    if ended.returncode != 0 or result is None:
        raise Error(_sentence(ended, result), result)
    return result


def _found(command: str | PathLike[str] | None) -> str:
    found = command or os.environ.get("IPCMARK") or _installed() or shutil.which("ipcmark")
    if not found:
        raise Error("cannot find ipcmark: put it on the PATH, or name it with command= or the variable IPCMARK")
    return os.fspath(found)


def _installed() -> str | None:
    """The command that came with this package, wherever the PATH leads."""
    return shutil.which("ipcmark", path=sysconfig.get_path("scripts"))


def _sentence(ended: subprocess.CompletedProcess[str], result: Result | None) -> str:
    """What the command said, or the reasons of the rows that were not measured."""
    said = ended.stderr.strip().removeprefix("ipcmark: ")
    if said:
        return said
    rows = result.document["cases"] if result else []
    reasons = [f"{row['transport']}: {row['status']}: {row['reason']}" for row in rows if row["status"] != "ok"]
    return "; ".join(reasons) or f"ipcmark ended with the status {ended.returncode} and without a word"
