"""One stream of the generator: it numbers messages, commits faults and logs them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from penstock.stins.checksums import checksums
from penstock.stins.messages import Header, Image, IndexSource, SeriesEnd
from penstock.stins.series import SeriesEncoder
from penstock.streamer.camera.push_socket import Part, PushSocket
from penstock.streamer.simulated.generator.faults import FaultLog, Faults
from penstock.streamer.simulated.generator.pixels import make_pool
from penstock.streamer.simulated.generator.plan import Plan, module
from penstock.streamer.simulated.patterns import powder_geometry

EXPOSURE = 1e-3
"""Exposure time in seconds that frames claim if no rate is given."""
TICK = 0.05
"""Seconds between two checks of whether to stop, while no receiver has room."""


class ModuleImage(Image, frozen=True, kw_only=True, omit_defaults=True, tag_field="htype", tag="image"):
    """The image header of a module stream, as Lambda streamers send it."""

    x: int
    y: int
    rotation: int
    full_shape: tuple[int, int]


class Held(msgspec.Struct, frozen=True):
    """A message that is held back, so that others overtake it."""

    after: int
    """Frame after which it is sent."""
    due: float
    """Earliest time at which it is sent, on the monotonic clock."""
    parts: list[bytes]


class Stream:
    """One stream of a series.

    Args:
        number: number of the stream, from 0.
        series: id of the series, the same for all streams.
        push: socket of the stream.
        stopping: returns true once waiting for room shall end.
    """

    def __init__(
        self, plan: Plan, number: int, series: str, push: PushSocket, stopping: Callable[[], bool]
    ) -> None:
        self._plan = plan
        self._series = series
        self._push = push
        self._stopping = stopping
        self._faults = plan.faults[number] if number < len(plan.faults) else Faults()
        self._odd = self._faults.frames
        self._encoder = SeriesEncoder()
        self._pool = make_pool(plan, number)
        self._lasting = [[push.lasting(blob) for blob in blobs] for blobs in self._pool]
        self._sums = [checksums(plan.checksum, blobs) if plan.checksum else None for blobs in self._pool]
        place = module(plan, number)
        self._place: dict[str, Any] = {} if place is None else msgspec.structs.asdict(place)
        self._kind = Image if place is None else ModuleImage
        self._chunks = (1, *plan.shape[1:]) if len(plan.shape) == 3 and not plan.has_colours else None
        self._held: list[Held] = []
        self._turns = 0
        self.log = FaultLog()
        self.bytes = 0
        """Bytes of the blobs that were sent."""

    def begin(self) -> bool:
        """Send the start message; return false if told to stop before."""
        plan = self._plan
        header = Header(
            filename=plan.filename,
            series=self._series,
            frames=plan.frames if plan.announced else None,
            shape=plan.shape,
            type=plan.dtype,
            compression=plan.compression,
            frame_bytes=max(sum(map(len, blobs)) for blobs in self._pool),
            streams=plan.streams,
            checksum=plan.checksum,
            index_source=IndexSource.HARDWARE_COUNTER.value,
            trigger_mode="INTERNAL",
            frame_time=1 / plan.rate if plan.rate else 0.0,
            overwrite=plan.overwrite,
        )
        exposure = 1 / plan.rate if plan.rate else EXPOSURE
        acquisition: dict[str, Any] = {"trigger_mode": "INTERNAL", "frames_per_trigger": 1}
        if plan.announced:
            acquisition["triggers"] = plan.frames
        metadata: dict[str, Any] = {
            "exptime": exposure,
            "count_time": exposure,
            "acquisition": acquisition,
            **self._place,
        }
        if plan.rate:
            metadata["frame_time"] = exposure
        if plan.pattern == "powder" and plan.streams == 1 and len(plan.shape) == 2:
            metadata |= powder_geometry(*plan.shape[-2:])
        parts = self._encoder.start(header, metadata)
        if self._faults.lose_start:
            return True
        self.log.start_sent = self._send(parts)
        self.bytes = 0
        return self.log.start_sent

    def frame(self, frame: int) -> bool:
        """Send what is due at this frame; return false if told to stop before."""
        self._turns = frame + 1
        lag = self._faults.lag
        return frame < lag or self._frame(frame - lag)

    def _frame(self, frame: int) -> bool:
        """Send a frame with its faults; return false if told to stop before."""
        if frame == self._faults.dies_at and not self._die(frame):
            return False
        if self.log.died_at is not None:
            return True
        turn = frame % len(self._pool)
        image = self._kind(
            shape=self._plan.shape, type=self._plan.dtype, compression=self._plan.compression, frame=frame,
            chunks=self._chunks, series=self._series, trigger=frame, timestamp=time.time(),
            checksums=self._sums[turn], **self._place,
        )  # fmt: skip
        if frame in self._odd:
            sent = self._mistreat(frame, image, self._pool[turn])
        else:
            sent = self._send([self._encoder.image(image), *self._lasting[turn]])
        if self._held:
            sent = sent and self._release(frame)
        return sent

    def send_rest(self) -> bool:
        """Send held messages when they are due; return false if told to stop before."""
        lagging = range(max(0, self._turns - self._faults.lag), self._turns)
        return all(map(self._frame, lagging)) and self._send_held()

    def _die(self, frame: int) -> bool:
        if not self._send_held():
            return False
        self._push.close()
        self.log.died_at = frame
        return True

    def _send_held(self) -> bool:
        for held in sorted(self._held, key=lambda held: held.due):
            while (left := held.due - time.monotonic()) > 0:
                if self._stopping():
                    return False
                time.sleep(min(left, TICK))
            if not self._send(held.parts):
                return False
        self._held.clear()
        return True

    def end(self, end: SeriesEnd) -> None:
        """Send the end message, unless it shall be lost."""
        parts = self._encoder.end(end)
        if not self._faults.lose_end and self.log.died_at is None:
            self.log.end_sent = self._send(parts)

    def _mistreat(self, frame: int, image: Image, blobs: list[bytes]) -> bool:
        faults, log = self._faults, self.log
        if frame in faults.wrong_type:
            image = msgspec.structs.replace(image, type="uint16" if image.type == "uint8" else "uint8")
            log.wrong_type.append(frame)
        parts = [self._encoder.image(image), *blobs]
        if frame in faults.truncate:
            parts[-1] = parts[-1][:-1]
            log.truncate.append(frame)
        if frame in faults.corrupt:
            parts[-1] = _flipped(parts[-1])
            log.corrupt.append(frame)
        if frame in faults.drop:
            log.drop.append(frame)
            return True
        if frame in faults.reorder or frame in faults.delay:
            wait = faults.delay_seconds if frame in faults.delay else 0.0
            after = frame + faults.window if frame in faults.reorder else frame
            self._held.append(Held(after, time.monotonic() + wait, parts))
            (log.delay if frame in faults.delay else log.reorder).append(frame)
            return True
        if frame in faults.duplicate:
            if not self._send(parts):
                return False
            parts[0] = self._encoder.image(image)
            log.duplicate.append(frame)
        return self._send(parts)

    def _release(self, frame: int) -> bool:
        now = time.monotonic()
        ready = [held for held in self._held if held.after <= frame and held.due <= now]
        self._held = [held for held in self._held if held.after > frame or held.due > now]
        return all(self._send(held.parts) for held in ready)

    def _send(self, parts: Sequence[Part]) -> bool:
        """Wait for room and send; return false if told to stop before."""
        while self._push.try_send(parts) is None:
            if not self._push.wait_writable(TICK) and self._stopping():
                return False
        self.bytes += sum(map(len, parts[1:]))
        return True


def _flipped(blob: bytes) -> bytes:
    """Return the blob with one flipped bit in its middle."""
    damaged = bytearray(blob)
    damaged[len(damaged) // 2] ^= 1
    return bytes(damaged)
