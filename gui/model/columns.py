"""Columns of a table: what each says of a row, and how rows are sorted by it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Column:
    """One column."""

    title: str
    text: Callable[[Any], str]
    key: Callable[[Any], Any] = str
    """The value by which the column is sorted."""
    right: bool = False
    old: bool = False
    """The last known value is shown, in grey, once the source is away."""
    tip: str = ""


def as_text(columns: Sequence[Column], rows: Iterable[Any]) -> str:
    """Return titles and rows as lines, with tabs."""
    lines = [[column.title for column in columns]]
    lines += [[column.text(row) for column in columns] for row in rows]
    return "\n".join("\t".join(line) for line in lines)
