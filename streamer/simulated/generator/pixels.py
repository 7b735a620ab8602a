"""The generator's frames: blobs of a few different frames, made before the first one is sent.

They are used in turn, so that the loop measures the network and the receiver.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

import numpy as np
from msgspec.structs import replace

from penstock.codecs import bslz4
from penstock.streamer.simulated import patterns
from penstock.streamer.simulated.generator.plan import GAP, Plan

POOL_BYTES = 64 * 2**20
POOL_FRAMES = 64
STAMP_PIXELS = 4
"""Pixels of row 0 that hold the number of the blob in the pool, low byte first; not of opaque blobs."""
FAINT = 3.0
"""Photons per pixel of the noise."""
BRIGHT = 1000.0
"""Photons in the brightest pixel of diffraction."""


def pool_size(plan: Plan) -> int:
    """Return the number of different blobs; frame n has blob n modulo this number."""
    frame_bytes = prod(plan.shape) * np.dtype(plan.dtype).itemsize
    return max(1, min(plan.frames, POOL_FRAMES, POOL_BYTES // (frame_bytes * plan.streams)))


def pixels(plan: Plan, frame: int, stream: int = 0) -> np.ndarray:
    """Return a frame of a stream: (rows, cols), (k, rows, cols), a spectrum (n) or colours (rows, cols, 3);
    its first pixels hold its blob's number."""
    if len(plan.shape) == 1:
        (spectrum,) = pixels(replace(plan, shape=(1, *plan.shape)), frame, stream)
        return np.asarray(spectrum)
    if plan.has_colours:
        grey = pixels(replace(plan, shape=plan.shape[:2]), frame, stream)
        return np.stack([grey, np.fliplr(grey), np.flipud(grey)], axis=-1)
    number = frame % pool_size(plan)
    if plan.pattern == "opaque":
        rng = np.random.default_rng([number, stream])
        return np.frombuffer(rng.bytes(prod(plan.shape) * np.dtype(plan.dtype).itemsize), plan.dtype).reshape(
            plan.shape
        )
    if plan.pattern == "noise":
        rng = np.random.default_rng([number, stream])
        image = rng.poisson(FAINT, plan.shape).astype(plan.dtype)
    else:
        whole = _whole(plan.pattern, _whole_shape(plan), plan.dtype)
        first = stream * (plan.shape[-2] + GAP)
        image = whole[number % len(whole)][..., first : first + plan.shape[-2], :].copy()
    width = min(STAMP_PIXELS, plan.shape[-1])
    image[..., 0, :width] = [number >> 8 * place & 255 for place in range(width)]
    return image


def make_pool(plan: Plan, stream: int = 0) -> list[list[bytes]]:
    """Return the blobs of all different frames of a stream."""
    pool = []
    for frame in range(pool_size(plan)):
        image = pixels(plan, frame, stream)
        images = list(image) if image.ndim == 3 and not plan.has_colours else [image]
        pool.append([bslz4.compress(i) if plan.compression == "bslz4" else i.tobytes() for i in images])
    return pool


def _whole_shape(plan: Plan) -> tuple[int, ...]:
    """Return the shape of the image of all streams together."""
    *blobs, rows, cols = plan.shape
    return *blobs, plan.streams * (rows + GAP) - GAP, cols


@lru_cache(maxsize=2)
def _whole(pattern: str, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Return frames of the whole image, (n, *shape)."""
    return patterns.pool(pattern, shape, dtype, BRIGHT)
