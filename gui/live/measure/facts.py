"""What the source knows of a series beside its frames: geometry and mask, asked for once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from silx.gui import qt

from penstock.gui.background import later
from penstock.gui.live.measure.beam.geometry import NOT_ASKED, Step, Turned
from penstock.gui.live.sources.source import Away, Refused, Source
from penstock.gui.live.threads import Worker
from penstock.receiver.client import LastFrame
from penstock.receiver.models import Geometry, Rectangle, Scan

AGAIN = 2000
"""Milliseconds until a source that was away, or busy, is asked again."""
FACTS = frozenset({"geometry", "mask", "scan", "steps"})
PASSING = frozenset({"busy", "in_error"})
"""Kinds of refusals that pass."""


@runtime_checkable
class Informed(Protocol):
    """A source that knows more of a series than its frames; safe from several threads."""

    def geometry(self, series: str) -> Geometry:
        """Return what is known of detector and beam."""

    def mask(self, series: str, channel: str | None = None) -> npt.NDArray[Any] | None:
        """Return the mask of a channel, (rows, cols), 0 where a pixel counts; `None` if there is none."""

    def rectangle(self, frame: LastFrame, place: Rectangle, channel: str | None = None) -> LastFrame:
        """Return these pixels, whole, of this frame, or of a newer one where it is not kept."""


@runtime_checkable
class Transforming(Protocol):
    """A source that may turn and mirror images; safe from several threads."""

    def transforms(self) -> Sequence[Mapping[str, Any]]:
        """Return the steps that it applies to each frame, as in its configuration."""


@runtime_checkable
class Scanned(Protocol):
    """A source that knows which scan a series belongs to; safe from several threads."""

    def scan(self, series: str) -> Scan:
        """Return what the series' metadata say of its scan."""


