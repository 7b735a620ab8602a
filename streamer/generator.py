"""The data generator: a STINS series as fast as the machine allows, or at a rate, without a camera.

Blobs are made before the first frame, so that the loop measures the wire and the receiver. Faults
happen on request and stand in the report, which no receiver ever sees.
"""

from __future__ import annotations

import os
import signal
import time
import uuid
from collections.abc import Callable
from math import prod

import msgspec
import numpy as np

from penstock.codecs import bslz4
from penstock.stins.messages import EndReason, Header, Image, IndexSource, SeriesEnd
from penstock.stins.series import SeriesEncoder
from penstock.streamer.sender import PushSocket

POOL_BYTES = 64 * 2**20
POOL_FRAMES = 64
STAMP_PIXELS = 4
"""Pixels of row 0 that hold the number of the blob in the pool, low byte first."""
TICK = 0.05
"""Seconds between two looks at whether to stop, while no receiver has room."""
NAP = 0.0005
"""Seconds ahead of the rate below which sleeping costs more than it saves."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to send; faults by frame number."""

    frames: int
    shape: tuple[int, ...]
    dtype: str = "uint16"
    compression: str = "none"
    filename: str = ""
    rate: float = 0.0
    """Frames a second; 0 for as fast as possible."""
    drop: frozenset[int] = frozenset()
    """Numbered and counted as sent, but lost on the way."""
    duplicate: frozenset[int] = frozenset()
    """Sent twice, the second time with a message number of its own."""
    corrupt: frozenset[int] = frozenset()
    """Sent with its blob cut short by one byte."""
    die_at: int | None = None
    """SIGKILL to the own process instead of this frame."""
    lose_end: bool = False


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What was sent."""

    series: str
    planned: int
    sent: int
    bytes: int
    """Of blobs."""
    seconds: float
    """From the first frame to the last one handed to ZeroMQ."""
    rate: float
    """Frames a second."""
    megabytes_per_second: float
    cpu_microseconds_per_frame: float
    """CPU time of the process, I/O threads included."""
    reason: str
    faults: dict[str, list[int] | bool]
    """What was done to the frames on the way, by frame number."""


def pixels(plan: Plan, frame: int) -> np.ndarray:
    """Frame number `frame`: photon noise around 3 counts, its blob's number in the first pixels."""
    image = np.random.default_rng(frame % pool_size(plan)).poisson(3.0, plan.shape).astype(plan.dtype)
    width = min(STAMP_PIXELS, plan.shape[-1])
    image[..., 0, :width] = [frame % pool_size(plan) >> 8 * place & 255 for place in range(width)]
    return image


def pool_size(plan: Plan) -> int:
    """Number of different blobs; frame n carries blob n modulo this."""
    frame_bytes = prod(plan.shape) * np.dtype(plan.dtype).itemsize
    return max(1, min(plan.frames, POOL_FRAMES, POOL_BYTES // frame_bytes))


def make_pool(plan: Plan) -> list[list[bytes]]:
    """The blobs of every different frame."""
    pool = []
    for frame in range(pool_size(plan)):
        image = pixels(plan, frame)
        images = list(image) if image.ndim == 3 else [image]
        pool.append([bslz4.compress(i) if plan.compression == "bslz4" else i.tobytes() for i in images])
    return pool


def generate(
    plan: Plan,
    push: PushSocket,
    *,
    stopping: Callable[[], bool] = lambda: False,
    progress: Callable[[int], None] = lambda sent: None,
) -> Report:
    """Send one series; ends early, with reason "stop", once `stopping()` says so."""
    pool = make_pool(plan)
    series = uuid.uuid4().hex
    encoder = SeriesEncoder()
    _send(
        push,
        encoder.start(_header(plan, series, pool), {"exptime": 1 / plan.rate if plan.rate else 0.0}),
        stopping,
    )
    sent = nbytes = 0
    shown = start = time.monotonic()
    cpu = time.process_time()
    chunks = (1, *plan.shape[1:]) if len(plan.shape) == 3 else None
    odd = plan.drop | plan.duplicate | plan.corrupt
    for frame in range(plan.frames):
        now = time.monotonic()
        if plan.rate and (ahead := start + frame / plan.rate - now) > NAP:
            time.sleep(ahead)
        if now - shown > TICK:
            shown = now
            progress(sent)
            if stopping():
                break
        if frame == plan.die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        blobs = pool[frame % len(pool)]
        image = Image(
            shape=plan.shape, type=plan.dtype, compression=plan.compression, frame=frame, chunks=chunks,
            series=series, trigger=frame, timestamp=time.time(),
        )  # fmt: skip
        parts = [encoder.image(image), *blobs]
        if frame in odd:
            if frame in plan.corrupt:
                parts[-1] = parts[-1][:-1]
            if frame in plan.duplicate and not _send(push, parts, stopping):
                break
            if frame in plan.duplicate:
                parts[0] = encoder.image(image)
            if frame in plan.drop:
                sent += 1
                continue
        if push.try_send(parts) is None and not _send(push, parts, stopping):
            break
        sent += 1
        nbytes += sum(map(len, blobs))
    seconds = max(time.monotonic() - start, 1e-9)
    cpu = time.process_time() - cpu
    progress(sent)
    reason = EndReason.COMPLETE if sent == plan.frames else EndReason.STOP
    end = encoder.end(SeriesEnd(reason=reason.value, triggered=sent, sent=sent))
    if not plan.lose_end:
        _send(push, end, stopping if reason is EndReason.COMPLETE else lambda: True)
    return Report(
        series=series,
        planned=plan.frames,
        sent=sent,
        bytes=nbytes,
        seconds=round(seconds, 6),
        rate=round(sent / seconds, 1),
        megabytes_per_second=round(nbytes / seconds / 1e6, 1),
        cpu_microseconds_per_frame=round(1e6 * cpu / max(sent, 1), 2),
        reason=reason.value,
        faults={
            "drop": sorted(frame for frame in plan.drop if frame < sent),
            "duplicate": sorted(frame for frame in plan.duplicate if frame < sent),
            "corrupt": sorted(frame for frame in plan.corrupt if frame < sent),
            "lose_end": plan.lose_end,
        },
    )


def _header(plan: Plan, series: str, pool: list[list[bytes]]) -> Header:
    return Header(
        filename=plan.filename,
        series=series,
        frames=plan.frames,
        shape=plan.shape,
        type=plan.dtype,
        compression=plan.compression,
        frame_bytes=max(sum(map(len, blobs)) for blobs in pool),
        streams=1,
        index_source=IndexSource.HARDWARE_COUNTER.value,
        trigger_mode="INTERNAL",
        frame_time=1 / plan.rate if plan.rate else None,
    )


def _send(push: PushSocket, parts: list[bytes], stopping: Callable[[], bool]) -> bool:
    """Wait for room as long as it takes; false when told to stop before."""
    while push.try_send(parts) is None:
        if not push.wait_writable(TICK) and stopping():
            return False
    return True
