"""A macro's messages, on a terminal or in a pipe, as spock shows them."""

from __future__ import annotations

from rich.console import Console
from rich.control import Control
from rich.segment import ControlType
from rich.text import Text

STYLES = {"Info": "bright_blue", "Warning": "yellow", "Error": "red", "Critical": "bright_red"}
BEGIN, END = "<BLOCK>", "</BLOCK>"
"""Lines around a block that replaces the one before, such as the positions of moving motors."""


class MacroScreen:
    """Shows lines as they arrive; give `on_message` to a Door.

    Args:
        console: where they are shown; if it is not a terminal, only the last of such blocks is.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._within = False
        self._block: list[Text] = []

    def on_message(self, level: str, line: str) -> None:
        """Show one line.

        Args:
            level: "Output", "Info", "Warning", "Error" or "Critical".
            line: without its line end.
        """
        if line == BEGIN:
            self._within = True
            self._withdraw()
        elif line == END:
            self._within = False
        elif self._within:
            self._block.append(Text(line, style=STYLES.get(level, "")))
            if self._console.is_terminal:
                self._console.print(self._block[-1])
        else:
            self.flush()
            self._console.print(Text(line, style=STYLES.get(level, "")))

    def flush(self) -> None:
        """Keep the last block; call this at the end of a macro."""
        if not self._console.is_terminal:
            for line in self._block:
                self._console.print(line)
        self._block.clear()

    def _withdraw(self) -> None:
        if self._console.is_terminal:
            for line in self._block:
                for _ in range(1 + max(0, line.cell_len - 1) // self._console.width):
                    self._console.control(Control((ControlType.CURSOR_UP, 1), (ControlType.ERASE_IN_LINE, 2)))
        self._block.clear()
