"""The one reader of series files: Penstock's own, and other NeXus files with an NXdetector.

Used by `penstock check`, by replay in the simulator, and by the viewer. Files are opened read-only and
without a lock, so that a writer is never disturbed; in a file that is still being written the last frames
may be incomplete, see `state`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import h5py
import hdf5plugin  # noqa: F401  (registers the filters that detectors' frames are packed with)
import numpy as np

from penstock.receiver.files.contents.per_frame import CHECKSUM
from penstock.receiver.files.stores.errors import why_not
from penstock.receiver.files.stores.parts.linked_frames import (
    LinkedFrames,
    Unreadable,
    UnreadableError,
    is_virtual,
    runs_of,
)
from penstock.receiver.files.stores.parts.module_views import module_files
from penstock.receiver.files.stores.replace_data import STORED_FRAMES
from penstock.receiver.reading.module_files import ModuleFiles
from penstock.receiver.reading.packed_chunks import Chunks
from penstock.receiver.series.account import COUNTERS
from penstock.receiver.validity.frames import WITH_DATA
from penstock.stins.errors import UserError
from penstock.stins.texts import plural


class ReaderError(UserError):
    """The file, or a frame of it, cannot be read; the sentence says why and what to do."""


class SeriesFile:
    """One series of frames in an HDF5 file.

    Args:
        path: the file.
        detector: name of the NXdetector group; by default the first one.
        follow: also open a file that is being written with SWMR; it shows what the last flush had.

    Raises:
        ReaderError: the file does not exist, is not HDF5, is truncated, or has no frames.
    """

    def __init__(self, path: str | Path, detector: str | None = None, *, follow: bool = False) -> None:
        self.path = Path(path)
        self._grows = follow
        self._found: dict[str, h5py.Dataset] = {}
        """Datasets of the detector by name, unless more may be written meanwhile: a look-up takes long."""
        self._chunks: dict[str, Chunks] = {}
        """Chunks of these datasets, by the same names."""
        self._last: Chunks | None = None
        """Chunks of another dataset that the frames are in."""
        self.file = open_hdf5(self.path, follow=follow)
        """The HDF5 file, for callers who need more than frames and counts."""
        try:
            self.group = _detector(self.file, self.path, detector)
            """The NXdetector group."""
        except Exception as error:
            self.file.close()
            if isinstance(error, ReaderError):
                raise
            raise ReaderError(f"{self.path} is damaged: {error}") from error

    @classmethod
    def own(cls, path: Path) -> SeriesFile | None:
        """Open a file of Penstock, also while it is being written; `None` if it is another's."""
        try:
            series = cls(path, follow=True)
        except ReaderError:
            return None
        if series.has_account:
            return series
        series.close()
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._found.clear()
        self._chunks.clear()
        self._last = None
        for name in ("_linked", "_shown", "modules"):
            if (linked := self.__dict__.pop(name, None)) is not None:
                linked.close()
        self.file.close()

    # -- frames --------------------------------------------------------------------------------

    @property
    def data(self) -> h5py.Dataset | None:
        """The dataset of the frames, or of the first of several channels; `None` if there is none (yet)."""
        found = self._dataset("data")
        return found if found is not None and len(found.shape) >= 2 else None

    @cached_property
    def channels(self) -> tuple[str, ...]:
        """Names of the frame's channels, such as thresholds, each with its own dataset; empty if a frame is
        one image, or modules of one image."""
        found = self._dataset("series/channels", 1)
        names = () if found is None else tuple(text(name) for name in found[...])
        return names if all(self._dataset(name, 3) is not None for name in names) else ()

    @property
    def shape(self) -> tuple[int, ...]:
        """(frames, rows, cols), or (frames, k, rows, cols) for k blobs or channels; (frames, n) for spectra,
        (frames, rows, cols, 3) for colours; (0,) without frames."""
        data = self.data
        if data is None:
            return (0,)
        if self.channels:
            return (len(data), len(self.channels), *data.shape[1:])
        return tuple(data.shape) if _has_index(data) else (1, *data.shape)

    @property
    def interpretation(self) -> str:
        """What a frame is: "image" (or k images), "spectrum", or "rgba-image" for colours."""
        return "image" if (data := self.data) is None else _interpretation(data)

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """Type of a pixel; `None` without frames."""
        return None if self.data is None else self.data.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[np.ndarray[Any, Any]]:
        for index in range(len(self)):
            yield self.frame(index)

    def frame(self, index: int) -> np.ndarray[Any, Any]:
        """Return one frame, unpacked: (rows, cols) or (k, rows, cols), (n,) or (rows, cols, 3).

        A frame that never arrived reads as the fill value; see `frame_status`.

        Raises:
            IndexError: there is no such index.
            ReaderError: what is stored there cannot be read or unpacked, or the file that has it is away.
        """
        if not 0 <= index < len(self):
            raise IndexError(f"{self.path} has {plural(len(self), 'frame')}, none of index {index}")
        try:
            if self.channels:
                return np.stack([self._chunks_of(name).read((index,)) for name in self.channels])
            if self.modules is not None:
                self.modules.check(index)
            elif self._is_view:
                self._check_modules(index)
            if (found := self._where(index)) is not None:
                return found[0].read(found[1])
            if self._shown is not None and self._counts(index) and (why := self._shown.why_not(index)):
                raise UnreadableError(why)  # HDF5 would show the fill value
            return self._chunks_of("data").read((index,))
        except (OSError, RuntimeError, ValueError) as error:
            raise ReaderError(f"frame {index} of {self.path} cannot be read: {error}") from error

    def stored_frame(self, index: int) -> np.ndarray[Any, Any] | None:
        """Return a frame like `frame`; `None` if nothing was ever stored at its index, or its file cannot be
        read, see `unreadable_files`.

        Raises:
            IndexError: there is no such index.
            ReaderError: what is stored there cannot be read or unpacked.
        """
        if not self.channels and not self._has_modules and self.modules is None and 0 <= index < len(self):
            chunks, place = self._where(index) or (None, ())
            try:
                if chunks is not None and (found := chunks.whole(place)) is not None:
                    return found
            except ValueError as error:
                raise ReaderError(f"frame {index} of {self.path} cannot be read: {error}") from error
        return self.frame(index) if self.is_allocated(index) else None

    def _where(self, index: int) -> tuple[Chunks, tuple[int, ...]] | None:
        """Return what is stored in the dataset that holds a frame, and the frame's place there; `None` if no
        dataset has it, or its file cannot be read."""
        chunks = self._chunks_of("data")
        if self._shown is None:
            return chunks, (index,) if _has_index(chunks.data) else ()
        if (found := self._shown.find(index)) is None:
            return None
        source = self._chunks_at(found[0])
        is_same = (source.dtype, source.frame) == (chunks.dtype, chunks.frame)
        return (source, (found[1],)) if is_same else (chunks, (index,))

    def _counts(self, index: int) -> bool:
        """Return whether a frame counts as stored."""
        status = self.frame_status
        return status is None or (index < len(status) and bool(status[index] in WITH_DATA))

    def _chunks_of(self, name: str) -> Chunks:
        """Return what is stored in a dataset of the detector."""
        if (found := self._chunks.get(name)) is None:
            data = self._dataset(name)
            assert data is not None
            found = Chunks(data)
            if not self._grows:
                self._chunks[name] = found
        return found

    def _chunks_at(self, data: h5py.Dataset) -> Chunks:
        """Return what is stored in the dataset that was asked for last, or in another."""
        if self._last is None or self._last.data is not data:
            self._last = Chunks(data)
        return self._last

    def _check_modules(self, index: int) -> None:
        """Raise ValueError if HDF5's filters would fail at a module of a frame that is made of them."""
        status = self._dataset("module_status", 2)
        if self._has_modules and status is not None and index < len(status):
            chunks = self._chunks_of("modules")
            for part in np.flatnonzero(np.isin(status[index], WITH_DATA)):
                chunks.unpacked((index, int(part), 0, 0))

    @cached_property
    def _has_modules(self) -> bool:
        """True if the frames are shown from modules that are stored in this file."""
        modules = self._dataset("modules", 4)
        return self._is_view and modules is not None and not is_virtual(modules)

    @cached_property
    def modules(self) -> ModuleFiles | None:
        """The modules of each frame if they have a file each; else `None`."""
        if not module_files(self.group) or (view := self.stored_data) is None:
            return None
        return ModuleFiles(view, self.id or "", self._dataset("module_status", 2))

    @cached_property
    def _is_view(self) -> bool:
        return self.data is not None and is_virtual(self.data)

    @cached_property
    def _shown(self) -> LinkedFrames | None:
        """What `data` shows, whole frames of other datasets; `None` if it is no such view."""
        return None if self.data is None else linked_frames(self.data)

    @property
    def stored_data(self) -> h5py.Dataset | None:
        """The dataset that holds the blobs: `data`, or the one that it is a view of."""
        return None if (name := self._stored_name) is None else self._dataset(name)

    @property
    def _stored_name(self) -> str | None:
        if self._dataset("modules", 4) is not None:
            return "modules"
        if self._dataset(STORED_FRAMES) is not None:
            return STORED_FRAMES
        return None if self.data is None else "data"

    @property
    def module_status(self) -> np.ndarray[Any, Any] | None:
        """Status of each module of each frame, (frames, k); `None` if frames are not of modules."""
        found = self._dataset("module_status", 2)
        return None if found is None else np.asarray(found[...])

    def is_allocated(self, index: int) -> bool:
        """Return whether something was ever stored at this index."""
        places = self._places(index)
        return any(chunks.shape is None or chunks.has(corner) for chunks, corner in places)

    def unreadable_files(self) -> list[Unreadable]:
        """Return the files, such as segments, that should hold stored frames, but cannot be read."""
        if self.modules is not None:
            return self.modules.unreadable()
        status = self.frame_status
        stored = np.arange(len(self)) if status is None else np.flatnonzero(np.isin(status, WITH_DATA))
        return [] if self._linked is None else self._linked.unreadable(stored[stored < len(self)])

    def blobs(self, index: int) -> list[bytes] | None:
        """Return the blobs of a frame as stored, compressed or not; `None` if there are none, or they cannot
        be read, or the lengths in one show that it is damaged. The blob of a missing module or channel is
        empty.

        Raises:
            ReaderError: the frames are in other files, or not stored in chunks of one blob.
        """
        places = self._places(index)
        if self.data is None or any(
            chunks.shape is None or not (_has_index(chunks.data) and len(corner) <= 4)
            for chunks, corner in places
        ):
            raise ReaderError(
                f"the frames of {self.path} are not stored as one chunk per blob in this file; "
                "verify the files that hold them"
            )
        try:
            if self.modules is not None:
                found = self.modules.blobs(index)
            else:
                found = [chunks.blob(corner) for chunks, corner in places]
        except (OSError, RuntimeError, ValueError):
            return None
        return found if any(found) else None

    def _places(self, index: int) -> list[tuple[Chunks, tuple[int, ...]]]:
        """Return what is stored in the dataset of each blob of a frame, and the corner of its chunk; nothing
        if no dataset has the frame, or its file cannot be read."""
        if self.modules is not None:
            return self.modules.places(index)
        if self._linked is not None:
            if (place := self._linked.find(index)) is None:
                return []
            chunks, index = self._chunks_at(place[0]), place[1]
        elif self.channels:
            return [(self._chunks_of(name), (index, 0, 0)) for name in self.channels]
        elif (name := self._stored_name) is None:
            return []
        else:
            chunks = self._chunks_of(name)
        data, shape = chunks.data, chunks.shape
        if data.ndim == 4 and self.interpretation != "rgba-image":
            return [(chunks, (index, part, 0, 0)) for part in range(data.shape[1])]
        first = index // shape[0] * shape[0] if shape is not None and _has_index(data) else 0
        return [(chunks, (first, *(0 for _ in data.shape[1:])))]

    @cached_property
    def _linked(self) -> LinkedFrames | None:
        """The other datasets that hold the frames; `None` if they are in this one."""
        name, data = self._stored_name, self.stored_data
        return self._shown if name in (None, "data") or data is None else linked_frames(data)

    # -- the account ---------------------------------------------------------------------------

    @property
    def detector(self) -> str:
        """Name of the NXdetector group."""
        return str(self.group.name).rpartition("/")[2]

    @property
    def has_account(self) -> bool:
        """True if the file records what became of each frame, as those of Penstock do, and no others."""
        return isinstance(self.group.get("series"), h5py.Group)

    @property
    def id(self) -> str | None:
        """Unique id of the series."""
        return self._text("id")

    @property
    def state(self) -> str | None:
        """State of the series: "in progress", "complete" or "incomplete"; `None` if the file has none."""
        return self._text("state")

    @property
    def reason(self) -> str:
        """Why the series ended."""
        return self._text("reason") or ""

    @property
    def planned(self) -> int | None:
        """Frames announced; `None` if they were not."""
        number = self._number("planned")
        return None if number is None or number < 0 else number

    @property
    def index_source(self) -> str | None:
        """How the sender assigned frames to triggers; see the glossary's "index source"."""
        return self._text("index_source")

    @property
    def checksum(self) -> str:
        """Algorithm of the announced checksums; "unchecked: …" if the receiver did not know it."""
        return self._text("checksum") or ""

    @property
    def checksums(self) -> tuple[str, list[tuple[str, ...]]] | None:
        """Algorithm, and the checksums of each frame, one per blob; `None` if there are none."""
        found = self._dataset(CHECKSUM, 1, 2)
        if found is None or found.dtype.kind != "S":
            return None
        values = found[...] if found.ndim == 2 else found[...][:, np.newaxis]
        return text(found.attrs.get("algorithm")), [
            tuple(value.decode("ascii", "replace") for value in row) for row in values.tolist()
        ]

    @property
    def counts(self) -> Mapping[str, int]:
        """The account in the file, by the names of `COUNTERS`; empty if there is none."""
        numbers = {name: self._number(name) for name in COUNTERS}
        return {name: number for name, number in numbers.items() if number is not None}

    @property
    def frame_status(self) -> np.ndarray[Any, Any] | None:
        """Status of each frame, uint8 (`receiver.models.FrameStatus`); `None` if there is none."""
        return self._per_frame("frame_status")

    @property
    def sequence_number(self) -> np.ndarray[Any, Any] | None:
        """The detector's own number of each frame; `None` if there is none."""
        return self._per_frame("sequence_number")

    @property
    def pixel_mask(self) -> np.ndarray[Any, Any] | None:
        """The pixel mask of the header, (rows, cols); 0 means good. `None` if there is none."""
        found = self._dataset("pixel_mask", 2, 3)
        return None if found is None else np.asarray(found[...] if found.ndim == 2 else found[0])

    # -- NeXus ---------------------------------------------------------------------------------

    @cached_property
    def default_plot(self) -> str | None:
        """Path of the dataset that viewers show first: the signal to which the `default` attributes lead."""
        node: Any = self.file
        for _ in range(8):  # root, entry, data; a loop of attributes must end
            if text(node.attrs.get("NX_class")) == "NXdata":
                signal = text(node.attrs.get("signal"))
                return f"{node.name}/{signal}" if signal and signal in node else None
            following = text(node.attrs.get("default"))
            if not following or following not in node or not isinstance(node[following], h5py.Group):
                return None
            node = node[following]
        return None

    def _text(self, name: str) -> str | None:
        value = self._record(name)
        return None if value is None else text(value)

    def _number(self, name: str) -> int | None:
        value = self._record(name)
        return int(value) if isinstance(value, (int, np.integer)) else None

    def _record(self, name: str) -> Any:
        found = self._dataset(f"series/{name}", 0)
        return None if found is None else found[()]

    def _per_frame(self, name: str) -> np.ndarray[Any, Any] | None:
        found = self._dataset(name, 1)
        if found is None:
            return None
        try:
            return np.asarray(found[...])
        except (OSError, RuntimeError) as error:
            raise ReaderError(f"{name} of {self.path} cannot be read: {error}") from error

    def _dataset(self, name: str, *axes: int) -> h5py.Dataset | None:
        """Return a dataset of the detector with one of these numbers of axes, by default any; else `None`."""
        if (found := self._found.get(name)) is None:
            found = self.group.get(name)
            if not isinstance(found, h5py.Dataset) or found.shape is None:
                return None
            if not self._grows:
                self._found[name] = found
        return found if not axes or len(found.shape) in axes else None


