"""Frames of any HDF5 file: those of a series, what NXdata groups show, and the linked files of DECTRIS.

A series of Penstock is read by `reader.SeriesFile`; this finds the frames of everybody else's files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import h5py
import numpy as np

from penstock.receiver import geometry, packed_chunks
from penstock.receiver.files.stores.linked_frames import LinkedFrames
from penstock.receiver.hdf5.own_parts import WHY, OwnParts
from penstock.receiver.models import FrameStatus, Geometry
from penstock.receiver.reader import ReaderError, SeriesFile, linked_frames, open_hdf5, text

MOST_GROUPS = 2000
"""Groups that are looked at; a file with more is one of many scans, of which the default is found first."""
DEEPEST = 7
_PART = re.compile(r"data_\d{6}")
"""Names of DECTRIS' links to the files of a series, in `/entry/data` of its master file (SIMPLON API,
FileWriter: "data_000001")."""
_LENGTHS = ("distance", "detector_distance", "x_pixel_size", "y_pixel_size", "sensor_thickness")
_UNITS = {
    "m": 1.0, "meter": 1.0, "metre": 1.0, "mm": 1e-3, "millimeter": 1e-3, "millimetre": 1e-3, "um": 1e-6,
    "µm": 1e-6, "micrometer": 1e-6, "micrometre": 1e-6, "micron": 1e-6, "nm": 1e-9, "nanometer": 1e-9,
    "nanometre": 1e-9, "angstrom": 1e-10, "Å": 1e-10, "A": 1e-10, "eV": 1.0, "keV": 1e3,
}  # fmt: skip
"""What a unit is in m or in eV; a plural is the same. LAMBDA writes "micrometer"."""
_STANDS = {
    "user": ("detector_orientation",), "vendor": ("detector_orientation", "detector_translation"),
    "acquisition": ("receiver_transforms",),
}  # fmt: skip
"""Where start messages, and Penstock's files of them, say how the image stands: see `geometry.known`."""
_MOST = 100
"""Numbers that something short has."""
_NO_NUMBER = (OSError, RuntimeError, ValueError, KeyError)


def is_hdf5(path: Path) -> bool:
    """Return whether a file has HDF5's signature."""
    return bool(h5py.is_hdf5(path))


@dataclass(frozen=True)
class Piece:
    """Frames of one dataset, at their place in the series; without dataset, of a file that is not there."""

    first: int
    count: int
    data: h5py.Dataset | None
    whole: bool = False
    """The dataset is one frame."""

    def frame(self, index: int) -> np.ndarray[Any, Any]:
        """Return a frame by its place in the series."""
        assert self.data is not None
        if self.whole:
            return np.asarray(self.data[...])
        # Of a map, frames are numbered row by row.
        axes = self.data.shape[: self.data.ndim - _axes(self.data)]
        place = tuple(int(at) for at in np.unravel_index(index - self.first, axes))
        return packed_chunks.read(self.data, place, self._linked)

    @cached_property
    def _linked(self) -> LinkedFrames | None:
        """Where a virtual dataset has its frames from."""
        return linked_frames(self.data) if self.data is not None else None

    def close(self) -> None:
        """Close the files that were opened for it."""
        if (linked := self.__dict__.pop("_linked", None)) is not None:
            linked.close()


@dataclass(frozen=True)
class Stack:
    """Frames that follow each other."""

    name: str
    pieces: tuple[Piece, ...]
    status: h5py.Dataset | None = None

    @property
    def data(self) -> h5py.Dataset:
        """One of the datasets, which tells shape and type."""
        return next(piece.data for piece in self.pieces if piece.data is not None)

    def __len__(self) -> int:
        return sum(piece.count for piece in self.pieces)

    def statuses(self) -> np.ndarray[Any, Any] | None:
        """Return the status of each frame, where the file says it, or files are not there."""
        if self.status is not None and self.status.shape == (len(self),):
            return np.asarray(self.status[...])
        if all(piece.data is not None for piece in self.pieces):
            return None
        found = np.zeros(len(self), np.uint8)
        for piece in self.pieces:
            if piece.data is not None:
                found[piece.first : piece.first + piece.count] = FrameStatus.STORED
        return found


