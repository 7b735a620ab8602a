"""The frames of one series: buffers to the library and back, and the index of each frame."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator
from types import TracebackType

import numpy as np

from penstock.devices._genicam.aravis import STATUS, Filled
from penstock.devices._genicam.device import Device
from penstock.devices._genicam.frame_ids import FrameIds, Habit
from penstock.devices._genicam.parameters import COUNTS
from penstock.devices._genicam.pixel_formats import PixelFormat
from penstock.stins.texts import plural
from penstock.streamer.camera.contract import Acquisition, Exposure
from penstock.streamer.camera.settings import TriggerMode
from penstock.streamer.camera.unit import CameraError, Overrun

log = logging.getLogger(__name__)

POLL = 0.05
"""Seconds: the longest that an Abort has to wait for the library."""
LATE = 1.5
"""Seconds after which a frame that is due counts as lost; the library waits 0.2 s for its packets."""
SILENT = 10.0
"""Seconds without a frame of a camera that runs freely, after which something is wrong; one that does not
answer at all is found by the library's heartbeat, in 6 s."""
QUIET = 2.0
"""Seconds after which a camera is asked whether it is there: without a frame if it has no heartbeat, else
without one that was due."""
CLOCKS = 1.01
"""How much faster a camera's clock may be than the host's."""
SETTLE = 0.3
"""Seconds for which a camera that was stopped may still send a frame."""
LONG = 1.0
"""Seconds of a frame period, above which a camera that was stopped is not waited for."""
REMEDY = (
    "raise net.core.rmem_max of this host (sysctl) to the bytes of some frames, PacketDelay where cameras "
    "share a link, and see that PacketSize fits the network"
)
OF_NO_FRAME = ("n_duplicated_packets", "n_ignored_packets", "n_error_packets", "n_underruns")
"""Counters of packets that have been received, and belong to no frame or only say that one is lost."""
MOST_LENT = 256
"""Most buffers that the library has at a time."""
OWN_BUFFERS = 16
"""Buffers for frames that have to be unpacked."""


