"""One record that has the frames: which of them it takes, and the counts of those that it leaves out."""

from __future__ import annotations

import time
from typing import Protocol

from penstock.bridges.epics import models
from penstock.bridges.epics.config import ImageConfig
from penstock.bridges.epics.ndarray import Array


class Record(Protocol):
    """What serves the images: p4p, or PvaPy."""

    def post(self, array: Array) -> None:
        """Show an array."""


class ImageRecord:
    """One record.

    Args:
        config: of the record.
        name: its whole name.
        record: serves it.
    """

    def __init__(self, config: ImageConfig, name: str, record: Record) -> None:
        self.unpack = config.unpack
        self.name = name
        self._every, self._seconds = config.every, 1 / config.rate if config.rate else 0.0
        self._record = record
        self._due = 0.0
        self._held: Array | None = None  # the newest one that `rate` has left out
        self._posted = self._skipped = self._limited = self._refused = 0
        self._frame: int | None = None
        self._problem = ""

    @property
    def status(self) -> models.Image:
        """Counts since the bridge was started."""
        return models.Image(
            record=self.name, posted=self._posted, skipped=self._skipped, limited=self._limited,
            refused=self._refused, frame=self._frame, problem=self._problem,
        )  # fmt: skip

    def begin(self) -> None:
        """A series begins."""
        self._held, self._due, self._frame, self._problem = None, 0.0, None, ""

    def takes(self, index: int) -> bool:
        """Return whether a frame is posted as far as its index is concerned; count it if not."""
        if index % self._every:
            self._skipped += 1
            return False
        return True

    def offer(self, array: Array) -> None:
        """Post an array, unless the last one is too recent."""
        now = time.monotonic()
        if now < self._due:
            self._limited += 1
            self._held = array
            return
        self._due = (self._due if now - self._due < self._seconds else now) + self._seconds
        self._held = None
        self._post(array)

    def refuse(self, why: str) -> None:
        """Count a frame that cannot be posted."""
        self._refused += 1
        self._problem = why

    def end(self) -> None:
        """Post the last frame of a series, if `rate` has left it out."""
        if self._held is not None:
            self._limited -= 1
            self._post(self._held)
            self._held = None

    def _post(self, array: Array) -> None:
        self._record.post(array)
        self._posted += 1
        self._frame = array.index