class Hdf5Frames:
    """An HDF5 file as a `frame_files.FrameFile`.

    Args:
        path: the file.
        images: one of its `choices`; by default the one to which the `default` attributes lead, else the
            first.

    Raises:
        ReaderError: it cannot be opened, or has no such images.
    """

    choices: tuple[str, ...] = ()
    curves: tuple[str, ...] = ()
    scalars: tuple[str, ...] = ()
    is_pilatus = False

    def __init__(self, path: str | Path, images: str | None = None) -> None:
        self.path = Path(path)
        self._stack: Stack | None = None
        self._parts: OwnParts | None = None
        self._series = SeriesFile.own(self.path)
        self.file = self._series.file if self._series is not None else open_hdf5(self.path, follow=True)
        try:
            if self._series is not None:
                self._describe_series(self._series)
            else:
                self._describe_others(images)
        except (*_NO_NUMBER, TypeError) as error:  # what h5py raises of a damaged file
            self.close()
            raise ReaderError(
                f"{self.path} cannot be read: {error}; is it damaged, or still being written?"
            ) from error
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        if self._series is not None:
            self._series.close()
        else:
            for piece in self._stack.pieces if self._stack is not None else ():
                piece.close()
            self.file.close()

    @property
    def shape(self) -> tuple[int, ...]:
        """(frames, rows, cols), (frames, k, rows, cols), (frames, n), or (frames, rows, cols, 3)."""
        if self._series is not None:
            return self._series.shape
        if self._stack is None:
            return (0,)
        data = self._stack.data
        return (len(self._stack), *data.shape[data.ndim - _axes(data) :])

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """Type of a pixel; `None` without frames."""
        if self._series is not None:
            return self._series.dtype
        return None if self._stack is None else self._stack.data.dtype

    def frame(self, index: int, channel: str | None = None) -> np.ndarray[Any, Any]:
        """Return one frame, unpacked, or one of its channels.

        Raises:
            ReaderError: it cannot be read, or there is no such frame or channel.
        """
        if channel is not None and channel not in self.channels:
            raise ReaderError(f"{self.path} has no channel {channel}; leave it out")
        if not 0 <= index < self.shape[0]:
            raise ReaderError(f"{self.path} has no frame {index}; its last is {self.shape[0] - 1}")
        if self._series is not None:
            found = self._series.frame(index)
            return found if channel is None else found[self.channels.index(channel)]
        assert self._stack is not None
        piece = next(each for each in self._stack.pieces if index < each.first + each.count)
        if piece.data is None:
            raise ReaderError(
                f"frame {index} of {self.path} is in a file that is not here; copy the files of the series "
                "beside it"
            )
        try:
            return piece.frame(index)
        except _NO_NUMBER as error:
            raise ReaderError(f"frame {index} of {self.path} cannot be read: {error}") from error

    def why(self, index: int) -> str | None:
        """Return why a frame, or a part of it, has no pixels; `None` if it is there as a whole."""
        if self.status is None or not 0 <= index < len(self.status):
            return None
        status = FrameStatus(int(self.status[index]))
        if self._series is not None or status == FrameStatus.STORED:
            return WHY.get(status)
        return "it is in a file that is not here"

    def missing(self, index: int, channel: str | None = None) -> np.ndarray[Any, Any] | None:
        """Return which pixels of a partial frame are missing: bool, of its shape without colours; `None` if
        it is not partial, or nobody knows which."""
        if self.status is None or not 0 <= index < min(len(self.status), self.shape[0]):
            return None
        if self.status[index] != FrameStatus.PARTIAL or self._parts is None:
            return None
        shape = self.shape[1:-1] if self.interpretation == "rgba-image" else self.shape[1:]
        if channel is None:
            return self._parts.missing(index, shape, None)
        return self._parts.missing(index, shape[1:], self.channels.index(channel))

    def time(self, index: int) -> float | None:
        """Return the end of its exposure, in seconds since 1970 (UTC), if the file says it."""
        value = self._of_frame("timestamp", index)
        return None if value is None or not np.isfinite(value) else value

    def trigger(self, index: int) -> int | None:
        """Return the trigger of which it is, if the file says it."""
        value = self._of_frame("trigger", index)
        return None if value is None or value < 0 else int(value)

    def geometry(self) -> Geometry | None:
        """Return what the file says of detector and beam, as the start message of a series does."""
        detector = self._detector()
        if detector is None:
            return None
        said: dict[str, Any] = {name: _quantity(detector, name) for name in _LENGTHS}
        for name in ("beam_center_x", "beam_center_y", "detector_orientation", "sensor_material"):
            said[name] = _plain(detector.get(name))
        for name, parts in _STANDS.items():  # by which the header's orientation counts, or does not
            there = {part: _plain(detector.get(f"{name}/{part}")) for part in parts}
            said[name] = {part: value for part, value in there.items() if value is not None} or None
        said["distance"] = said["distance"] or said["detector_distance"]
        beam = detector.parent.get("beam")
        if isinstance(beam, h5py.Group):
            wavelength = _quantity(beam, "incident_wavelength")
            said["wavelength"] = None if wavelength is None else wavelength / geometry.ANGSTROM
            said["photon_energy"] = _quantity(beam, "incident_energy")
        return geometry.known({name: value for name, value in said.items() if value is not None}, self.id)

    def mask(self, channel: str | None = None) -> np.ndarray[Any, Any] | None:
        """Return the pixel mask, (rows, cols), of a channel, or of the first; 0 is a pixel that counts."""
        detector = self._detector()
        if detector is None:
            return None
        places = [f"{channel}_channel/pixel_mask"] if channel is not None else []
        for place in (*places, "pixel_mask", "detectorSpecific/pixel_mask"):
            found = _dataset(detector, place)
            # LAMBDA has one mask for a stack of one.
            if found is not None and (found.ndim == 2 or (found.ndim == 3 and len(found) == 1)):
                return np.asarray(found[...]).reshape(found.shape[-2:])
        return None

    def _detector(self) -> h5py.Group | None:
        if self._series is not None:
            return self._series.group
        found = self.file.get("entry/instrument/detector")
        return found if isinstance(found, h5py.Group) else None

    def _of_frame(self, name: str, index: int) -> float | None:
        found = None if self._series is None else self._series.group.get(name)
        if not isinstance(found, h5py.Dataset) or found.ndim != 1 or index >= len(found):
            return None
        return float(found[index])

    def _describe_series(self, series: SeriesFile) -> None:
        self.detector, self.chosen = series.detector, "" if series.data is None else str(series.data.name)
        self.has_images = True
        self.interpretation, self.channels = series.interpretation, series.channels
        self.saturation = _number(series.group.get("saturation_value"))
        self.id, self.state, self.reason = series.id or "", series.state, series.reason
        self.planned, self.counts = series.planned, dict(series.counts)
        self.status = series.frame_status
        self.underload = _finite(series.group.get("underload_value"))
        self._parts = OwnParts(series)

    def _describe_others(self, images: str | None) -> None:
        stacks, self.curves, self.scalars = _contents(self.file)
        self.choices = tuple(stack.name for stack in stacks)
        if images is not None and images not in self.choices:
            has = f"it has {', '.join(self.choices)}" if stacks else "it has none"
            raise ReaderError(f"{self.path} has no images {images}; {has}")
        self._stack = next((each for each in stacks if images in (None, each.name)), None)
        self.has_images = self._stack is not None
        self.channels = ()
        self.chosen = "" if self._stack is None else self._stack.name
        self.detector = self.chosen.rpartition("/")[2]
        self.interpretation = "image" if self._stack is None else _kind(self._stack.data)
        self.saturation = next(filter(None, map(_number, self._saturations())), None)
        self.underload = _finite(self.file.get("entry/instrument/detector/underload_value"))
        self.id, self.state, self.reason, self.planned, self.counts = "", None, "", None, {}
        self.status = None if self._stack is None else self._stack.statuses()

    def _saturations(self) -> Iterator[Any]:
        # DECTRIS: "countrate_correction_count_cutoff", beside it in newer files "saturation_value".
        for name in ("saturation_value", "detectorSpecific/countrate_correction_count_cutoff"):
            yield self.file.get(f"entry/instrument/detector/{name}")


