"""Frames of several channels, such as the thresholds of a counting detector: a 3-D dataset for each.

A channel is an image of its own, of the same pixels, so each dataset has the familiar shape: (frames, rows,
cols). `data` is a hard link to the first. The status of each channel of each frame is in `channel_status`; in
a frame of status *partial*, a missing or corrupt channel reads as the fill value.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import numpy as np

from penstock.receiver.files.stores.chunked import ChunkedStore
from penstock.receiver.files.stores.contract import FrameFormat, FrameStore, describe
from penstock.receiver.models import FrameStatus
from penstock.receiver.transforms.channels import PartialFrame
from penstock.stins.messages import Buffer, Frame

STATUS = "channel_status"
STATUS_CHUNK = 4096


class ChannelStore(FrameStore):
    """A store for each channel, and the status of each image.

    Args:
        detector: NXdetector group; a dataset for each channel, the link and the statuses are created in it.
        frames: format of the frames; its `channels` are the names of the datasets.
        is_found: whether another process has left the datasets; they are not created then.
    """

    def __init__(self, detector: Any, frames: FrameFormat, *, is_found: bool = False) -> None:
        single = dataclasses.replace(frames, shape=frames.shape[1:], channels=())
        self._shape = frames.shape[1:]
        self._stores = [
            ChunkedStore(detector, single, name, detector[name] if is_found else None)
            for name in frames.channels
        ]
        self.data = self._stores[0].data
        self._fresh: list[int] = []
        self._partial: dict[int, tuple[FrameStatus, ...]] = {}
        """Statuses of the channels of partial frames, by index."""
        if is_found:
            self._status = detector[STATUS]
            known, table = detector["frame_status"][:], self._status[:]
            for index in np.flatnonzero(known == FrameStatus.PARTIAL).tolist():
                self._partial[index] = tuple(map(FrameStatus, table[index].tolist()))
            return
        for store in self._stores:
            describe(store.data)
        detector["data"] = self.data
        number = len(self._stores)
        self._status = detector.create_dataset(
            STATUS, (0, number), "uint8", maxshape=(None, number), chunks=(STATUS_CHUNK, number),
            fillvalue=int(FrameStatus.MISSING),
        )  # fmt: skip
        self._status.attrs["long_name"] = (
            f"status of {', '.join(frames.channels)} of each frame, by the codes of frame_status"
        )

    def write(self, index: int, frame: Frame) -> None:
        """Store the images of a frame; the blob of a missing one is empty. See `FrameStore`."""
        for store, blob in zip(self._stores, frame.blobs, strict=True):
            if len(blob):
                store.write(index, Frame(frame.image, (blob,)))
        self._fresh.append(index)
        if isinstance(frame, PartialFrame):
            self._partial[index] = frame.statuses
        else:
            self._partial.pop(index, None)  # it arrived again, complete

    def read(self, index: int) -> Frame:
        """Return a stored frame; the blobs of missing channels are empty. See `FrameStore`."""
        known = self._partial.get(index, (FrameStatus.STORED,) * len(self._stores))
        frames = [
            store.read(index) if status is FrameStatus.STORED else None
            for store, status in zip(self._stores, known, strict=True)
        ]
        first = next(frame for frame in frames if frame is not None)
        blobs: list[Buffer] = [b"" if frame is None else frame.blobs[0] for frame in frames]
        return Frame(msgspec.structs.replace(first.image, shape=(len(blobs), *self._shape)), blobs)

    def grow(self, rows: int) -> None:
        for store in self._stores:
            store.grow(rows)
        self._status.resize(rows, axis=0)

    def flush(self) -> None:
        """Write the statuses of the channels of the frames since the last flush."""
        if not self._fresh:
            return
        index = np.array(self._fresh)
        first, last = int(index.min()), int(index.max())
        block = self._status[first : last + 1]
        block[index - first] = FrameStatus.STORED
        for number in self._fresh:
            if (known := self._partial.get(number)) is not None:
                block[number - first] = known
        self._status[first : last + 1] = block
        self._status.flush()  # before the status of the whole frame
        self._fresh.clear()

    def finish(self, statuses: np.ndarray[Any, Any]) -> None:
        """Cut to this length; missing frames read as the fill value by themselves."""
        for store in self._stores:
            store.finish(statuses)
        table = np.repeat(statuses[:, np.newaxis], len(self._stores), axis=1)
        for index, known in self._partial.items():
            table[index] = known
        self._status.resize(len(statuses), axis=0)
        self._status[...] = table
        self._fresh.clear()
