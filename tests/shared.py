"""What the tests of a folder share, such as a beamline, ends behind the last of them.

A fixture of the session would live until its end, and takes processor time from all other tests meanwhile.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

import pytest

T = TypeVar("T")


class Shared(Generic[T]):
    """Something that is made for the first test that asks for it, and kept for others of its folder.

    Args:
        make: makes it.
    """

    every: ClassVar[list[Shared[Any]]] = []

    def __init__(
        self, make: Callable[[pytest.TempPathFactory], contextlib.AbstractContextManager[T]]
    ) -> None:
        self._make = make
        self._stack = contextlib.ExitStack()
        self._made: T | None = None
        self._folder = ""
        self.every.append(self)

    def get(self, request: pytest.FixtureRequest) -> T:
        """Return it to a fixture."""
        self._folder = _folder(request.node.nodeid)
        if self._made is None:
            self._made = self._stack.enter_context(self._make(request.getfixturevalue("tmp_path_factory")))
        return self._made

    def end_before(self, test: str) -> None:
        """End it if this test, "" for none, is of another folder."""
        if self._made is not None and _folder(test) != self._folder:
            self._made = None
            self._stack.close()


def _folder(test: str) -> str:
    return test.partition("::")[0].rpartition("/")[0]
