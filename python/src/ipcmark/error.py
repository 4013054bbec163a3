"""What went wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ipcmark.result import Result


class Error(Exception):
    """A result that cannot be read, or a command that failed: its text is the sentence that the command says."""

    def __init__(self, sentence: str, result: Result | None = None) -> None:
        super().__init__(sentence)
        #: The result that the command measured before it failed; None if it measured nothing.
        self.result = result
