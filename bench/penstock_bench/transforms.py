"""How fast the transforms of a Pilatus are: CBF to bslz4, beside their two libraries alone."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from penstock.codecs import bslz4
from penstock.receiver.transforms.frame_processor import FrameProcessor
from penstock.receiver.transforms.prefetch import Prefetch
from penstock.receiver.transforms.steps.bslz4 import Bslz4
from penstock.receiver.transforms.steps.cbf import Cbf
from penstock.receiver.transforms.steps.chain import Chain
from penstock.stins.messages import Frame, Header, Image, Start
from penstock_bench.results import Turn, Turns
from penstock_bench.runner import Bench

PILATUS = (1679, 1475)
"""Rows and columns of a Pilatus3 2M: 2.48 million pixels."""
CBF_FRAMES = 40
"""Frames of one turn: a good third of a second."""


def picture(path: Path | None) -> np.ndarray[Any, Any]:
    """Return the image of a file, tiled to a Pilatus3 2M; without a file, rings on a weak background."""
    if path is not None:
        import fabio

        with fabio.open(str(path)) as file:
            image = np.asarray(file.data)
        times = [-(-size // have) for size, have in zip(PILATUS, image.shape, strict=True)]
        return np.ascontiguousarray(np.tile(image, times)[: PILATUS[0], : PILATUS[1]], "<i4")
    rows, cols = np.ogrid[: PILATUS[0], : PILATUS[1]]
    radius = np.hypot(rows - PILATUS[0] / 2, cols - PILATUS[1] / 2)
    mean = 30 * np.exp(-radius / 600) * (1 + 20 * np.exp(-(((radius % 130) - 65) ** 2) / 8))
    return np.asarray(np.random.default_rng(1).poisson(mean), "<i4")


def transforms(bench: Bench, load: str) -> Turns:
    """Turn CBF blobs of a Pilatus3 2M into bslz4 blobs, by the chain in one thread and in one for each core.

    Beside it: fabio's decoder and libh5bshuf, called one after the other on existing arrays, which is the
    limit of any implementation with these libraries on one core.
    """
    from fabio.ext.byte_offset import comp_cbf32, dec_cbf32

    image = picture(Path(bench.options["image"]) if bench.options["image"] else None)
    threads = max(os.cpu_count() or 1, 2)  # with one, the loop would do it itself
    blob = bytes(comp_cbf32(image.ravel()))
    room = np.empty(bslz4.bound(image.nbytes, image.itemsize), np.uint8)
    chain = Chain([Cbf(), Bslz4()])
    frame = Frame(Image(shape=PILATUS, type="int32", compression="cbf", frame=0), [memoryview(blob)])
    processor = FrameProcessor(chain, threads)
    processor.begin(Start(Header(filename="", shape=PILATUS, type="int32", compression="cbf"), {}))

    def libraries() -> None:
        for _ in range(CBF_FRAMES):
            bslz4.compress_into(np.asarray(dec_cbf32(blob, image.size)), room)

    def alone() -> None:
        for _ in range(CBF_FRAMES):
            chain.apply(frame)

    def together() -> None:
        waiting = Prefetch(processor, threads)
        pushed = (each for _ in range(CBF_FRAMES * threads) for each in waiting.push(frame, running=True))
        for each in itertools.chain(pushed, waiting.drain()):
            assert isinstance(each.message, Frame)
            processor.process(each.message, each.result)

    takers = {
        "libraries": partial(_rate, libraries, 1), "the chain": partial(_rate, alone, 1),
        f"the chain in {threads} threads": partial(_rate, together, threads),
    }  # fmt: skip
    with contextlib.closing(processor):
        return bench.in_turn(takers)


def _rate(action: Callable[[], None], threads: int) -> Turn:
    began = time.perf_counter()
    action()
    rate = CBF_FRAMES / (time.perf_counter() - began)
    return {"frames/s per thread": rate, "frames/s": rate * threads}