def _contents(file: h5py.File) -> tuple[list[Stack], tuple[str, ...], tuple[str, ...]]:
    """Return the images of a file, the one to show first at the head, and the names of curves and numbers."""
    groups = list(_groups(file))
    plots = [group for group in groups if _class(group) == "NXdata" or "signal" in group.attrs]
    stacks, curves = [], []
    for plot in plots:
        stack, lines = _plotted(plot)
        if stack is not None:
            stacks.append(stack)
        curves += lines
    if not stacks:
        stacks = [stack for group in groups if (stack := _parts(group)) is not None]
    if not stacks:
        stacks = [
            stack
            for group in groups
            for _, node in _members(group)
            if node.ndim > 2 and (stack := _stack(node)) is not None
        ]
    default = _default(file)
    stacks.sort(key=lambda stack: default is None or not stack.name.startswith(default))
    shown = {name for stack in stacks for name in (stack.name,)} | set(curves)
    scalars = [
        _name(node)
        for group in groups
        if _class(group) in ("NXcollection", "NXdata", "")
        for _, node in _members(group)
        if node.ndim < 2 and _name(node) not in shown
    ]
    return stacks, tuple(curves), tuple(scalars)


def _plotted(plot: h5py.Group) -> tuple[Stack | None, list[str]]:
    """Return what an NXdata group shows: images, or names of curves."""
    members = dict(_members(plot))
    signal = text(plot.attrs.get("signal"))
    old = [name for name, node in members.items() if text(node.attrs.get("signal")) == "1"]
    names = [signal] if signal in members else old  # the form before 2014 marks the dataset
    if not names:
        return _parts(plot), []
    more = plot.attrs.get("auxiliary_signals", ())
    names += [text(name) for name in np.atleast_1d(np.asarray(more, object)) if text(name) in members]
    stack = _stack(members[names[0]], members.get(f"{names[0]}_status"))
    if stack is not None:
        return stack, []
    return None, [_name(members[name]) for name in names if members[name].ndim == 1]


