"""Frames for the live view in the HTTP process: read from shared memory or a closed file, and unpacked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.codecs.packed import CODECS
from penstock.codecs.pixel_type import fill_value, little_endian, pixel_type
from penstock.receiver.http.pictures import ViewError
from penstock.receiver.live.last_frame import CAPACITY, Held
from penstock.receiver.live.request import FrameRefused, check_status, out_of_range
from penstock.receiver.models import FrameStatus
from penstock.receiver.reading.reader import ReaderError, SeriesFile
from penstock.receiver.transforms.module_layout import Region, assemble
from penstock.receiver.validity.pixels import PixelRule, rule_of
from penstock.stins.blobs import blob_layout, has_colours
from penstock.stins.messages import Buffer
from penstock.stins.texts import of_series


@dataclass(frozen=True)
class UnpackedFrame:
    """One frame, unpacked."""

    array: np.ndarray[Any, Any]
    """(rows, cols), or (k, rows, cols) for modules or thresholds; (n,) for a spectrum, (rows, cols, 3) for
    colours."""
    frame: int
    """Index in the series."""
    series: str
    trigger: int | None = None
    version: int = 0
    """Version of the newest frame; 0 for a frame that was requested by index."""
    saturation: float | None = None
    channels: tuple[str, ...] = ()
    """Names of the k images, if they are channels."""
    modules: tuple[Region, ...] = ()
    """Positions of the modules in the image: pixels outside have no module. Empty if unknown."""
    interpretation: str = "image"
    """What it is, in NeXus' words: "image" (or k images), "spectrum" or "rgba-image"."""
    time: float | None = None
    """End of its exposure, or when it was received: seconds since 1970 (UTC); `None` if that is not known."""
    status: FrameStatus | None = None
    """What became of it; `None` if that is not known."""
    underload: float | None = None

    @property
    def rule(self) -> PixelRule:
        """Rule by which its pixels count."""
        return PixelRule(self.saturation, self.underload)

    @property
    def is_partial(self) -> bool:
        """True if a part of it is missing."""
        return self.status is FrameStatus.PARTIAL

    def image(self, channel: str | None) -> np.ndarray[Any, Any]:
        """Return the image of one channel, or of all channels for `None`.

        Raises:
            ViewError: there is no such channel.
        """
        if channel is None:
            return self.array
        if channel not in self.channels or self.array.ndim != 3:
            known = f"has {', '.join(self.channels)}" if self.channels else "has no channels: leave it out"
            raise ViewError(f"channel {channel}: series {self.series} {known}")
        return np.asarray(self.array[self.channels.index(channel)])


def unpack(shape: tuple[int, ...], dtype: str, compression: str, blobs: Sequence[Buffer]) -> np.ndarray:
    """Return the pixels of a frame, little endian, in this shape; a missing module has an empty blob.

    Raises:
        ValueError: a blob cannot be unpacked.
    """
    count, nbytes = blob_layout(shape, dtype, len(blobs))
    kind = pixel_type(dtype)
    parts = []
    for blob in blobs:
        if not len(blob):
            parts.append(np.full(nbytes // kind.itemsize, fill_value(dtype), kind))
        elif (codec := CODECS.get(compression)) is not None:
            parts.append(codec.decompress(blob, nbytes // kind.itemsize, kind))
        else:
            parts.append(np.frombuffer(blob, kind))
    whole = parts[0] if count == 1 else np.concatenate(parts)
    return little_endian(whole).reshape(shape)


def unpacked(held: Held, version: int = 0) -> UnpackedFrame:
    """Return a frame from shared memory, unpacked.

    Raises:
        FrameRefused: its blobs cannot be unpacked.
    """
    info = held.info
    modules = info.covered
    try:
        array = unpack(info.shape, info.dtype, info.compression, held.blobs)
        if info.layout is not None:
            _check_size(info.layout.pixels * array.dtype.itemsize, info.index, info.series)
            array = assemble(info.layout, list(array), array.dtype, fill_value(info.dtype))
            modules = info.layout.covered([len(blob) > 0 for blob in held.blobs])
    except ValueError as error:
        raise FrameRefused(
            "not_unpacked", f"frame {info.index} cannot be unpacked: {error}{of_series(info.series)}"
        ) from error
    return UnpackedFrame(
        array, info.index, info.series, info.trigger, version, info.saturation, info.channels, modules,
        _interpretation(info.shape, len(held.blobs)), info.time, info.status, info.underload,
    )  # fmt: skip


def from_closed_file(path: str, series: str, index: int) -> UnpackedFrame:
    """Return a frame of a series that has ended.

    Raises:
        FrameRefused: the frame is not in the file, or the file was replaced.
    """
    try:
        with SeriesFile(path) as file:
            if file.id != series:
                raise FrameRefused(
                    "file_gone", f"{path} is the file of another series now{of_series(series)}"
                )
            if index >= len(file):
                raise out_of_range(index, len(file), series)
            statuses = file.frame_status
            status = None if statuses is None else FrameStatus(int(statuses[index]))
            if status is not None:
                check_status(index, status, series)
            array, rule = file.frame(index), _rule(file)
            trigger = int(file.group["trigger"][index]) if "trigger" in file.group else -1
            return UnpackedFrame(
                array, index, series, None if trigger < 0 else trigger, 0, rule.saturation, file.channels,
                interpretation=file.interpretation, time=_time(file, index), status=status,
                underload=rule.underload,
            )  # fmt: skip
    except ReaderError as error:
        raise FrameRefused("unreadable", str(error)) from error


def _interpretation(shape: tuple[int, ...], blobs: int) -> str:
    if len(shape) == 1:
        return "spectrum"
    return "rgba-image" if has_colours(shape, blobs) else "image"


def _check_size(nbytes: int, index: int, series: str) -> None:
    """Refuse an assembled image that is larger than any frame that can be shown."""
    if nbytes > CAPACITY:
        raise FrameRefused(
            "too_large",
            f"frame {index} has {nbytes / 1e6:,.0f} MB once its modules are assembled; more than "
            f"{CAPACITY / 1e6:,.0f} MB is not shown{of_series(series)}",
        )


def _time(file: SeriesFile, index: int) -> float | None:
    times = file.group.get("timestamp")
    moment = float(times[index]) if times is not None and index < len(times) else np.nan
    return moment if np.isfinite(moment) else None


def _rule(file: SeriesFile) -> PixelRule:
    found = {name: file.group.get(name) for name in ("saturation_value", "underload_value")}
    return rule_of({name: each[()] for name, each in found.items() if each is not None and each.shape == ()})
