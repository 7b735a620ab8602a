"""Where the window's data comes from: a protocol. A receiver is one source, a file is another.

The window knows nothing else of it: it asks what can be shown, and shows that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.receiver.client import LastFrame
from penstock.receiver.models import FrameStatus, Lost, Status

MANY = 8
"""Most names in a sentence."""


class NoAnswer(Exception):
    """The source has no answer: `Away` or `Refused`. A sentence: component, value and remedy."""


class Away(NoAnswer):
    """Nobody answers there, or it cannot be read; it is asked again by and by."""


class Refused(NoAnswer):
    """It answers, but not to this.

    Args:
        message: the sentence.
        kind: short stable name, such as "missing" or "not_yet".
        retry_after: seconds after which to ask again; `None`: asking again changes nothing.
    """

    def __init__(self, message: str, kind: str = "", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after


@dataclass(frozen=True)
class Content:
    """What a source has. Each kind is shown by tools of its own."""

    images: bool = False
    """Frames that are images, colours or spectra."""
    curves: tuple[str, ...] = ()
    """Names of what has many values per series, to be drawn as lines."""
    scalars: tuple[str, ...] = ()
    """Names of what has one value per frame."""

    def sentence(self) -> str:
        """Return what it has instead of images."""
        kinds = {"curves": self.curves, "one value per frame": self.scalars}
        found = [f"{kind}: {_listed(names)}" for kind, names in kinds.items() if names]
        return (
            f"There are no images here, but {'; '.join(found)}."
            if found
            else "There is nothing to show here."
        )


def _listed(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - MANY} more" if len(names) > MANY else ""
    return f"{', '.join(names[:MANY])}{more}"


@contextmanager
def translated(unavailable: type[Exception], refused: type[Any]) -> Iterator[None]:
    """Raise `Away` or `Refused` in place of a client's own errors."""
    try:
        yield
    except unavailable as error:
        raise Away(str(error)) from error
    except refused as error:
        raise Refused(str(error), error.kind, error.retry_after) from error


IMAGES = Content(images=True)
"""Images, and nothing else."""


@dataclass(frozen=True)
class Part:
    """What of a frame is transferred."""

    channel: str | None = None
    """One of its images, such as a threshold; `None`: all of them."""
    block: int = 1
    """Rows and columns that become one pixel, the greatest of those that have a value. Above 1, what comes is
    for drawing only: no number may be made of it."""


WHOLE = Part()
"""All pixels of all images."""


class Source(Protocol):
    """Frames by index and, of a series that is under way, the newest; safe from several threads.

    Each call answers within a few seconds, or raises `Away` or `Refused`.
    """

    @property
    def address(self) -> str:
        """What the user has given: a URL, or the path of a file."""

    @property
    def is_file(self) -> bool:
        """True if it is a file, which has an end, and no detector behind it."""

    def status(self, seen: int | None = None, wait: float = 0.0) -> Status:
        """Return state and account of the series; with `seen`, wait for another version so many seconds."""

    def content(self) -> Content:
        """Return what can be shown."""

    def choices(self) -> tuple[tuple[str, ...], str]:
        """Return what of it can be shown as images, and what is; nothing if there is no choice."""

    def reload(self, images: str | None = None) -> None:
        """Read it again, if it is a file; `images`: another of its `choices`."""

    def count(self) -> int | None:
        """Return the frames of the series, planned ones too; `None` if that is not known."""

    def frame_status(self, index: int) -> FrameStatus | None:
        """Return what became of a frame; `None` if that is not known one by one."""

    def lost(self) -> tuple[Lost, ...]:
        """Return all ranges of frames that are not, or not as a whole, in the file, once that is known."""

    def newest(self, seen: int | None = None, part: Part = WHOLE) -> LastFrame | None:
        """Return the newest frame, or `None` if there is none newer than version `seen`."""

    def frame(self, index: int, part: Part = WHOLE) -> LastFrame:
        """Return a frame by its index."""