class Frames:
    """The frames of one series; a context manager that holds the stream.

    Args:
        device: the camera, which has been set up.
        ids: its frame ids.
        acquisition: the engine's side.
        form: format of the pixels.
        payload: bytes of a frame as sent.
    """

    def __init__(
        self, device: Device, ids: FrameIds, acquisition: Acquisition, form: PixelFormat, payload: int
    ) -> None:
        self._device = device
        self._ids = ids
        self._acquisition = acquisition
        self._form = form
        self._payload = payload
        settings = acquisition.settings
        self._exposure = settings.exposure_time
        self._period = self._exposure + max(settings.latency_time, device.readout)
        self._planned = settings.frames
        self._packets = device.packets_per_frame()
        self.counts = dict.fromkeys(COUNTS, 0)
        self._lent: dict[int, int] = {}
        """Number of the engine's buffer by its address."""
        self._own: dict[int, np.ndarray] = {}
        self._given = -1
        """The highest index of a frame that was given to the engine."""
        self._known = 0
        """Frames that are accounted for, given or lost."""
        self._exact = True
        """True as long as the newest id is that of the last frame that the camera has sent."""
        self._heard = self._started = self._next_check = 0.0
        self._arrived = False
        self._asked_to_stop = self._is_stopped = False

    def __enter__(self) -> Frames:
        self._stream = self._device.stream()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._stop()
            self._end_frames()
            self._count()
            if incomplete := self.counts["IncompleteFrames"]:
                log.warning(
                    "camera %s: %s arrived without some of their packets; %s", self._device.name,
                    plural(incomplete, "frame"), REMEDY,
                )  # fmt: skip
        finally:
            self._device.close_stream(self._stream)
            self._ids.end(exact=self._exact and kind is None and not self._acquisition.aborting)

    def take(self) -> Iterator[Exposure]:
        """Arm the camera and yield the frames of the series."""
        self._lend()
        self._started = self._acquisition.now()
        self._device.start()
        self._heard = self._acquisition.now()
        self._acquisition.ready()
        match self._acquisition.settings.trigger_mode:
            case TriggerMode.SOFTWARE:
                yield from self._triggered()
            case TriggerMode.INTERNAL:
                yield from self._free_running()
            case _:
                yield from self._at_edges()

    # The three ways to take frames --------------------------------------------------------------

    def _free_running(self) -> Iterator[Exposure]:
        due = self._acquisition.now() + self._exposure + self._period + LATE
        while self._known < self._planned and not self._acquisition.stopping:
            filled = self._next(due)
            if filled is not None:
                due = self._acquisition.now() + self._period + LATE
                yield from self._give(filled, self._index_of(filled))
            elif self._acquisition.now() >= due:
                due += self._period
                self._account(self._known + 1)
        if not self._acquisition.stopping and self._acquisition.now() - self._heard > LATE:
            self._refuse_if_silent()
            if not (self._arrived or self._stream.count("n_received_packets")):
                raise CameraError(self._nothing_arrives("no frame"))  # each missing would not say why
        if self._acquisition.stopping:  # the frame under exposure is finished
            self._stop()
            filled = self._next(self._acquisition.now() + self._exposure + SETTLE, exposing=True)
            if filled is not None:
                yield from self._give(filled, self._index_of(filled))
        self._follow()

    def _triggered(self) -> Iterator[Exposure]:
        for index in range(self._planned):
            if not self._acquisition.wait_trigger():
                return
            while (late := self._pop(0.0)) is not None:
                self._index_of(late)
                self._stream.give_back(late)
            self._lend()
            self._refuse_if_lost()
            self._device.trigger()
            filled = self._next(self._acquisition.now() + self._exposure + LATE, exposing=True)
            self._account(index + 1)
            if filled is not None:
                self._index_of(filled)
                yield from self._give(filled, index)
            elif self._acquisition.aborting:
                return
            else:
                self._exact = False
                self._refuse_if_silent()

    def _at_edges(self) -> Iterator[Exposure]:
        while self._known < self._planned and (filled := self._next(math.inf)) is not None:
            yield from self._give(filled, self._index_of(filled))
        if self._acquisition.stopping:  # what has arrived is taken, an exposure is given up
            self._stop()
            while (filled := self._pop(0.0)) is not None:
                yield from self._give(filled, self._index_of(filled))
            self._exact = False

    # Parts --------------------------------------------------------------------------------------

    def _next(self, due: float, *, exposing: bool = False) -> Filled | None:
        """Return the next buffer that is back, whole or not; `None` when it is due, or at Stop or Abort."""
        while self._acquisition.proceed(exposing=exposing) and (left := due - self._acquisition.now()) > 0:
            self._lend()
            filled = self._pop(min(POLL, left))
            if (now := self._acquisition.now()) >= self._next_check:
                self._next_check = now + POLL
                self._check(now)
            if filled is not None:
                return filled
        return None

    def _pop(self, timeout: float) -> Filled | None:
        filled = self._stream.pop(timeout)
        if filled is not None:
            self._heard, self._arrived = self._acquisition.now(), True
            if not filled.whole:
                self.counts["IncompleteFrames"] += 1
                log.debug("a frame is lost, %s", STATUS.get(filled.status, filled.status))
        return filled

    def _index_of(self, filled: Filled) -> int:
        """Return the index of a frame that has arrived, and account for those up to it.

        One without some of its packets may lack the one with its id: it counts as the next one.
        """
        self._exact = filled.whole
        if filled.whole:
            index = self._ids.index(filled.frame_id, self._passed())
        else:
            self._ids.lost()
            index = self._known
        self._account(index + 1)
        return index

    def _passed(self) -> int | None:
        """Return the most frames that the camera can have sent before the one that has just come.

        `None` if not its own clock starts them.
        """
        if self._acquisition.settings.trigger_mode is not TriggerMode.INTERNAL or self._period <= 0.0:
            return None
        exposing = self._heard - self._started - self._exposure
        return max(0, int(exposing / self._period * CLOCKS))

    def _account(self, frames: int) -> None:
        self._known = max(self._known, frames)
        self._acquisition.triggered(min(self._known, self._planned))

    def _give(self, filled: Filled, index: int) -> Iterator[Exposure]:
        """Yield the frame if it is whole and new; otherwise its buffer is filled again."""
        if not (filled.whole and self._given < index < self._planned):
            self._stream.give_back(filled)
            return
        self._given = index
        if self._form.unpack is None:
            self._stream.forget(filled)
            slot = self._lent.pop(filled.address)
            yield Exposure(index=index, slot=slot, timestamp_hw=filled.timestamp)
        else:
            pixels = self._acquisition.buffer().view(np.uint16)
            self._form.unpack(self._own[filled.address], pixels)
            self._stream.give_back(filled)
            yield Exposure(index=index, timestamp_hw=filled.timestamp)
        self._lend()

    def _lend(self) -> None:
        """Lend the library the buffers that are free."""
        if self._form.unpack is not None:
            while len(self._own) < OWN_BUFFERS:
                memory = np.empty(self._payload, np.uint8)
                self._own[memory.ctypes.data] = memory
                self._stream.lend(memory.ctypes.data, memory.nbytes, memory)
            return
        while len(self._lent) < MOST_LENT and (lent := self._acquisition.lend()) is not None:
            slot, memory = lent
            self._lent[memory.ctypes.data] = slot
            self._stream.lend(memory.ctypes.data, memory.nbytes)

    def _check(self, now: float) -> None:
        """Raise if frames were lost for want of buffers, or if none can come any more."""
        self._count()
        runs_freely = self._acquisition.settings.trigger_mode is TriggerMode.INTERNAL
        due = self._period + self._exposure if runs_freely else 0.0
        # A heartbeat takes six seconds to notice that a camera is away.
        if not self._device.has_heartbeat:
            asks_after = QUIET
        else:
            asks_after = due + QUIET if runs_freely else math.inf
        if now - self._heard >= asks_after:
            self._device.ask()
        self._refuse_if_lost()
        if underruns := self._stream.count("n_underruns"):  # packets or frames, by the kind of stream
            missed = math.ceil(underruns / self._packets)
            raise Overrun(
                f"no buffer was free for {plural(missed, 'frame')}: they are sent more slowly than the "
                "camera delivers them; take them more slowly, or raise the receiver's speed or BuffersMB",
                missed,
            )
        silent = now - self._heard
        if runs_freely and silent > due + SILENT:
            raise CameraError(self._nothing_arrives(f"for {silent:.0f} s no frame"))

    def _refuse_if_silent(self) -> None:
        """Raise if the camera does not answer now: the heartbeat takes seconds to notice."""
        self._device.ask()
        self._refuse_if_lost()

    def _refuse_if_lost(self) -> None:
        if self._device.lost:
            raise CameraError(
                f"camera {self._device.name} does not answer any more, or another program has taken it; see "
                "its cable and power, then Reset"
            )

    def _nothing_arrives(self, what: str) -> str:
        return (
            f"{what} of camera {self._device.name} has arrived, although it was started; lower PacketSize "
            "(1400), raise PacketDelay, and see whether a firewall of this host drops its UDP packets"
        )

    def _stop(self) -> None:
        """Stop the camera; one that does not answer is asked once, and may go on sending."""
        if self._is_stopped:
            return
        if not self._asked_to_stop:
            self._asked_to_stop = True
            self._device.ask()
        try:
            if not self._device.lost:  # or it would be waited for
                self._device.stop()
                self._is_stopped = True
        except CameraError as error:
            log.warning("camera %s could not be stopped: %s", self._device.name, error)

    def _follow(self) -> None:
        """Find the last id of a camera that ran freely until it was stopped."""
        if self._ids.start is Habit.RESTARTS:
            return
        self._stop()
        quiet = self._period + SETTLE
        due = self._acquisition.now() + quiet
        latest = due + quiet
        self._exact = self._exact and self._period <= LONG and self._is_stopped
        while self._exact and not self._acquisition.aborting and (now := self._acquisition.now()) < due:
            self._acquisition.proceed()
            if (filled := self._pop(POLL)) is not None:
                self._index_of(filled)
                self._stream.give_back(filled)
                due = now + quiet
                self._exact = self._exact and due <= latest  # or it has not stopped

    def _count(self) -> None:
        self.counts["ResentPackets"] = self._stream.count("n_resent_packets")
        # Those of frames that are under way have been received, and their frame is not over.
        self.counts["MissingPackets"] = max(self.counts["MissingPackets"], self._missing_packets())

    def _missing_packets(self) -> int:
        """Return how many packets of frames that are over have not arrived.

        The library's own n_missing_packets has all of a frame from the first on that it lacks.
        """
        count = self._stream.count
        over = count("n_completed_buffers") + count("n_failures")
        received = count("n_received_packets") - sum(count(each) for each in OF_NO_FRAME)
        return over * self._packets - received

    def _end_frames(self) -> None:
        """Wait until the library has given up what lacks packets, so that all are counted."""
        if self.counts["IncompleteFrames"] and not self._acquisition.aborting:
            due = self._acquisition.now() + min(self._device.frame_retention, SETTLE) + POLL
            while self._acquisition.now() < due:
                self._acquisition.proceed()
                time.sleep(POLL)
