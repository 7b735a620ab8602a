"""The regions of interest of one series: their pixels, and the values that wait to be written."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.receiver.config.rectangles import Rectangle
from penstock.receiver.regions import pixels
from penstock.receiver.regions.pixels import Area
from penstock.receiver.transforms.channels import PartialFrame
from penstock.receiver.transforms.joined import JoinedFrame
from penstock.receiver.transforms.module_layout import Region
from penstock.receiver.transforms.steps.chain import PackedFrame
from penstock.receiver.validity.mask import mask_of
from penstock.receiver.validity.pixels import rule_of
from penstock.stins.blobs import has_colours
from penstock.stins.errors import StinsError
from penstock.stins.messages import Frame
from penstock.stins.texts import of_series, plural

Row = np.ndarray[Any, Any]
"""Values of one frame: float64, (regions, values)."""


class RegionSeries:
    """The regions of interest of one series; `row` is called by any number of threads.

    Args:
        series: id of the series.
        rois: rectangles by name.
        metadata: metadata of the start message after the transforms: rotated like the frames.
        channels: names of the channels of a frame, if it has several; the first one is used.
        known: values from before the receiver was killed, by index.
        times: times of these frames, in seconds since 1970 (UTC), by index; NaN where there is none.
    """

    def __init__(
        self, series: str, rois: Mapping[str, Rectangle], metadata: Mapping[str, Any],
        channels: Sequence[str] = (), known: Mapping[int, Row] | None = None,
        times: np.ndarray[Any, Any] | None = None,
    ) -> None:  # fmt: skip
        self.id = series
        self.rois = dict(rois)
        self.known = dict(known or {})
        self._times = times
        self.newest: tuple[int, Row] | None = None
        """Highest index with values, and the values."""
        self.to_write: deque[tuple[int, Row]] | None = None
        """Values that are not in the file yet; `None` if no file is written."""
        self.sentences: deque[StinsError] = deque()
        """Why regions or frames have no values, for the user; whoever reports a sentence removes it."""
        self._metadata = metadata
        self._rule = rule_of(metadata)
        self._channel = channels[0] if channels else None
        self._lock = threading.Lock()
        self._areas: tuple[tuple[int, int], list[Area | None]] | None = None
        self._said: set[str] = set()

    def row(self, frame: Frame) -> Row | None:
        """Return the values of one frame; `None`, with an entry in `sentences`, if it has none."""
        image = frame.image
        if isinstance(frame, JoinedFrame) and len(image.shape) == 3:
            self._say_once(
                "roi_no_image",
                "regions of interest need frames of one image, these are separate modules; put "
                "{type: assemble} into the transforms",
            )
            return None
        if len(image.shape) == 1 or has_colours(image.shape, len(frame.blobs)):
            what = "spectra" if len(image.shape) == 1 else "colour images"
            self._say_once(
                "roi_no_image", f"regions of interest need images of [rows, cols], these frames are {what}"
            )
            return None
        whole = image.partial is None or (isinstance(frame, PartialFrame) and len(frame.blobs[0]))
        if not whole:
            return None
        covered = frame.covered if isinstance(frame, JoinedFrame) else ()
        height, width = image.shape[-2:]
        areas = self._areas_in((height, width), covered)
        rows = pixels.rows_of(areas)
        try:
            if isinstance(frame, PackedFrame):
                array = frame.pixels[rows]
            else:
                array = pixels.unpack(image, frame.blobs[0], rows)
            found = [pixels.values(array, where, self._rule, rows.start) for where in areas]
            return np.array(found, np.float64)
        except ValueError as error:
            sentence = f"{image.said} has no values: {error}"
            self.sentences.append(StinsError("roi_not_unpacked", sentence))
            return None

    def time_known(self, index: int) -> float | None:
        """Return the time of a frame from before the receiver was killed; `None` if it has none."""
        return float(self._times[index]) if self._times is not None and index < len(self._times) else None

    def take(self, index: int, row: Row) -> None:
        """Take the values of one frame."""
        if self.newest is None or index >= self.newest[0]:
            self.newest = index, row
        if self.to_write is not None:
            self.to_write.append((index, row))

    def _areas_in(self, size: tuple[int, int], covered: Sequence[Region]) -> list[Area | None]:
        """Return the rectangles' parts of a frame of this size; computed once."""
        with self._lock:
            if self._areas is None:
                masked = self._masked(size, covered)
                found = [pixels.area(each, size, masked) for each in self.rois.values()]
                self._say_what_is_outside(size, found)
                self._areas = size, found
            return self._areas[1]

    def _masked(self, size: tuple[int, int], covered: Sequence[Region]) -> np.ndarray[Any, Any] | None:
        masked = None
        try:
            masked = mask_of(self._metadata, self._channel)
            if masked is not None and masked.shape != size:
                raise ValueError(f"it has {list(masked.shape)} pixels, the frame {list(size)}")
        except (TypeError, ValueError) as error:
            masked = None
            self._say_once(
                "roi_mask",
                f"regions of interest: the pixel_mask cannot be used, all pixels count: {error}; compare "
                "it with the frames",
            )
        if covered:  # gaps between modules have no pixels
            gap = np.ones(size, bool)
            for row, column, rows, columns in covered:
                gap[row : row + rows, column : column + columns] = False
            masked = gap if masked is None else masked | gap
        return masked

    def _say_what_is_outside(self, size: tuple[int, int], found: Sequence[Area | None]) -> None:
        for (name, region), where in zip(self.rois.items(), found, strict=True):
            if where is None:
                sentence = (
                    f"region of interest {name} begins at x={region.x}, y={region.y}, and the frame has "
                    f"{plural(size[1], 'column')} and {plural(size[0], 'row')}: it has no values; "
                    f"move it{of_series(self.id)}"
                )
                self.sentences.append(StinsError("roi_outside", sentence))

    def _say_once(self, kind: str, sentence: str) -> None:
        if kind not in self._said:
            self._said.add(kind)
            self.sentences.append(StinsError(kind, f"{sentence}{of_series(self.id)}"))
