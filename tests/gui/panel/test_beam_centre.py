"""The beam centre of the picture becomes the detector's, while no series runs."""

from __future__ import annotations

from collections.abc import Callable

from silx.gui import qt

from penstock.gui.live.measure.beam.geometry import IN_BLOCKS
from penstock.gui.model.tango.device import Greeting
from tests.gui.live.stand_in import stand_in
from tests.gui.model.stand_in import ATTRIBUTES, VALUES, setting
from tests.gui.panel.conftest import OpenedPanel
from tests.receiver.conftest import start_receiver, streamer
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer, pixels

__all__ = ["start_receiver", "streamer"]

CENTRE = (setting("BeamCenterX", float), setting("BeamCenterY", float))


def appear(opened: OpenedPanel) -> None:
    assert opened.device.listener is not None
    url = opened.device.receiver_url
    opened.device.listener.reached(Greeting(attributes=(*ATTRIBUTES, *CENTRE), receiver_url=url))
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


def test_a_picture_that_the_receiver_turns_gives_the_centre_of_the_image_as_sent(
    opened: OpenedPanel, start_receiver: Callable[..., ReceiverProcess], streamer: Streamer
) -> None:
    turns = [{"type": "rotate", "quarter_turns": 1}, {"type": "flip", "direction": "left-right"}]
    receiver = start_receiver(transforms=turns)
    receiver.connected()
    opened.device.receiver_url = receiver.client.url
    measure = opened.panel.live.measure
    tab = measure.beam_tab
    appear(opened)
    tab.show_cross.setChecked(True)
    shape = {"shape": (20, 30), "type": "uint16", "compression": "none"}
    centre = {"beam_center_x": 12.5, "beam_center_y": 4.25}
    streamer.start("", centre, frames=2, trigger_mode="SOFTWARE", **shape)
    streamer.frame(0, pixels(0, (20, 30)))
    # 20 rows and 30 columns become 30 rows and 20 columns: both axes change places, and both turn round.
    opened.until(lambda: (tab.x.text(), tab.y.text()) == ("15.75", "17.50"))
    opened.until(tab.to_device.isEnabled)
    assert tab.to_device.toolTip().startswith(
        "Write x 12.50, y 4.25, this centre in the image as the detector"
    )
    tab.to_device.click()
    opened.until(lambda: {("BeamCenterX", 12.5), ("BeamCenterY", 4.25)} <= set(opened.device.written))
    tab.copy.click()
    assert qt.QApplication.clipboard().text() == "BeamCenterX 12.50\nBeamCenterY 4.25"

    measure.beam.set_centre((10.0, 20.0))
    opened.panel.live.controls.block.setValue(2)
    streamer.frame(1, pixels(1, (20, 30)))
    opened.until(lambda: not tab.to_device.isEnabled())
    assert tab.to_device.toolTip() == IN_BLOCKS
    assert tab.says() == f"▲ Use as beam centre: {IN_BLOCKS}"
    tab.to_device.click()
    tab.copy.click()
    assert qt.QApplication.clipboard().text() == "BeamCenterX 12.50\nBeamCenterY 4.25", "nothing to copy"
    opened.panel.live.controls.block.setValue(1)
    opened.until(tab.to_device.isEnabled)
    assert "x 10.00, y 10.00" in tab.to_device.toolTip()


def test_a_step_of_ones_own_that_may_move_pixels_is_named(opened: OpenedPanel) -> None:
    with stand_in() as receiver:
        receiver.transforms = [{"type": "crop"}]
        receiver.geometry = {"beam_center_x": 5.0, "beam_center_y": 6.0}
        receiver.run()
        receiver.frame(pixels(0, (20, 30)), 0)
        opened.device.receiver_url = receiver.url
        tab = opened.panel.live.measure.beam_tab
        appear(opened)
        opened.until(lambda: "step crop puts the pixels is not known here" in tab.to_device.toolTip())
        assert not tab.to_device.isEnabled()
        assert "type the numbers of the image as the detector sends it" in tab.says()


def test_a_detector_without_a_beam_centre_offers_none(opened: OpenedPanel) -> None:
    opened.appear()
    assert opened.panel.live.measure.beam_tab.to_device.isHidden()