def _stack(data: h5py.Dataset, status: h5py.Dataset | None = None) -> Stack | None:
    """Return a dataset as frames; `None` if it has none."""
    if data.ndim < 2 or not data.size:
        return None
    lone = data.ndim == _axes(data)
    count = 1 if lone else prod(data.shape[: data.ndim - _axes(data)])
    return Stack(_name(data), (Piece(0, count, data, lone),), status)


def _parts(group: h5py.Group) -> Stack | None:
    """Return the frames of DECTRIS' master file: datasets of several files, one behind the other.

    Those of a file that is not there keep their places: `image_nr_low` says where each begins, from 1 on.
    """
    # Names that are not UTF-8 are bytes.
    names = sorted(name for name in group if isinstance(name, str) and _PART.fullmatch(name))
    parts = [_dataset(group, name) for name in names]
    known = [part for part in parts if part is not None and part.ndim == 3]
    if not known:
        return None
    usual, pieces, first = len(known[0]), [], 0
    for part in parts:
        if part is None or part.shape[1:] != known[0].shape[1:]:
            pieces.append(Piece(first, usual, None))
        else:
            low = int(_number(part.attrs.get("image_nr_low")) or first + 1) - 1
            if low > first:  # the file before it is not there, and was shorter or longer
                pieces.append(Piece(first, low - first, None))
                first = low
            pieces.append(Piece(first, len(part), part))
        first += pieces[-1].count
    return Stack(_name(group), tuple(pieces))


