"""Every error of a configuration, not only the first one, which is all that msgspec finds."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from penstock.service.setting_errors import ANY_KEY, Words, sentence, steps

T = TypeVar("T")


def find(
    raw: Any, model: type[T], name: str, words: Words, needed: Mapping[str, Any]
) -> tuple[list[str], T | None]:
    """Return every error as a sentence, and what is without errors; `None` if nothing is.

    What is wrong is taken out, and the rest looked at again.

    Args:
        raw: content of the file, or a part of it.
        model: the type that it should have.
        name: name of the part, such as "receiver eiger-1"; "" for the whole file.
        words: of this kind of file.
        needed: what stands for a required setting that is missing or wrong, by its dotted name.
    """
    rest, found, taken_out = copy.deepcopy(raw), list[str](), set[str]()
    while True:
        try:
            return found, msgspec.convert(rest, model)
        except msgspec.ValidationError as error:
            said = str(error)
            path, is_missing = _place(said)
            if not is_missing or _dotted(path) not in taken_out:
                found.append(sentence(rest, model, said, name, words))
            if is_missing and _dotted(path) not in needed:
                path = path[:-1]  # it cannot be without
            taken_out.add(_dotted(path))
            if not path or not _take_out(rest, path, needed.get(_dotted(path))):
                return found, None


def _place(said: str) -> tuple[list[str | int], bool]:
    """Return which setting an error is about, and whether it is missing."""
    what, _, where = said.partition(" - at `")
    if where.startswith("key` in `"):
        return [], False
    path = steps(where.rstrip("`"))
    if ANY_KEY in path:  # of a mapping whose keys are free msgspec does not name the one
        path = path[: path.index(ANY_KEY)]
    if unknown := re.match(r"Object contains unknown field `(.*)`$", what):
        return [*path, unknown[1]], False
    if missing := re.match(r"Object missing required field `(.*)`$", what):
        return [*path, missing[1]], True
    return path, False


def _take_out(rest: Any, path: list[str | int], stands: Any) -> bool:
    """Take a setting out, or put what stands for it; return false if it is not there."""
    parent: Any = rest
    last: Any = path[-1]
    for step in path[:-1]:
        parent = parent[step]
    if stands is not None and isinstance(parent, dict) and parent.get(last) != stands:
        parent[last] = stands
    elif isinstance(parent, list) or last in parent:
        del parent[last]
    else:
        return False
    return True


def _dotted(path: list[str | int]) -> str:
    return ".".join(map(str, path))
