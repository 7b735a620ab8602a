"""What every detector device shows of its series: read-only attributes, one line each."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from penstock.devices._base.series_view import SeriesView
from penstock.streamer.settings import Parameter, Value


class ViewAttribute(NamedTuple):
    """One read-only attribute and where its value comes from."""

    parameter: Parameter
    value: Callable[[SeriesView], Value]


def _reading(name: str, default: Value, doc: str, value: Callable[[SeriesView], Value]) -> ViewAttribute:
    return ViewAttribute(Parameter(name=name, default=default, doc=doc, writable=False), value)


VIEW_ATTRIBUTES: tuple[ViewAttribute, ...] = (
    _reading("nFramesPlanned", 0, "Frames of the series: nTriggers x nFramesPerTrigger at Arm.",
             lambda view: view.planned),
    _reading("nFramesAcquired", 0,
             "Frames out of the hardware; a step scan is done with a point when it counts.",
             lambda view: view.acquired),
    _reading("nFramesReceived", 0, "Frames that the receiver has taken into its account.",
             lambda view: view.counts.received),
    _reading("nFramesWritten", 0, "Frames in the file.", lambda view: view.counts.stored),
    _reading("nFramesPartial", 0, "Frames with modules missing or corrupt; the others are in the file.",
             lambda view: view.counts.partial),
    _reading("nFramesMissing", 0, "Frames that were triggered or sent and did not arrive.",
             lambda view: view.counts.missing),
    _reading("nFramesDelivered", 0, "Frames for live view and consumers only, as asked for.",
             lambda view: view.counts.delivered),
    _reading("nFramesDiscarded", 0, "Frames that the streamer marked as not to be written.",
             lambda view: view.counts.discarded),
    _reading("nFramesCorrupt", 0, "Frames that arrived damaged.", lambda view: view.counts.corrupt),
    _reading("nFramesNotTriggered", 0, "Planned frames that were never triggered.",
             lambda view: view.counts.not_triggered),
    _reading("nFramesPending", 0, "Planned frames of which nothing is known yet; 0 after the series.",
             lambda view: view.counts.pending),
    _reading("ReadyForSwTrigger", False, "SoftwareTrigger would start a frame now.",
             lambda view: view.ready_for_trigger),
    _reading("SeriesId", "", "Unique id of the running, or else the last, series.", lambda view: view.series),
    _reading("FileWritten", "", 'File of the series as the receiver sees it; "" when nothing is written.',
             lambda view: view.filename),
)  # fmt: skip
"""Written + partial + delivered + discarded + corrupt + missing + not triggered + pending = planned."""
