"""The beam centre of the picture becomes the detector's, while no series runs."""

from __future__ import annotations

from penstock.gui.model.device import Greeting
from tests.gui.model.stand_in import ATTRIBUTES, VALUES, setting
from tests.gui.panel.conftest import OpenedPanel

CENTRE = (setting("BeamCenterX", float), setting("BeamCenterY", float))


def appear(opened: OpenedPanel) -> None:
    assert opened.device.listener is not None
    opened.device.listener.reached(Greeting(attributes=(*ATTRIBUTES, *CENTRE), receiver_url=""))
    opened.device.listener.said({**VALUES, "BeamCenterX": 0.0, "BeamCenterY": 0.0})
    opened.until(lambda: opened.panel.settings.series.fields)


def test_the_cross_is_written_into_the_detector_while_no_series_runs(opened: OpenedPanel) -> None:
    measure = opened.panel.live.measure
    use = measure.beam_tab.to_device
    appear(opened)
    opened.until(lambda: not use.isHidden())
    assert not use.isEnabled(), "no centre is known"
    measure.beam.set_centre((512.25, 300.5))
    assert use.isEnabled()
    opened.device.say(State="RUNNING")
    opened.until(lambda: not use.isEnabled())
    assert use.toolTip() == "A series runs: set it afterwards."
    opened.device.say(State="ON")
    opened.until(use.isEnabled)
    use.click()
    opened.until(lambda: {("BeamCenterX", 512.25), ("BeamCenterY", 300.5)} <= set(opened.device.written))
    opened.until(lambda: opened.field("BeamCenterX").editor.text() == "512.25")


def test_what_the_detector_refuses_stays_typed_with_the_reason(opened: OpenedPanel) -> None:
    appear(opened)
    opened.device.refuse["BeamCenterX"] = "BeamCenterX is above 4000."
    measure = opened.panel.live.measure
    measure.beam.set_centre((5000.0, 3.0))
    opened.until(measure.beam_tab.to_device.isEnabled)
    measure.beam_tab.to_device.click()
    opened.until(lambda: ("BeamCenterY", 3.0) in opened.device.written)
    opened.until(lambda: opened.panel.model.view().edits["BeamCenterX"].problem)
    assert "is above 4000" in opened.panel.model.view().edits["BeamCenterX"].problem


def test_a_detector_without_a_beam_centre_offers_none(opened: OpenedPanel) -> None:
    opened.appear()
    assert opened.panel.live.measure.beam_tab.to_device.isHidden()
