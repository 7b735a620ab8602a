"""Jungfrau when a module is switched off and on, and when another client stops it; over the fakes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.devices._sls.connection import Modules
from penstock.devices.jungfrau import Jungfrau
from penstock.streamer.camera.own_stream import BoxState
from penstock.streamer.camera.settings import TriggerMode
from penstock.streamer.camera.unit import CameraError
from tests.devices.sls_box import PATIENCE, VENDOR, SlsBox
from tests.devices.sls_unit import OURS, connected, prepared, until_idle

Both = tuple[Jungfrau, SlsBox]
STOPPED = "another program has stopped the detector (stopDetector)"


@pytest.fixture
def detector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Both]:
    """Initialised, with its box."""
    monkeypatch.setenv("PYTHONPATH", str(VENDOR))
    with connected() as both:
        yield both


def switched_off_and_on(running: SlsBox) -> None:
    running.power(on=False)
    running.power(on=True)


def test_a_module_that_was_switched_off_and_on_is_named_and_set_up_by_reset(detector: Both) -> None:
    unit, running = detector
    switched_off_and_on(running)
    running.module |= {"powerchip": True}  # by another client, which does not help
    said = unit.progress()
    named = f"the module at 127.0.0.1:{running.port} was switched off and on"
    assert (said.state, said.message) == (BoxState.UNINITIALISED, named)
    with pytest.raises(CameraError, match=f"{named}; call Reset, then Arm"):
        prepared(unit)
    unit.connect()
    unit.reset()
    assert unit.progress().state is BoxState.IDLE
    assert (running.module["udp_srcip"], running.module["udp_dstip"]) == ("127.0.0.1", "127.0.0.1")
    prepared(unit)
    unit.arm(OURS)
    unit.trigger()
    until_idle(unit)
    assert (unit.progress().acquired, unit.progress().ended_by) == (2, "")


def test_it_is_seen_in_a_series_however_short_it_was_off_and_reset_stops_slsreceiver(detector: Both) -> None:
    unit, running = detector
    prepared(unit, trigger_mode=TriggerMode.SOFTWARE)
    unit.arm(OURS)
    unit.trigger()
    switched_off_and_on(running)
    assert unit.progress().state is BoxState.UNINITIALISED
    assert running.rx_status == "RUNNING"
    unit.connect()
    unit.reset()
    assert (running.rx_status, unit.progress().state) == ("IDLE", BoxState.IDLE)


class Answers:
    """A client that has answers of three modules."""

    def __init__(self, macs: Any) -> None:
        self._macs = macs

    def get(self, *names: str) -> list[Any]:
        known = {"status": "IDLE", "use_receiver": True, "powerchip": True, "rx_status": "IDLE"}
        return [known.get(name, self._macs if name == "udp_srcmac" else True) for name in names]


@pytest.mark.parametrize(
    ("macs", "said"),
    [
        (["aa:bb:cc:dd:00:00", "00:00:00:00:00:00", "aa:bb:cc:dd:00:02"], "the module at b:2000 was"),
        (
            ["00:00:00:00:00:00", "aa:bb:cc:dd:00:01", "00:00:00:00:00:00"],
            "the modules at a:1952, c:1952 were",
        ),
        ("00:00:00:00:00:00", "the modules at a:1952, b:2000, c:1952 were"),
    ],
)
def test_of_several_modules_those_that_were_off_are_named(macs: Any, said: str) -> None:
    properties = {each.name: each.default for each in Jungfrau.properties}
    modules = Modules(properties | {"Host": "a b:2000 c"})
    assert modules.state(Answers(macs)).message == f"{said} switched off and on"  # type: ignore[arg-type]


def test_a_stop_by_another_client_is_named_and_its_frames_are_those_that_were_seen(detector: Both) -> None:
    unit, running = detector
    for mode in (TriggerMode.INTERNAL, TriggerMode.SOFTWARE, TriggerMode.EXTERNAL):
        triggers, frames = (2, 20) if mode is TriggerMode.SOFTWARE else (40, 1)
        prepared(unit, trigger_mode=mode, n_triggers=triggers, n_frames_per_trigger=frames, latency_time=0.05)
        first = running.number
        unit.arm(OURS)
        if mode is TriggerMode.EXTERNAL:
            running.edge()
        else:
            threading.Thread(target=unit.trigger, daemon=True).start()
        taken = stopped_after(running, first + 3)
        until_idle(unit)
        assert (unit.progress().acquired, unit.progress().ended_by) == (taken - first, STOPPED), mode
        unit.trigger()  # came too late
        assert running.status == "STOPPED" and running.number == taken


def test_a_stop_by_another_client_while_edges_are_awaited_is_named(detector: Both) -> None:
    unit, running = detector
    prepared(unit, trigger_mode=TriggerMode.EXTERNAL_MULTI, n_triggers=5)
    first = running.number
    unit.arm(OURS)
    for _ in range(3):
        running.edge()
    stopped_after(running, first + 3)
    until_idle(unit)
    assert (unit.progress().acquired, unit.progress().ended_by) == (3, STOPPED)


CHANGED = "another program has changed the detector since Arm: "


@pytest.mark.parametrize(
    ("changes", "lost", "acquired", "said"),
    [
        ({"frames": 2}, [], 2, "frames was 20, is 2"),
        ({"period": 0.0011}, [], 20, "period was 0.101, is 0.0011"),
        ({"period": 0.0011}, [18, 19], 20, "period was 0.101, is 0.0011"),
        ({"exptime": 0.0005, "period": 0.002}, [], 20,
         "period was 0.101, is 0.002, exptime was 0.001, is 0.0005"),
    ],
)  # fmt: skip
def test_what_another_client_has_changed_since_arm_is_named_and_is_no_stop(
    detector: Both, changes: dict[str, Any], lost: list[int], acquired: int, said: str
) -> None:
    unit, running = detector
    twenty = {"n_triggers": 1, "n_frames_per_trigger": 20, "latency_time": 0.1}
    prepared(unit, trigger_mode=TriggerMode.SOFTWARE, **twenty)
    running.lost |= {running.number + index for index in lost}
    unit.arm(OURS)
    running.module |= changes
    unit.trigger()
    until_idle(unit)
    assert (unit.progress().acquired, unit.progress().ended_by) == (acquired, CHANGED + said)


def test_after_a_change_by_another_client_no_further_trigger_is_given(detector: Both) -> None:
    unit, running = detector
    prepared(unit, trigger_mode=TriggerMode.SOFTWARE, n_frames_per_trigger=20, latency_time=0.1)
    unit.arm(OURS)
    running.module["frames"] = 2
    unit.trigger()
    until_idle(unit)
    unit.trigger()
    assert running.calls.count("startDetector") == 1
    assert (unit.progress().acquired, unit.progress().ended_by) == (2, CHANGED + "frames was 20, is 2")


def test_an_end_of_our_own_is_nobody_elses(detector: Both) -> None:
    unit, _ = detector
    for end in (unit.stop, unit.abort, None):
        prepared(unit, n_triggers=1000 if end else 3, latency_time=0.01)
        unit.arm(OURS)
        starting = threading.Thread(target=unit.trigger, daemon=True)
        starting.start()
        if end is not None:
            end()
        starting.join(PATIENCE)
        until_idle(unit)
        assert unit.progress().ended_by == ""


def stopped_after(running: SlsBox, number: int) -> int:
    """Stop the detector as another client does, once it has taken frames up to a number; its next number."""
    with running.changed:
        assert running.changed.wait_for(lambda: running.number >= number, PATIENCE)
    running.do("call", "stopDetector")
    return running.number
