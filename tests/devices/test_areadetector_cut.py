"""An IOC on another computer, whose cable is pulled and put back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from penstock.beamline.stage import json_line
from penstock.devices.areadetector import AreaDetector
from penstock.hosts.child import PENSTOCK, Child
from penstock.streamer.camera.driver import Refused
from penstock.streamer.camera.settings import TriggerMode
from tests.network import Switch, unavailable
from tests.streamer.rig import DEADLINE, Rig, done, settings

pytestmark = pytest.mark.slow

IOC, PORT = "IOC", 5075


@pytest.fixture
def switch() -> Iterator[Switch]:
    if why := unavailable():
        pytest.skip(why)
    with Switch(IOC) as switch:
        yield switch


@pytest.fixture
def rig(switch: Switch) -> Iterator[Rig]:
    server = f"{switch.address(IOC)}:{PORT}"
    program = [*switch.on(IOC), *PENSTOCK, "areadetector", "--tcp", server, "--sensor", "64x80", "--json"]
    unit = {
        "NameServers": server, "DriverPrefix": "SIM:cam1:", "ImageRecord": "SIM:Pva1:Image",
        "ModeExternalMulti": "External",
    }  # fmt: skip
    with ExitStack() as stack:
        stack.enter_context(Child("the IOC", program, json_line))
        rig = stack.enter_context(Rig(AreaDetector(unit), buffers=2**24))
        rig.connect()
        yield rig


@pytest.mark.parametrize("mode", [TriggerMode.INTERNAL, TriggerMode.EXTERNAL_MULTI])
def test_an_ioc_that_is_cut_off_is_a_fault_within_ten_seconds_and_the_next_series_is_whole(
    switch: Switch, rig: Rig, mode: TriggerMode
) -> None:
    rig.arm(n_triggers=10_000, exposure_time=0.02, trigger_mode=mode)
    if mode is TriggerMode.INTERNAL:
        rig.until(lambda status: status.acquired > 2)
    switch.cut(IOC)
    message = rig.until_state("fault").message
    assert "the IOC has not answered for 8 s, at index" in message
    switch.mend(IOC)
    rig.receive_series()
    rig.engine.reset()
    _until_it_answers(rig)
    rig.arm(n_triggers=3, exposure_time=0.001)
    assert [frame.image.frame for frame in rig.receive_series()[1]] == [0, 1, 2]
    rig.until_state("idle")


def _until_it_answers(rig: Rig) -> None:
    """Prepare series until one is not refused: the network may need seconds to find its way again."""
    end = time.monotonic() + 3 * DEADLINE
    while True:
        try:
            done(rig.engine.prepare(settings()))
        except Refused as refused:  # each has waited for the IOC
            if "no answer from" not in str(refused) or time.monotonic() > end:
                raise
        else:
            return
