"""The frames of a file: those that were not taken live, and those of `penstock process PIPELINE FILE`.

Packed frames stay packed. Files of Penstock say which frames they have; of others those count that were ever
stored, see `receiver.hdf5`.
"""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np

from penstock.codecs.packed import CODECS
from penstock.codecs.pixel_type import fill_value, name_of
from penstock.processing.sources.stored_blobs import NONE, Located, StoredBlobs
from penstock.receiver import geometry
from penstock.receiver.models import FrameStatus
from penstock.receiver.reading.hdf5_frames import Hdf5Frames
from penstock.receiver.reading.reader import ReaderError, SeriesFile, linked_frames, text
from penstock.receiver.validity.frames import WITH_DATA, with_data
from penstock.stins import codec
from penstock.stins.messages import Buffer, Header, Image

PARTIAL = "some of its modules, channels or pixels are missing, as the file says"
STILL_WRITTEN = "the file is still being written, or its receiver was killed"
MOST_OPEN = 16
"""Most datasets of other files, such as segments, that are open at a time."""
_Run: TypeAlias = "tuple[int, int, int, StoredBlobs | None]"
"""Place of the frames that were asked for last: first, behind the last, index of the first there, blobs."""
_DAMAGED = (OSError, RuntimeError, ValueError, KeyError)


