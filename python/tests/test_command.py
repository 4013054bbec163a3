"""The command called from Python, and what it says when it fails."""

import ipcmark
import pytest


def test_a_run_is_a_result(command):
    result = ipcmark.run("-t null -s 64 -n 100 --trials 2", command)
    assert list(result.rows.name) == ["latency/null/64/spin/span:none/round_trip"]
    assert result.rows.location_ns[0] > 0
    assert len(ipcmark.run(["-t", "null", "-s", "64,4k", "-n", "10", "--trials", "1"], command).rows) == 2


def test_a_failure_has_the_message_of_the_command(command):
    with pytest.raises(ipcmark.Error, match="^there is no transport 'nonsense'") as failure:
        ipcmark.run("-t nonsense", command)
    assert failure.value.result is None


def test_an_unsupported_row_is_a_failure_with_its_reason(command):
    with pytest.raises(ipcmark.Error, match="null: unsupported: it cannot wait by block") as failure:
        ipcmark.run("-t null -s 64 -w block -n 100", command)
    assert failure.value.result is not None
    assert list(failure.value.result.rows.status) == ["unsupported"]


def test_a_missing_command_is_reported(monkeypatch):
    with pytest.raises(ipcmark.Error, match="cannot start /nowhere/ipcmark"):
        ipcmark.run("-t null", "/nowhere/ipcmark")
    monkeypatch.delenv("IPCMARK")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ipcmark.Error, match="cannot find ipcmark: put it on the PATH"):
        ipcmark.run("-t null")
