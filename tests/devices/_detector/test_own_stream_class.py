"""The Tango class of a detector that streams by itself: what it has, what it has not."""

from __future__ import annotations

from abc import ABC

import pytest

from penstock.devices._detector.detector_class import detector_class
from penstock.devices._detector.streamer_link import streamer_properties
from penstock.devices._detector.view_attributes import ACQUIRED, VIEW_ATTRIBUTES, view_parameters
from penstock.devices._series.machine.view import SeriesView
from penstock.devices._tango.attributes import Unread
from penstock.devices.simulator import Simulator
from penstock.stins.messages import IndexSource
from penstock.streamer.camera.driver import StreamerStatus
from penstock.streamer.camera.own_stream import StreamingDetector
from penstock.streamer.camera.settings import Parameter, TriggerMode

OF_FRAMES = {"DataHost", "DataPort", "BuffersMB", "HighWaterMark", "IoThreads"}


class Sparrow(StreamingDetector, ABC):
    """A detector whose box counts no frames."""

    properties = (Parameter(name="Host", default="", doc="Address of the box."),)
    parameters = (Parameter(name="Energy", default=8000.0, unit="eV", doc="Photon energy.", memorized=True),)
    trigger_modes = (TriggerMode.INTERNAL,)
    index_source = IndexSource.HARDWARE_COUNTER


class Wren(Sparrow):
    """One that does."""

    counts_frames = True


def test_properties_of_frames_that_pass_the_streamer_are_not_declared() -> None:
    properties = set(detector_class(Sparrow).TangoClassClass.device_property_list)
    assert not OF_FRAMES & properties
    assert {"Host", "ReceiverUrl", "StreamerControl"} <= properties
    assert {each.name for each in streamer_properties(Simulator)} == OF_FRAMES
    assert set(detector_class(Simulator).TangoClassClass.device_property_list) >= OF_FRAMES


def test_tango_writes_no_setting_of_another_day_into_the_box() -> None:
    made = detector_class(Sparrow)
    assert not made.parameters["Energy"].memorized
    assert made.parameters["Rotation"].memorized, "the device's own settings are as ever"


@pytest.mark.parametrize(
    ("camera", "words"),
    [(Sparrow, "at the receiver, plus 1"), (Wren, "own counter"), (Simulator, "hardware")],
)
def test_the_description_says_who_counts_the_frames(camera: type, words: str) -> None:
    (doc,) = (each.doc for each in view_parameters(camera) if each.name == ACQUIRED)
    assert words in doc


def test_there_is_no_ring_to_be_empty() -> None:
    view = SeriesView().with_streamer(StreamerStatus(state="idle", peers=None, acquired=None))
    (ring,) = (each.value(view) for each in VIEW_ATTRIBUTES if each.parameter.name == "RingFill")
    assert ring == Unread(0.0)
