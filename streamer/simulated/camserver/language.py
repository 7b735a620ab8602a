"""camserver's language: bytes in, commands out; answers as bytes. Neither socket nor clock."""

from __future__ import annotations

import re
from collections.abc import Sequence

ENDS = re.compile(rb"[\x00-\x08\x0a-\x1f]+")
"""Ends of a command: NUL from the vendor's client, a newline from ADPilatus, 0x18 from Lima; camserver takes
every control character ([cs] `rxMsg`)."""
NAME = re.compile(r"\w*")
LONGEST = 4096
"""Most bytes of a command ([cs] `LENMSG`)."""


class Commands:
    """Bytes in, lines out."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[str]:
        """Return the commands that are complete now."""
        *complete, rest = ENDS.split(self._rest + data)
        self._rest = rest[-LONGEST:]
        return [line.decode("latin-1").strip() for line in complete if line.strip()]


def parse(line: str, names: Sequence[str]) -> tuple[str, str]:
    """Return the name of a command and its argument; names may be abbreviated, and case is ignored.

    Raises:
        KeyError: there is no such command, or there are several.
    """
    word = NAME.match(line)
    given = word[0].lower() if word else ""
    matching = [name for name in names if given and name.lower().startswith(given)]
    exact = [name for name in matching if name.lower() == given]
    if len(exact or matching) != 1:
        raise KeyError(line.split(" ")[0])
    return (exact or matching)[0], line[len(given) :].strip(" =\t")


def answer(code: int, ok: bool, text: str = "") -> bytes:
    """Return an answer: code, OK or ERR, text, 0x18, and no newline ([um] p. 19)."""
    return f"{code} {'OK' if ok else 'ERR'} {text}".encode("latin-1", "replace") + b"\x18"
