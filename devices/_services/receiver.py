"""The Tango device of a receiver: its status as attributes, for archivers, panels and alarms."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import tango
from tango.server import attribute, command

from penstock.devices._series.machine.states import RECEIVER_TANGO_STATE
from penstock.devices._tango import events
from penstock.devices._tango.attributes import Unread, attribute_options
from penstock.devices._tango.device_properties import CheckedProperties, declared
from penstock.devices._tango.facility_limits import FacilityLimits
from penstock.devices._tango.faults import as_tango_error
from penstock.devices._tango.publisher import Publisher
from penstock.devices._tango.status_attributes import StatusAttribute, entry, values_of, with_attributes
from penstock.devices._tango.status_watch import StatusWatch
from penstock.receiver.client import NoAnswer, ReceiverClient, ReceiverUnavailable
from penstock.receiver.models import Status
from penstock.streamer.camera.settings import Limits, Parameter

STATUS_ATTRIBUTES: tuple[StatusAttribute[Status], ...] = (
    entry("DetectorName", "", "Name of the receiver and of the NXdetector group.", lambda s: s.detector),
    entry("FileName", "", "File of the running or last series.",
           lambda s: (s.series.filename or "") if s.series else ""),
    entry("SeriesId", "", "Unique id of the running or last series.",
           lambda s: s.series.id if s.series else ""),
    entry("SeriesReason", "", "Why the last series ended, or what the running one is waiting for.",
           lambda s: s.series.reason if s.series else ""),
    entry("nFramesPlanned", 0, "Frames announced; -1 while unknown.",
           lambda s: -1 if s.counts.planned is None else s.counts.planned),
    entry("nFramesReceived", 0, "Frames counted in the account.", lambda s: s.counts.received),
    entry("nFramesWritten", 0, "Frames in the file.", lambda s: s.counts.stored),
    entry("nFramesPartial", 0, "Frames with modules missing or corrupt; their other modules are stored.",
           lambda s: s.counts.partial),
    entry("nFramesDelivered", 0, "Frames for live view and consumers only.", lambda s: s.counts.delivered),
    entry("nFramesDiscarded", 0, "Frames that the sender marked as not to be written.",
           lambda s: s.counts.discarded),
    entry("nFramesCorrupt", 0, "Frames that arrived damaged.", lambda s: s.counts.corrupt),
    entry("nFramesMissing", 0, "Frames that did not arrive.", lambda s: s.counts.missing),
    entry("nFramesNotTriggered", 0, "Planned frames that were never triggered.",
           lambda s: s.counts.not_triggered),
    entry("nFramesPending", 0, "Planned frames still to come.", lambda s: s.counts.pending),
    entry("nFramesFlushed", 0, "Frames that would survive a crash of the receiver.",
           lambda s: s.counts.flushed),
    entry("nFramesDuplicate", 0, "Frames that arrived twice; the second was dropped.",
           lambda s: s.counts.duplicate),
    entry("nFramesLate", 0, "Frames that arrived after they were counted as missing; stored all the same.",
           lambda s: s.counts.late),
    entry("nFramesOutOfRange", 0, "Frames with an index beyond those announced; not stored.",
           lambda s: s.counts.out_of_range),
    entry("nFramesStale", 0, "Messages of an earlier series or of none; dropped.", lambda s: s.counts.stale),
    entry("nMessagesUndecodable", 0, "Messages that arrived during the series and could not be read.",
           lambda s: s.counts.undecodable),
    entry("nMessagesLost", 0, "Messages that never arrived, as their numbers or the end message show.",
           lambda s: s.counts.lost_messages),
    entry("nDrained", 0, "Messages discarded while idle or in error.", lambda s: s.drained),
    entry("nBadMessages", 0, "Invalid messages since the receiver started.",
           lambda s: sum(s.errors.values())),
    entry("LastError", "", "What was wrong with the latest invalid message.", lambda s: s.last_error),
    entry("FrameRate", 0.0, "Frames per second, over the last second.",
           lambda s: s.frame_rate, "Hz", "%.1f"),
    entry("ByteRate", 0.0, "Bytes per second, over the last second.", lambda s: s.byte_rate, "B/s", "%.0f"),
    entry("QueueFill", 0.0, "Fill of the fullest of the receiver's own queues; 0 if it has no queue.",
           lambda s: min(100.0, 100.0 * s.queue_bytes / (s.queue_limit_bytes or 1)), "%", "%.0f"),
    entry("FreeSpace", 0, "Free space on the disk of the data root; -1 while unknown.",
           lambda s: -1 if s.free_bytes is None else s.free_bytes, "B"),
    entry("nConnections", 0, "Connections to streamers.",
           lambda s: sum(connection.connections for connection in s.connections)),
)  # fmt: skip
"""All status attributes, with their values as functions of the status."""

MOST_DOWNSAMPLE = 64
"""Greatest down-sampling that the receiver takes."""
PROPERTIES = (
    Parameter(
        name="ReceiverUrl", default="", required=True,
        doc="Address of the receiver's HTTP API, such as http://daq-1:5000.",
    ),
)  # fmt: skip


DOWNSAMPLE = Parameter(
    name="Downsample", default=1, limits=Limits(1, MOST_DOWNSAMPLE),
    doc="Down-sampling of the live view, which shows every n-th row and column.",
)  # fmt: skip


class PenstockReceiver(CheckedProperties):
    """A receiver: State is ON, RUNNING or FAULT for idle, running or error, UNKNOWN without an answer."""

    checked = PROPERTIES
    (ReceiverUrl,) = map(declared, PROPERTIES)

    def init_device(self) -> None:
        """Begin to follow the receiver."""
        super().init_device()
        self._status: Status | None = None
        self._unavailable = f"The receiver at {self.ReceiverUrl} has not answered yet."
        self._client = ReceiverClient(self.ReceiverUrl)
        self._limits = FacilityLimits(self, [DOWNSAMPLE])
        self._limits.begin()
        self._limits.take({})
        self._show_set_point(1)
        for name in ("State", "Status"):
            events.has_events(self, name)
        self._watch = StatusWatch(self._client, self._on_receiver, "receiver")
        self._publisher = Publisher(
            self, step=self._limits.step, values=self._values, failed=self._on_unexpected,
            states=lambda: [{"Status": self.dev_status(), "State": self.dev_state()}],
        )  # fmt: skip
        self._publisher.start()
        if not self.has_wrong_property:
            self._watch.start()

    def delete_device(self) -> None:
        """Stop following; the threads end by themselves."""
        self._watch.close()
        self._publisher.stop()
        self._client.close()
        super().delete_device()

    def followed_state(self) -> tango.DevState:
        """Return the receiver's state as Tango shows it."""
        status = self._status
        if self._unavailable or status is None:
            return tango.DevState.UNKNOWN
        return getattr(tango.DevState, RECEIVER_TANGO_STATE[status.state])

    def followed_status(self) -> str:
        """Return the state of the receiver, in a sentence."""
        return " ".join([self._sentence(), *self._limits.sentences()])

    def _sentence(self) -> str:
        status = self._status
        if self._unavailable or status is None:
            return self._unavailable
        if status.state == "error":
            return f"{status.error} Correct this and call Reset."
        if status.state == "idle" and status.waits_for:
            return f"Idle; {status.waits_for}."
        if status.state == "idle" and status.ending:
            return "Idle; it takes no new series, since it is about to be stopped (penstock drain)."
        if status.series is None:
            return "Idle; no series yet."
        where = f" into {status.series.filename}" if status.series.filename else " for live view"
        if status.state == "running":
            waits = f" Waiting: {status.series.reason}" if status.series.reason else ""
            return f"Taking a series{where}.{waits}"
        why = f": {status.series.reason}" if status.series.reason else ""
        end = "complete" if status.series.complete else f"incomplete{why}"
        return f"Idle; the last series{where} is {end}."

    @command
    def Reset(self) -> None:
        """Leave the receiver's state Error."""
        with as_tango_error("Reset"):
            self.refuse_if_broken()
            self._client.reset()

    @command
    def Stop(self) -> None:
        """End the running series now; its file is closed as incomplete."""
        with as_tango_error("Stop"):
            self.refuse_if_broken()
            self._client.stop(f"Stop of the Tango device {self.get_name()}")

    @attribute(**attribute_options(DOWNSAMPLE))
    def Downsample(self) -> int:
        """Return the down-sampling for all viewers of this receiver."""
        with as_tango_error("Downsample"):
            self.refuse_if_broken()
            try:
                return self._client.downsample()
            except ReceiverUnavailable:
                # Busy for a moment: who subscribes just then would hear the value with its next change only.
                if self._unavailable or self._status is None:
                    raise
                return self._status.downsample

    @Downsample.setter
    def set_downsample(self, value: int) -> None:
        """Set the down-sampling in the receiver; its next status brings the event."""
        with as_tango_error("Downsample"):
            self.refuse_if_broken()
            self._limits.check(DOWNSAMPLE, value)
            self._client.set_downsample(value)

    def _values(self) -> Mapping[str, Any]:
        status = self._status
        values = values_of(STATUS_ATTRIBUTES, status)
        if status is None:
            return values
        # Nobody can read it while the receiver is away, so it is told again when it is back.
        known = Unread(status.downsample) if self._unavailable else status.downsample
        return {**values, "Downsample": known}

    def _on_receiver(self, status: Status | NoAnswer) -> None:
        if isinstance(status, NoAnswer):
            self._unavailable = str(status)
        else:
            self._show_set_point(status.downsample)
            self._status, self._unavailable = status, ""
        self._publisher.wake()

    def _show_set_point(self, downsample: int) -> None:
        """Pass it to Tango, which panels ask what was set last, by whatever client."""
        with contextlib.suppress(tango.DevFailed):  # outside of limits that the facility has set
            self.get_device_attr().get_w_attr_by_name("Downsample").set_write_value(downsample)

    def _on_unexpected(self, error: Exception) -> None:
        self._unavailable = (
            f"{self.get_name()} had an internal error ({error!r}); see its log, then call Init."
        )


def receiver_class() -> type[PenstockReceiver]:
    """Return the Tango class `PenstockReceiver` with the attributes of `STATUS_ATTRIBUTES`."""
    return with_attributes(PenstockReceiver, STATUS_ATTRIBUTES)
