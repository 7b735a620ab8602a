"""A real link to the fake camera: its cable is pulled and put back, and others are on the network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from penstock.beamline.stage import json_line
from penstock.devices.genicam import GenICam
from penstock.hosts.child import PYTHON, Child
from penstock.streamer.camera.checks import complete_properties
from penstock.streamer.camera.driver import Refused
from penstock.streamer.camera.settings import TriggerMode
from tests.network import Switch, unavailable
from tests.streamer.rig import Rig, done, settings
from tests.system.beamline import until

pytestmark = pytest.mark.slow

CAMERA = "camera"
SMALL = {"AOIWidth": 128, "AOIHeight": 64}
AWAY = "does not answer any more, or another program has taken it; see its cable and power, then Reset"


@pytest.fixture
def switch() -> Iterator[Switch]:
    if why := unavailable():
        pytest.skip(why)
    with Switch(CAMERA) as switch:
        yield switch


@pytest.fixture
def rig(switch: Switch) -> Iterator[Rig]:
    """The streamer of a camera that is on a computer, and a cable, of its own."""
    address = switch.address(CAMERA)
    program = [*switch.on(CAMERA), *PYTHON, "-m", "penstock.devices._genicam.fake_camera"]
    with ExitStack() as stack:
        stack.enter_context(Child("the fake camera", [*program, "--address", address], json_line))
        camera = GenICam(complete_properties(GenICam, {"Address": address}))
        rig = stack.enter_context(Rig(camera, buffers=64 * 2**20))
        rig.connect()
        yield rig


def is_prepared(rig: Rig) -> bool:
    """Return whether Arm finds the camera; the library may still wait for what it asked before."""
    try:
        done(rig.engine.prepare(settings(exposure_time=0.01, camera=SMALL)))
    except Refused:
        return False
    done(rig.engine.cancel())
    return True


@pytest.mark.parametrize("mode", [TriggerMode.INTERNAL, TriggerMode.EXTERNAL_MULTI])
def test_a_cable_that_is_pulled_in_a_series_names_the_camera_and_the_next_one_runs_when_it_is_back(
    switch: Switch, rig: Rig, mode: TriggerMode
) -> None:
    rig.arm(n_triggers=10_000, exposure_time=0.01, trigger_mode=mode, camera=SMALL)
    if mode is TriggerMode.INTERNAL:
        rig.until(lambda status: status.acquired > 10)
    switch.cut(CAMERA)
    with rig.changed:  # INTERNAL is asked after three seconds, else the heartbeat takes six
        assert rig.changed.wait_for(lambda: rig.engine.status().state == "fault", 40.0)
    assert f"camera {switch.address(CAMERA)} {AWAY}" in rig.engine.status().message
    rig.engine.reset()
    rig.receive_series()
    with pytest.raises(Refused, match=f"camera {switch.address(CAMERA)} (does not answer|cannot be opened)"):
        done(rig.engine.prepare(settings(exposure_time=0.01, camera=SMALL)))
    rig.until(lambda status: status.warning.startswith(f"Camera {switch.address(CAMERA)} "))
    switch.mend(CAMERA)
    rig.until(lambda status: not status.warning, 40.0)
    until(lambda: is_prepared(rig), "the camera is there again", 20.0)
    rig.arm(n_triggers=20, exposure_time=0.01, camera=SMALL)
    _, frames, end = rig.receive_series()
    assert [frame.image.frame for frame in frames] == list(range(20))
    assert (end.reason, end.lost) == ("complete", None)
