"""Where results come from: a protocol. A pipeline is one source, its result file is another."""

from __future__ import annotations

from typing import Protocol

from penstock.processing.client import Newest, Rows, States
from penstock.processing.models import Result, Status


class ResultSource(Protocol):
    """The results of the running or last series. It is asked by one thread.

    Each call answers within a few seconds, or raises `Away` or `Refused` of `gui.live.source`.
    """

    @property
    def address(self) -> str:
        """What the user has given: a URL, or the path of a file."""

    @property
    def is_file(self) -> bool:
        """Whether it is a file, which has no pipeline behind it."""

    def status(self) -> Status:
        """Return the pipeline's state, and the account of its newest series."""

    def results(self) -> list[Result]:
        """Return what results there are by now; nothing if the series has none yet."""

    def states(self, first: int, end: int | None = None) -> States:
        """Return the states of the frames from `first` on, and before `end`."""

    def rows(self, name: str, first: int, end: int, step: int = 1, *, values: bool = True) -> Rows:
        """Return values of the frames from `first` on and before `end`, of every `step`-th.

        Args:
            name: of a result per frame.
            first: index of a frame.
            end: likewise.
            step: 1 or more.
            values: if false, only which frames have a value, and how many events.
        """

    def newest(self, name: str) -> Newest | None:
        """Return the newest value of any result; `None` before the first."""

    def sentence(self, frame: int) -> str:
        """Return why a frame has failed, where that is known; else ""."""