def linked_frames(data: h5py.Dataset) -> LinkedFrames | None:
    """Return where the frames of a virtual dataset lie; `None` if it is none, or shows parts of frames."""
    return LinkedFrames(data) if runs_of(data) else None


def open_hdf5(path: Path, *, follow: bool = False) -> h5py.File:
    """Open a file to read it, without a lock.

    Args:
        path: the file.
        follow: also if it is being written with SWMR.

    Raises:
        ReaderError: it cannot be opened; the sentence says why.
    """
    try:
        return h5py.File(path, "r", locking=False)
    except OSError as error:
        if not (follow and "already open for write" in str(error)):
            raise ReaderError(why_not(path, error)) from error
    try:
        return h5py.File(path, "r", locking=False, swmr=True)
    except OSError as error:
        raise ReaderError(why_not(path, error)) from error


def _interpretation(data: h5py.Dataset) -> str:
    given = text(data.attrs.get("interpretation"))
    return given if given in ("spectrum", "rgba-image") else "image"


def _has_index(data: h5py.Dataset) -> bool:
    """Return whether the first axis counts frames; other programs store one image without it."""
    # Not by `ndim`, for which h5py asks HDF5 each time.
    return len(data.shape) > 2 or _interpretation(data) == "spectrum"


def text(value: Any) -> str:
    """Return an attribute or scalar as text; HDF5 has several types for text."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)


def _detector(file: h5py.File, path: Path, name: str | None) -> h5py.Group:
    entries = [group for group in file.values() if _is(group, "NXentry")]
    if not entries:
        raise ReaderError(
            f"{path} was not written by Penstock: it is HDF5, but there is no NXentry in it{_broken(file)}"
        )
    for entry in entries:
        account = entry.get("account")
        if isinstance(account, h5py.Group) and "pipeline" in account.attrs:
            raw = text(account.attrs.get("raw_file"))
            raise ReaderError(f"{path} is a result file" + (f"; its frames are in {raw}" if raw else ""))
    default = text(file.attrs.get("default"))
    entries.sort(key=lambda group: group.name != f"/{default}")
    instruments = [group for entry in entries for group in entry.values() if _is(group, "NXinstrument")]
    detectors = [group for instrument in instruments for group in _detectors(instrument)]
    if name is not None:
        detectors = [group for group in detectors if group.name.rpartition("/")[2] == name]
        if not detectors:
            raise ReaderError(f"{path} has no NXdetector called {name}")
    if not detectors:
        raise ReaderError(
            f"{path} has no NXdetector under an NXinstrument{_broken(file)}: it was not written by Penstock, "
            "or is a segment or a part; of these, give the file of the series"
        )
    # A detector with frames takes precedence over one without.
    return min(detectors, key=lambda group: "data" not in group)


def _broken(group: h5py.Group, depth: int = 3) -> str:
    """Return, in words, which link of a file leads nowhere; "" if none does."""
    for name in group:
        link, node = group.get(name, getlink=True), group.get(name)
        if node is None and isinstance(link, h5py.ExternalLink):
            place = f"{group.name.rstrip('/')}/{name}"
            return f"; its link {place} leads to {link.filename}, which cannot be opened"
        if isinstance(node, h5py.Group) and depth and (found := _broken(node, depth - 1)):
            return found
    return ""


def _detectors(instrument: h5py.Group) -> Iterator[h5py.Group]:
    """Yield the detectors of an instrument, each by its own name: soft links may give it a second one."""
    groups = {name: group for name, group in instrument.items() if _is(group, "NXdetector")}
    links = {name for name in groups if isinstance(instrument.get(name, getlink=True), h5py.SoftLink)}
    for name, group in groups.items():
        if name not in links or all(group != groups[other] for other in groups.keys() - links):
            yield group


def _is(node: Any, nx_class: str) -> bool:
    return isinstance(node, h5py.Group) and text(node.attrs.get("NX_class")) == nx_class
