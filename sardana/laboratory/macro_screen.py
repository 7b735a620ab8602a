"""What a macro says, on a terminal or into a pipe, as spock shows it."""

from __future__ import annotations

from rich.console import Console
from rich.control import Control
from rich.segment import ControlType
from rich.text import Text

STYLES = {"Info": "bright_blue", "Warning": "yellow", "Error": "red", "Critical": "bright_red"}
BEGIN, END = "<BLOCK>", "</BLOCK>"
"""Lines between which a macro shows what replaces itself, such as positions on the way."""


class MacroScreen:
    """Shows lines as they come; give `on_message` to a Door.

    Args:
        console: where to. Where it is no terminal, of a block that replaces itself the last one is shown.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._within = False
        self._block: list[Text] = []

    def on_message(self, level: str, line: str) -> None:
        """Show one line.

        Args:
            level: "Output", "Info", "Warning", "Error" or "Critical".
            line: without its end.
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
        """What was shown last stays; at the end of a macro."""
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
