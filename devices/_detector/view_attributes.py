"""The read-only attributes of the series that every detector device has, one line each."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from penstock.devices._series.machine.view import SeriesView
from penstock.devices._tango.attributes import Unread
from penstock.streamer.camera.own_stream import StreamingDetector
from penstock.streamer.camera.settings import Parameter, Value
from penstock.streamer.camera.unit import Unit

ACQUIRED = "nFramesAcquired"
COUNTED_BY_BOX = (
    "Frames by the detector's own counter; in a step scan a point is done when its frame is counted."
)
SEEN_AT_RECEIVER = (
    "Highest index of a frame at the receiver, plus 1: this detector does not count frames; in a step scan a "
    "point is done when its frame is counted."
)


class ViewAttribute(NamedTuple):
    """One read-only attribute and the source of its value."""

    parameter: Parameter
    value: Callable[[SeriesView], Value | Unread]


def _reading(
    name: str,
    default: Value,
    doc: str,
    value: Callable[[SeriesView], Value | Unread],
    unit: str = "",
    *,
    expert: bool = False,
) -> ViewAttribute:
    parameter = Parameter(name=name, default=default, doc=doc, unit=unit, writable=False, expert=expert)
    return ViewAttribute(parameter, value)


def _known(value: float | None) -> float | Unread:
    """Return the value; without one, while the side that knows it does not answer, `Unread`."""
    return Unread(0.0) if value is None else value


VIEW_ATTRIBUTES: tuple[ViewAttribute, ...] = (
    _reading("nFramesPlanned", 0, "Frames of the series: nTriggers x nFramesPerTrigger at Arm.",
             lambda view: view.planned_now),
    _reading(ACQUIRED, 0,
             "Frames that the hardware has delivered; in a step scan a point is done when its frame is "
             "counted.",
             lambda view: view.acquired),
    _reading("nFramesReceived", 0, "Frames that the receiver has counted in its account.",
             lambda view: view.counts.received),
    _reading("nFramesWritten", 0, "Frames in the file.", lambda view: view.counts.stored),
    _reading("nFramesPartial", 0, "Frames with modules missing or corrupt; their other modules are stored.",
             lambda view: view.counts.partial),
    _reading("nFramesMissing", 0, "Frames that were triggered or sent but did not arrive.",
             lambda view: view.counts.missing),
    _reading("nFramesDelivered", 0, "Frames for live view and consumers only, as requested.",
             lambda view: view.counts.delivered),
    _reading("nFramesDiscarded", 0, "Frames that the streamer marked as not to be written.",
             lambda view: view.counts.discarded),
    _reading("nFramesCorrupt", 0, "Frames that arrived damaged.", lambda view: view.counts.corrupt),
    _reading("nFramesNotTriggered", 0, "Planned frames that were never triggered.",
             lambda view: view.counts.not_triggered),
    _reading("nFramesPending", 0, "Planned frames still to come; 0 after the series.",
             lambda view: view.counts.pending),
    _reading("ReadyForSwTrigger", False, "True if SoftwareTrigger would start a frame now.",
             lambda view: view.ready_for_trigger),
    _reading("SeriesId", "", "Unique id of the running or last series.", lambda view: view.series),
    _reading("FileWritten", "", 'File of the series as the receiver sees it; "" if nothing is written.',
             lambda view: view.filename),
    _reading("FileDataset", "",
             'Path of the frames inside FileWritten, such as "entry/instrument/eiger/data"; "" if nothing is '
             "written.",
             lambda view: view.dataset),
    _reading("FrameType", "",
             'NumPy name of the stored pixel type, of the running or else the next series; "" if unknown.',
             lambda view: view.frame_type),
    _reading("IndexSource", "",
             'How frames are assigned to triggers: by a "hardware counter", a "hardware timestamp", or their '
             '"arrival", where a missed trigger shifts all later frames; "" until the streamer answers.',
             lambda view: view.index_source),
    _reading("ArmedBy", "", 'Client that armed the running or last series; "" if unknown.',
             lambda view: view.armed_by),
    _reading("LastSeries", "", 'How the last series ended, as a JSON object; "" before the first.',
             lambda view: view.last_series, expert=True),
    _reading("FrameBytes", 0, "Bytes per frame of the running or else the next series; 0 if unknown.",
             lambda view: view.frame_bytes, "B"),
    _reading("FrameRateMeasured", 0.0, "Frame rate of the series at the receiver, over the last second.",
             lambda view: _known(view.frame_rate), "Hz"),
    _reading("RingFill", 0.0, "Share of the streamer's buffers that hold frames still to be sent.",
             lambda view: _known(view.ring_fill), "%"),
    _reading("ReceiverQueue", 0.0, "Fill of the fullest of the receiver's own queues.",
             lambda view: _known(view.receiver_queue), "%"),
)  # fmt: skip
"""Written + partial + delivered + discarded + corrupt + missing + not triggered + pending = planned."""


def view_parameters(camera: type[Unit]) -> list[Parameter]:
    """Return the declarations of these attributes for one kind of detector."""
    shown = [reading.parameter for reading in VIEW_ATTRIBUTES]
    if not issubclass(camera, StreamingDetector):
        return shown
    doc = COUNTED_BY_BOX if camera.counts_frames else SEEN_AT_RECEIVER
    return [replace(each, doc=doc) if each.name == ACQUIRED else each for each in shown]
