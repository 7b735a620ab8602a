"""Pilatus3 2M: CBF blobs into bslz4 blobs, beside fabio's decoder and libh5bshuf alone, in turn.

Those two, called one after the other on existing arrays, are the limit of any implementation with these
libraries on one core.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from penstock.codecs import bslz4
from penstock.receiver.transforms.frame_processor import FrameProcessor
from penstock.receiver.transforms.prefetch import Prefetch, Ready
from penstock.receiver.transforms.steps.bslz4 import Bslz4
from penstock.receiver.transforms.steps.cbf import Cbf
from penstock.receiver.transforms.steps.chain import Chain
from penstock.stins.messages import Frame, Header, Image, Start

SHAPE = (1679, 1475)
"""Rows and columns of a Pilatus3 2M: 2.48 million pixels."""
BAR = 0.9
"""Minimum ratio of the chain to the libraries alone, both on one core."""
FRAMES = 40
"""Frames of one turn: a good third of a second."""


@dataclass(frozen=True)
class Result:
    """Frames per second of each contender, one value per round."""

    libraries: list[float]
    chain: list[float]
    pool: list[float]
    threads: int
    blob_bytes: int

    @property
    def ratio(self) -> float:
        """Median of the ratios of neighbouring turns: a busy machine slows both."""
        return statistics.median(
            ours / theirs for ours, theirs in zip(self.chain, self.libraries, strict=True)
        )

    @property
    def gain(self) -> float:
        """Speed of the threads relative to one: at most their number."""
        return statistics.median(many / one for many, one in zip(self.pool, self.chain, strict=True))


def picture(path: Path | None) -> np.ndarray:
    """Return the image of a file, tiled to a Pilatus3 2M; without a file, rings on a weak background."""
    if path is not None:
        import fabio

        with fabio.open(str(path)) as file:
            image = np.asarray(file.data)
        times = [-(-size // have) for size, have in zip(SHAPE, image.shape, strict=True)]
        return np.ascontiguousarray(np.tile(image, times)[: SHAPE[0], : SHAPE[1]], "<i4")
    rows, cols = np.ogrid[: SHAPE[0], : SHAPE[1]]
    radius = np.hypot(rows - SHAPE[0] / 2, cols - SHAPE[1] / 2)
    mean = 30 * np.exp(-radius / 600) * (1 + 20 * np.exp(-(((radius % 130) - 65) ** 2) / 8))
    return np.asarray(np.random.default_rng(1).poisson(mean), "<i4")


def measure(image: np.ndarray, rounds: int) -> Result:
    """Measure in turn the libraries, the chain, and the chain in as many threads as there are cores.

    Args:
        image: int32, `SHAPE`.
        rounds: turns of each.
    """
    from fabio.ext.byte_offset import comp_cbf32, dec_cbf32

    threads = max(os.cpu_count() or 1, 2)  # with one, the loop would do it itself
    blob = bytes(comp_cbf32(image.ravel()))
    room = np.empty(bslz4.bound(image.nbytes, image.itemsize), np.uint8)
    head = Image(shape=SHAPE, type="int32", compression="cbf", frame=0)
    chain = Chain([Cbf(), Bslz4()])
    frame = Frame(head, [memoryview(blob)])

    def libraries() -> None:
        for _ in range(FRAMES):
            bslz4.compress_into(np.asarray(dec_cbf32(blob, image.size)), room)

    def alone() -> None:
        for _ in range(FRAMES):
            chain.apply(frame)

    def together() -> None:
        waiting = Prefetch(processor, threads)
        count = FRAMES * threads
        for _ in range(count):
            for ready in waiting.push(Frame(head, [memoryview(blob)]), running=True):
                take(ready)
        for ready in waiting.drain():
            take(ready)

    def take(ready: Ready) -> None:
        assert isinstance(ready.message, Frame)
        processor.process(ready.message, ready.result)

    processor = FrameProcessor(chain, threads)
    processor.begin(Start(Header(filename="", shape=SHAPE, type="int32", compression="cbf"), {}))
    try:
        result = Result([], [], [], threads, len(blob))
        for _ in range(rounds):
            result.libraries.append(_rate(libraries, FRAMES))
            result.chain.append(_rate(alone, FRAMES))
            result.pool.append(_rate(together, FRAMES * threads))
    finally:
        processor.close()
    return result


def _rate(action: Callable[[], None], frames: int) -> float:
    began = time.perf_counter()
    action()
    return frames / (time.perf_counter() - began)