def _groups(file: h5py.File) -> Iterator[h5py.Group]:
    """Yield groups from the root down, each level in order; the entry that is the default before others."""
    level: list[h5py.Group] = [file]
    seen: set[Any] = set()
    for _ in range(DEEPEST):
        following = []
        for group in level:
            key = h5py.h5o.get_info(group.id)
            if (key.fileno, key.addr) in seen or len(seen) >= MOST_GROUPS:
                continue
            seen.add((key.fileno, key.addr))
            yield group
            default = text(group.attrs.get("default"))
            for name in sorted(group, key=lambda name, first=default: name != first):  # type: ignore[misc]
                try:
                    kind = group.get(name, getclass=True)
                    node = group.get(name) if kind is h5py.Group else None
                except _NO_NUMBER:
                    continue  # a link that leads nowhere
                if node is not None:
                    following.append(node)
        level = following


def _members(group: h5py.Group) -> Iterator[tuple[str, h5py.Dataset]]:
    """Yield the datasets of numbers in a group."""
    for name in group:
        node = _dataset(group, name)
        if node is not None and node.shape is not None and node.dtype.kind in "biuf":
            yield name, node


def _dataset(group: h5py.Group, name: str) -> h5py.Dataset | None:
    try:
        node = group.get(name)
    except _NO_NUMBER:
        return None
    return node if isinstance(node, h5py.Dataset) else None


def _default(file: h5py.File) -> str | None:
    """Return the group to which the `default` attributes lead."""
    node: Any = file
    for _ in range(DEEPEST):
        following = text(node.attrs.get("default"))
        if not following or not isinstance(node.get(following), h5py.Group):
            return None if node.name == "/" else str(node.name).strip("/")
        node = node[following]
    return None


def _kind(data: h5py.Dataset) -> str:
    given = text(data.attrs.get("interpretation"))
    if given == "rgba-image" and (data.ndim < 3 or data.shape[-1] != 3):
        return "image"
    return given if given in ("spectrum", "rgba-image") else "image"


def _axes(data: h5py.Dataset) -> int:
    """Return the axes of one frame."""
    return {"spectrum": 1, "rgba-image": 3}.get(_kind(data), 2)


def _class(group: h5py.Group) -> str:
    return text(group.attrs.get("NX_class"))


def _name(node: Any) -> str:
    return str(node.name).strip("/")


def _quantity(group: h5py.Group, name: str) -> float | None:
    """Return a number in m or eV, by its unit in the file; of a unit that is not known none can be made."""
    found = _dataset(group, name)
    number = _number(found)
    if found is None or number is None:
        return None
    unit = text(found.attrs.get("units"))
    factor = _UNITS.get(unit, _UNITS.get(unit.removesuffix("s")))
    return None if factor is None else number * factor


def _plain(found: Any) -> Any:
    """Return a dataset's number, numbers or text; `None` if there is none."""
    if not isinstance(found, h5py.Dataset) or found.shape is None or found.size > _MOST:
        return None
    value = found[()]
    if isinstance(value, np.ndarray):
        return value.tolist() if value.dtype.kind in "iuf" and value.size > 1 else _plain_one(value)
    return _plain_one(value)


def _plain_one(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.reshape(-1)[0]
    return float(value) if isinstance(value, (int, float, np.number)) else text(value)


def _number(found: Any) -> float | None:
    """Return a positive number, of a scalar dataset or an attribute."""
    number = _finite(found)
    return number if number is not None and number > 0 else None


def _finite(found: Any) -> float | None:
    """Return a finite number, of a scalar dataset or an attribute."""
    if isinstance(found, h5py.Dataset):
        found = found[()] if found.size == 1 else None
    value = np.asarray(found if found is not None else np.nan)
    if value.size != 1 or value.dtype.kind not in "iuf":
        return None
    number = float(value.reshape(-1)[0])
    return number if abs(number) < 1e300 else None
