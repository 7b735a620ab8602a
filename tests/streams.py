"""The sending side of a series for tests: a real PUSH socket, speaking STINS well or badly."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import zmq

from penstock.stins.messages import Buffer, Header, Image, SeriesEnd
from penstock.stins.series import SeriesEncoder

DEADLINE_MS = 10_000
"""Time for a receiver to connect and take a message; reached only when something is wrong."""


def text(**keys: Any) -> bytes:
    """One JSON part, key by key as given."""
    return json.dumps(keys).encode()


def pixels(number: int, shape: tuple[int, ...] = (4, 6), dtype: str = "uint16") -> np.ndarray[Any, Any]:
    """The image of one frame: no two pixels of a frame, and no two frames of a thousand, are alike."""
    count = int(np.prod(shape))
    return (np.arange(count) + number % 1000 * count).astype(dtype).reshape(shape)


def image(number: int | None, array: np.ndarray[Any, Any], **keys: Any) -> Image:
    """The header of a frame of this array, sent plain."""
    return Image(
        **{"shape": array.shape, "type": array.dtype.name, "compression": "none", "frame": number, **keys}
    )


class Streamer:
    """A PUSH socket that binds, as streamers do.

    Args:
        endpoint: to bind; a free port of loopback by default.
    """

    def __init__(self, endpoint: str = "tcp://127.0.0.1:0") -> None:
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.PUSH)
        self._socket.set(zmq.LINGER, 0)
        self._socket.set(zmq.SNDTIMEO, DEADLINE_MS)
        self._socket.bind(endpoint)
        self.endpoint = self._socket.get_string(zmq.LAST_ENDPOINT)
        self.encoder = SeriesEncoder()
        self.series = ""

    def send(self, parts: Sequence[Buffer]) -> None:
        """Send any parts; waits for a receiver."""
        self._socket.send_multipart(parts)

    def start(self, filename: str, metadata: Mapping[str, Any] | None = None, **keys: Any) -> str:
        """Start a series of Penstock's own kind; returns its id."""
        self.series = keys.pop("series", uuid.uuid4().hex)
        header = Header(filename=filename, series=self.series, **keys)
        self.send(self.encoder.start(header, metadata))
        return self.series

    def frame(self, number: int, array: np.ndarray[Any, Any] | None = None, **keys: Any) -> None:
        """One frame of the series; `array` is `pixels(number)` unless given."""
        array = pixels(number) if array is None else array
        blobs = keys.pop("blobs", [array.tobytes()])
        head = image(number, array, series=self.series, **keys)
        self.send([self.encoder.image(head), *blobs])

    def end(self, **keys: Any) -> None:
        """End the series."""
        self.send(self.encoder.end(SeriesEnd(**keys)))

    def series_of(self, filename: str, frames: int, **keys: Any) -> str:
        """A whole sound series."""
        series = self.start(filename, frames=frames, **keys)
        for number in range(frames):
            self.frame(number)
        self.end(reason="complete", triggered=frames, sent=frames)
        return series

    def close(self, linger: float = 0.0) -> None:
        """Close the socket; what is not sent within so many seconds is dropped."""
        self._socket.close(linger=int(linger * 1000))
        self._context.term()
