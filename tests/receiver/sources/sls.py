"""An SLS detector receiver for tests: its messages, and the PUB socket that it binds for one port."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import zmq

from tests.streams import DEADLINE_MS

SHAPE = (4, 6)
"""Rows and columns of one port."""

QUEUE = 40
"""Messages for a subscriber that is slow; what comes then is dropped."""

DUMMY = json.dumps(
    {
        "jsonversion": 4,
        "bitmode": 0,
        "fileIndex": 0,
        "detshape": [0, 0],
        "shape": [0, 0],
        "size": 0,
        "data": 0,
    }
).encode()
"""Ends an acquisition; all else in it is as it was never set."""


def header(index: int = 0, *, frames: int | None = None, first: int = 1, **keys: Any) -> dict[str, Any]:
    """The header of one frame, as slsDetectorPackage 7 writes it.

    Args:
        frames: of the acquisition.
        first: the detector's number of its first frame.
    """
    rows, columns = SHAPE
    progress = {} if frames is None else {"progress": float(f"{100 * (index + 1) / frames:.6g}")}
    return {
        "jsonversion": 4, "bitmode": 16, "fileIndex": 0, "detshape": [1, 1], "shape": [columns, rows],
        "size": 2 * rows * columns, "acqIndex": first + index, "frameIndex": index, **progress,
        "fname": "//run", "data": 1, "completeImage": 1, "frameNumber": first + index, "expLength": 100_000,
        "packetNumber": 128, "detSpec1": 0, "timestamp": 20_000_000 + 1000 * index, "modId": 7, "row": 0,
        "column": 0, "detSpec2": 0, "detSpec3": 0, "detSpec4": 0, "detType": 3, "version": 2, "flipRows": 0,
        "quad": 0, **keys,
    }  # fmt: skip


def pixels(index: int, dtype: str = "<u2") -> np.ndarray[Any, Any]:
    """The image of one frame."""
    return (np.arange(24) + 24 * index).astype(dtype).reshape(SHAPE)


def message(index: int = 0, blob: bytes | None = None, **keys: Any) -> list[bytes]:
    """One frame; its pixels are `pixels(index)` unless given."""
    return [json.dumps(header(index, **keys)).encode(), pixels(index).tobytes() if blob is None else blob]


class Port:
    """One port of a detector receiver. Binds PUB; as XPUB it also hears when somebody has subscribed."""

    def __init__(self) -> None:
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.XPUB)
        self._socket.set(zmq.LINGER, 0)
        self._socket.set(zmq.SNDHWM, QUEUE)
        self._socket.set(zmq.RCVTIMEO, DEADLINE_MS)
        self._socket.bind("tcp://127.0.0.1:0")
        self.endpoint = self._socket.get_string(zmq.LAST_ENDPOINT)

    def subscribed(self) -> None:
        """Wait for a subscriber: what is published before is lost."""
        assert self._socket.recv() == b"\x01"

    def send(self, parts: Sequence[bytes]) -> None:
        """Publish a message."""
        self._socket.send_multipart(parts)

    def acquisition(self, frames: int, leave_out: Sequence[int] = (), **keys: Any) -> None:
        """Publish a whole acquisition, but for some frames."""
        for index in range(frames):
            if index not in leave_out:
                self.send(message(index, frames=frames, **keys))
        self.send([DUMMY])

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
        self._context.term()