class Facts(qt.QObject):
    """Geometry, mask and scan of the series on show, and the steps of its receiver.

    Args:
        worker: where the source is asked.
    """

    changed = qt.Signal()
    """Something else is known."""
    mask_changed = qt.Signal()
    """Other pixels are known to be left out."""

    def __init__(self, worker: Worker, parent: qt.QObject | None = None) -> None:
        super().__init__(parent)
        self._worker = worker
        self._source: Source | None = None
        self._series = ""
        self._channels: tuple[str, ...] = ()
        self._geometry: Geometry | None = None
        self._mask: npt.NDArray[Any] | None = None
        self._bad: _LeftOut | None = None
        self._steps: Sequence[Step] | None = None
        self._scan: Scan | None = None
        self._why: dict[str, str] = {}
        self._known: set[str] = set()
        worker.done.connect(self._take, qt.Qt.QueuedConnection)
        worker.failed.connect(self._fail, qt.Qt.QueuedConnection)
        self._again = later(self._ask, self, AGAIN)

    def follow(self, source: Source | None, series: str, channels: Sequence[str]) -> None:
        """Ask for what is known of this series, unless that was asked already."""
        if (source, series, tuple(channels)) == (self._source, self._series, self._channels):
            return
        if source is not self._source:
            self._steps = None  # else those of the series before are as good, until there is an answer
        self._source, self._series, self._channels = source, series, tuple(channels)
        self._geometry = self._mask = self._bad = self._scan = None
        self._known.clear()
        self._why.clear()
        self._ask()
        self.changed.emit()

    def geometry(self) -> Geometry | None:
        """Return what is known of detector and beam; `None` if nothing is, or not yet."""
        return self._geometry

    def mask(self, shape: tuple[int, int]) -> npt.NDArray[Any] | None:
        """Return the mask of an image of this shape; `None` if there is none, or not yet."""
        fits = self._mask is not None and self._mask.shape == shape
        return self._mask if fits else None

    def bad(self, frame: LastFrame) -> npt.NDArray[np.bool_] | None:
        """Return the pixels of a frame that the mask of its series leaves out; `None` if none are known.

        From any thread.
        """
        bad = self._bad
        if bad is None or frame.series != self._series or frame.interpretation != "image":
            return None
        if frame.downsample > 1 and frame.method != "max_valid":
            return None
        found = bad.of_blocks(frame.downsample)
        return found if found.shape == _shape(frame) else None

    def scan(self) -> Scan | None:
        """Return what is known of the scan; `None` if nothing is, or not yet."""
        return self._scan

    def is_looking_for_mask(self) -> bool:
        """Return whether the mask was asked for and there is no answer yet."""
        asked = bool(self._series) and isinstance(self._source, Informed)
        return asked and not self.has_looked_for_mask() and not self.why("mask")

    def has_looked_for_mask(self) -> bool:
        """Return whether it is known if there is a mask."""
        return "mask" in self._known

    def turned(self, source: Source | None, size: tuple[int, int] | None) -> Turned:
        """Return what was done to the image on show.

        Args:
            source: where it is from.
            size: its rows and columns; `None` if they are not known.
        """
        if not isinstance(source, Transforming):
            return Turned()
        steps = self._steps if source is self._source else None
        return Turned(steps, size, self.why("steps") or NOT_ASKED)

    def why(self, what: str) -> str:
        """Return why one of `FACTS` is not known: a sentence; "" if it is, or not yet."""
        return self._why.get(what, "")

    def _ask(self) -> None:
        source, series, channels = self._source, self._series, self._channels
        if not series or not isinstance(source, Informed):
            return
        if "geometry" not in self._known:
            self._worker.ask("geometry", lambda: (source, series, source.geometry(series)))
        if "steps" not in self._known and isinstance(source, Transforming):
            self._worker.ask("steps", lambda: (source, series, source.transforms()))
        if "scan" not in self._known and isinstance(source, Scanned):
            self._worker.ask("scan", lambda: (source, series, source.scan(series)))
        if "mask" not in self._known:
            self._worker.ask("mask", lambda: (source, series, _masks(source, series, channels)))

    def _take(self, name: str, found: Any) -> None:
        if name not in FACTS or found[:2] != (self._source, self._series):
            return
        self._known.add(name)
        self._why.pop(name, None)
        if name == "geometry":
            self._geometry = found[2]
        elif name == "steps":
            self._steps = found[2]
        elif name == "scan":
            self._scan = found[2]
        else:
            self._mask, self._bad = found[2]
        self.changed.emit()
        if name == "mask" and self._bad is not None:
            self.mask_changed.emit()

    def _fail(self, name: str, error: Exception) -> None:
        if name not in FACTS:
            return
        self._why[name] = str(error)
        if isinstance(error, Away) or getattr(error, "kind", "") in PASSING:
            self._again.start()
        elif isinstance(error, Refused):
            self._known.add(name)
        self.changed.emit()


def _shape(frame: LastFrame) -> tuple[int, int]:
    """Return the shape of a frame's images, one below the other."""
    columns = frame.array.shape[-1]
    return frame.array.size // max(1, columns), columns


class _LeftOut:
    """What the masks of several images leave out, also of images that came in blocks.

    Args:
        bad: (rows, cols), the images one below the other.
        images: number of them.
    """

    def __init__(self, bad: npt.NDArray[np.bool_], images: int) -> None:
        self._images = bad.reshape(images, -1, bad.shape[1])
        self._known = {1: bad}

    def of_blocks(self, step: int) -> npt.NDArray[np.bool_]:
        """Return which blocks of step x step pixels are left out whole, the images one below the other."""
        if step not in self._known:
            found = self._images
            for axis in (1, 2):
                found = np.logical_and.reduceat(found, np.arange(0, found.shape[axis], step), axis=axis)
            self._known[step] = found.reshape(-1, found.shape[2])
        return self._known[step]


def _masks(
    source: Informed, series: str, channels: Sequence[str]
) -> tuple[npt.NDArray[Any] | None, _LeftOut | None]:
    """Return the masks of several images, one below the other, as they are shown; and what they leave out."""
    wanted: Sequence[str | None] = channels or [None]
    found = [source.mask(series, channel) for channel in wanted]
    if any(each is None for each in found):
        return None, None
    mask = np.concatenate([each for each in found if each is not None])
    bad = np.asarray(mask != 0)
    return mask, _LeftOut(bad, len(found)) if bad.any() else None