class FileFrames:
    """The frames of one file, as a receiver would send them.

    Args:
        path: of the file.

    Raises:
        ReaderError: it cannot be opened, or has no frames.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._any = Hdf5Frames(self.path)
        self._series = SeriesFile.own(self.path)
        self._open: dict[tuple[str, str], StoredBlobs] = {}
        shape, dtype = self._any.shape, self._any.dtype
        if dtype is None or len(shape) < 2:
            frames, shape, dtype = 0, (), np.dtype("u1")
        else:
            frames, shape = shape[0], shape[1:]
        self._frames = frames
        self._datasets, self._parts = (
            ([], 1) if self._series is None or not frames else self._find(self._series)
        )
        self._linked = [None if data is None else linked_frames(data) for data in self._datasets]
        self._runs: list[_Run] = [(0, 0, 0, None)] * len(self._datasets)
        if self._parts > 1:
            shape = (self._parts, *self._image_shape)
        self._image = Image(shape=shape, type=name_of(dtype), compression=NONE, series=self._any.id or None)
        self.metadata = self._metadata()
        """What the file says of detector and beam, by the keys of a start message."""
        self.mask = self._mask()
        """Pixel mask, (rows, cols), or (k, rows, cols) if each of k channels has one; 0 is a good pixel."""
        self.header = Header(
            filename=str(self.path), series=self._image.series, frames=self.planned, shape=shape or None,
            type=self._image.type if shape else None,
            frame_bytes=prod(shape) * dtype.itemsize if shape else None,
            channels=self._any.channels or None,
        )  # fmt: skip
        """Header of a start message, made from the file."""
        self.group = self._series.group.name if self._series is not None else ""
        """Path of the detector's group in a file of Penstock; else ""."""
        self.is_running = self._any.state == "in progress"
        """True if the series has not ended: then the file has more frames later."""
        self.incomplete = STILL_WRITTEN if self.is_running else ""
        """Why the series is incomplete, as the file says; "" if it does not."""
        if self._any.state == "incomplete":
            self.incomplete = self._any.reason
        self._status = self._any.status
        self._times = self._column("timestamp")
        self._triggers = self._column("trigger")

    @property
    def planned(self) -> int:
        """Number of frames of the series: planned, or what the file has places for."""
        return self._frames if self._any.planned is None else max(self._any.planned, self._frames)

    @property
    def indices(self) -> np.ndarray[Any, Any]:
        """Indices of the frames that the file has, int64, ascending."""
        return with_data(self._status, self._frames)

    @property
    def times(self) -> np.ndarray[Any, Any] | None:
        """Timestamp of each place, in s since 1970, float64, NaN where it is unknown; `None`: of all."""
        return self._times

    def stored(self, index: int) -> bool:
        """Return whether the file has a frame."""
        if not 0 <= index < self._frames:
            return False
        return self._status is None or (index < len(self._status) and int(self._status[index]) in WITH_DATA)

    def parts(self, index: int) -> list[Buffer]:
        """Return a frame as a message of STINS: header and blobs, packed as stored.

        Raises:
            ReaderError: the file does not have it, or it cannot be read.
        """
        if not self.stored(index):
            why = self._any.why(index)
            raise ReaderError(f"{self.path} does not have frame {index}{f': {why}' if why else ''}")
        compression, blobs = self._blobs(index)
        return [self.head(index, compression), *blobs]

    def located(self, index: int) -> list[Located] | None:
        """Return where the blobs of a frame lie that the file has, all of one compression; `None` if they lie
        nowhere as a message has them, or if `parts` says why they cannot be read."""
        each = self._parts if len(self._datasets) == 1 else 1
        found: list[Located] = []
        try:
            self._require(index)
            for number in range(len(self._datasets)):
                place = self._place(number, index, each)
                blobs = [(NONE, None, 0, 0)] * each if place is None else place[0].locate(place[1])
                if blobs is None:
                    return None
                found += blobs
        except _DAMAGED:
            return None
        return found if len({blob[0] for blob in found if blob[1] is not None}) == 1 else None

    def head(self, index: int, compression: str) -> bytes:
        """Return the first part of a frame's message.

        Args:
            index: of a frame that the file has.
            compression: of its blobs.
        """
        time = None if self._times is None else float(self._times[index])
        trigger = -1 if self._triggers is None else int(self._triggers[index])
        is_partial = self._status is not None and self._status[index] == FrameStatus.PARTIAL
        image = msgspec.structs.replace(
            self._image, frame=index, compression=compression,
            timestamp=time if time is not None and np.isfinite(time) else None,
            trigger=trigger if trigger >= 0 else None, partial=PARTIAL if is_partial else None,
        )  # fmt: skip
        return codec.encode_image(image)

    def close(self) -> None:
        """Close the file; may be called again."""
        for each in self._open.values():
            each.close()
        self._open.clear()
        for linked in self._linked:
            if linked is not None:
                linked.close()
        if self._series is not None:
            self._series.close()
        self._any.close()

    def __enter__(self) -> FileFrames:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _find(self, series: SeriesFile) -> tuple[list[Any], int]:
        """Return the datasets that hold the blobs, and how many blobs a frame has."""
        if series.channels:
            return [series.group[name] for name in series.channels], len(series.channels)
        data = series.stored_data
        if data is None:
            return [], 1
        if (modules := series.modules) is not None:
            return [modules.dataset(module) for module in range(len(modules))], len(modules)
        split = data.ndim == 4 and series.interpretation != "rgba-image"
        return [data], data.shape[1] if split else 1

    def _blobs(self, index: int) -> tuple[str, list[bytes]]:
        """Return the compression of a frame, and its blobs."""
        if not self._datasets:
            return NONE, [self._others(index)]
        each = self._parts if len(self._datasets) == 1 else 1
        found: list[tuple[str, bytes]] = []
        try:
            self._require(index)
            for number in range(len(self._datasets)):
                place = self._place(number, index, each)
                found += [(NONE, b"")] * each if place is None else place[0].read(place[1])
        except _DAMAGED as error:
            raise ReaderError(f"frame {index} of {self.path} cannot be read: {error}") from error
        kinds = {compression for compression, blob in found if blob}
        if not kinds:
            for linked in self._linked:
                if linked is not None and (why := linked.why_not(index)) is not None:
                    raise ReaderError(f"frame {index} of {self.path} cannot be read: {why}")
            raise ReaderError(
                f"frame {index} of {self.path} has no pixels, although the file says so: copy it again, with "
                "all files that belong to it"
            )
        if len(kinds) == 1:
            return kinds.pop(), [blob for _, blob in found]
        # All blobs of a frame share one header, hence one compression.
        return NONE, [self._plain(*pair) for pair in found]

    def _others(self, index: int) -> bytes:
        """Return a frame of another program's file; what is missing of it has the fill value, as in ours."""
        pixels = self._any.frame(index)
        if (missing := self._any.missing(index)) is not None:
            pixels = pixels.copy()
            pixels[missing] = fill_value(pixels.dtype.name)
        return np.ascontiguousarray(pixels).tobytes()

    def _place(self, number: int, index: int, parts: int) -> tuple[StoredBlobs, int] | None:
        """Return the dataset that has the blobs of a frame, and its index there; `None` if none has them."""
        first, end, start, blobs = self._runs[number]
        if blobs is None or not first <= index < end or blobs.is_closed:
            data, linked = self._datasets[number], self._linked[number]
            if data is None:
                return None
            first, end, start = 0, self._frames, 0
            if linked is not None:
                if (found := linked.run(index)) is None:
                    return None
                data, start, count = found
                first, end = index, index + count
            blobs = self._of(data, parts)
            self._runs[number] = first, end, start, blobs
        return blobs, index - first + start

    @property
    def _image_shape(self) -> tuple[int, ...]:
        """Rows and columns of one blob of several, also if no file with them is there."""
        assert self._series is not None
        known = [*self._datasets, self._series.stored_data]
        return next(tuple(data.shape[-2:]) for data in known if data is not None)

    def _require(self, index: int) -> None:
        """Raise OSError if the file of a module of a frame cannot be read."""
        if self._series is not None and self._series.modules is not None:
            self._series.modules.require(index)

    def _of(self, data: Any, parts: int) -> StoredBlobs:
        key = data.file.filename, data.name
        if key not in self._open:
            while len(self._open) >= MOST_OPEN:
                self._open.pop(next(iter(self._open))).close()
            self._open[key] = StoredBlobs(data, parts)
        return self._open[key]

    def _plain(self, compression: str, blob: bytes) -> bytes:
        if compression == NONE or not blob:
            return blob
        dtype, shape = np.dtype(self._image.type), self._image.shape[1:]
        return CODECS[compression].decompress(blob, prod(shape), dtype).tobytes()

    def _metadata(self) -> dict[str, Any]:
        found = {} if self._series is None else _written(self._series)
        if remarks := self._any.remarks():
            found[geometry.REMARKS] = list(remarks)
        limits = {"saturation_value": self._any.saturation, "underload_value": self._any.underload}
        found |= {name: value for name, value in limits.items() if value is not None}
        said = self._any.geometry()
        if said is None:
            return found
        names = (
            "beam_center_x", "beam_center_y", "distance", "x_pixel_size", "y_pixel_size", "wavelength",
            "detector_orientation", "sensor_thickness", "sensor_material",
        )  # fmt: skip
        known = {name: getattr(said, name) for name in names} | {"incident_energy": said.energy}
        return found | {name: value for name, value in known.items() if value is not None}

    def _mask(self) -> np.ndarray[Any, Any] | None:
        masks = [self._any.mask(channel) for channel in self._any.channels or (None,)]
        known = [mask for mask in masks if mask is not None]
        if len(known) != len(masks) or not known:
            return None
        alike = all(np.array_equal(mask, known[0]) for mask in known)
        return known[0] if alike else np.stack(known)

    def _column(self, name: str) -> np.ndarray[Any, Any] | None:
        found = None if self._series is None else self._series.group.get(name)
        if found is None or found.ndim != 1 or len(found) < self._frames:
            return None
        return np.asarray(found[...])


def _written(series: SeriesFile) -> dict[str, Any]:
    """Return what a file of a receiver says that classes ask for: which detector it is, whether a flat field
    was applied, and the names of instrument and source."""
    found: dict[str, Any] = {}
    if (detector := series.group.get("description")) is not None and detector.shape == ():
        found["description"] = text(detector[()])
    if (applied := series.group.get("flatfield_applied")) is not None:
        found["flatfield_applied"] = bool(applied[()])
    user = {}
    for key, path in (
        ("instrument_name", "name"),
        ("source.name", "source/name"),
        ("source.type", "source/type"),
    ):
        if (value := series.group.parent.get(path)) is not None and value.shape == ():
            user[key] = text(value[()])
    return found | ({"user": user} if user else {})
