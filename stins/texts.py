"""Counts and foreign text, formatted for sentences, logs, status and files."""

from __future__ import annotations

from penstock.stins.messages import MAX_NAME

MAX_SHOWN = 300
"""Most characters of a file name in a sentence."""


def plural(count: int | None, one: str, many: str | None = None) -> str:
    """Return a number and what is counted: "1 frame", "2,000 frames", "an unknown number of frames".

    Args:
        count: `None` if unknown.
        one: what is counted, and a verb where one follows: "frame", "frame is".
        many: the same of any other number; `one` with an s when not given.
    """
    if count == 1:
        return f"1 {one}"
    return f"{'an unknown number of' if count is None else f'{count:,}'} {many or one + 's'}"


def counted(number: int, name: str) -> str:
    """Return a count of an account in words: "2 not triggered", "1 lost message"."""
    words = name.replace("_", " ")
    return f"{number:,} {words.removesuffix('s') if number == 1 else words}"


def named(filename: str | None) -> str:
    """Return what a sentence about a series begins with: its file, by which a person knows it."""
    return quoted(filename, MAX_SHOWN) if filename else "a live series"


def of_series(series: str | None) -> str:
    """Return what stands at the end of a sentence about a series: an id is long and says nothing to a
    person."""
    return f" (series {quoted(series, MAX_NAME)})" if series else ""


def quoted(text: str, most: int) -> str:
    """Return the text on one line and no longer than it may be: whoever sends it shall neither forge a line
    of a log, nor steer a terminal, nor fill a datagram.

    Args:
        text: of any length, with any characters.
        most: characters that are kept; of what is longer the end is cut, which " …" shows.
    """
    if len(text) <= most and text.isprintable():
        return text
    # Lone surrogates too, which no encoding takes.
    safe = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text[: most + 1])
    return safe if len(safe) <= most else f"{safe[:most]} …"


def plain_text(value: str) -> str:
    """Return text that HDF5 can hold: without NUL and lone surrogates."""
    return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
