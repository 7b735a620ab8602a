"""Jungfrau over a fake of slsdet, of the detector, and of slsReceiver's stream."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock.devices._sls.connection import Modules
from penstock.devices.jungfrau import Jungfrau
from penstock.stins.user_part import UserPart
from penstock.streamer.camera.checks import complete_properties
from penstock.streamer.camera.own_stream import BoxLost, BoxState, StreamingDetector
from penstock.streamer.camera.settings import TriggerMode, Value
from penstock.streamer.camera.unit import CameraError
from tests.contract.streaming_contract import StreamingContract
from tests.devices.sls_box import VENDOR, SlsBox, box
from tests.devices.sls_unit import OURS, connected, prepared, until_idle


@pytest.fixture(autouse=True)
def _fake_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Child processes import the fake."""
    monkeypatch.setenv("PYTHONPATH", str(VENDOR))


class TestJungfrau(StreamingContract):
    """The contract of every detector that streams by itself."""

    detector = Jungfrau
    source = "sls"
    slow_setting = ("HighVoltage", 100)
    readout = 0.0
    frame_that_runs = 1.0
    rounded = (0.0100000123, 0.01)
    box: SlsBox

    @contextmanager
    def open(self) -> Iterator[Jungfrau]:
        with box() as self.box:
            self.box.initialise()
            yield self.build()

    def build(self) -> Jungfrau:
        return Jungfrau(complete_properties(Jungfrau, self.box.properties))

    def set_by_somebody_else(self, unit: StreamingDetector, name: str, value: float) -> None:
        assert name == "HighVoltage"
        self.box.do("put", "highvoltage", value)

    def edge(self, unit: StreamingDetector, seconds: float) -> None:
        self.box.edge()

    def await_receiver(self, unit: StreamingDetector) -> None:
        self.box.subscribed()

    def leave_settings(self, unit: StreamingDetector) -> None:
        left = {"exptime": 0.5, "period": 0.6, "frames": 7, "triggers": 3, "delay": 0.1}
        for name, value in left.items():
            self.box.do("put", name, value)

    def arm_by_somebody_else(self, unit: StreamingDetector) -> None:
        self.box.start_by_somebody_else()

    def power(self, unit: StreamingDetector, on: bool) -> None:
        self.box.power(on)


# What only this detector does


@pytest.fixture
def detector() -> Iterator[tuple[Jungfrau, SlsBox]]:
    """Initialised, with its box."""
    with connected() as both:
        yield both


def test_frames_bear_id_and_name_only_during_the_series_and_other_names_are_put_back(
    detector: tuple[Jungfrau, SlsBox],
) -> None:
    unit, running = detector
    running.receiver |= {"fpath": "/theirs", "fname": "pedestal"}
    prepared(unit, trigger_mode=TriggerMode.SOFTWARE)
    unit.arm(OURS)
    assert running.json_header == {"arm": OURS.arm}
    assert (running.receiver["fpath"], running.receiver["fname"]) == ("/data/visitors", "scan.h5")
    unit.stop()
    until_idle(unit)
    assert running.json_header == {}
    assert (running.receiver["fpath"], running.receiver["fname"]) == ("/theirs", "pedestal")


def test_a_name_that_the_stream_cannot_have_is_left_out(detector: tuple[Jungfrau, SlsBox]) -> None:
    unit, running = detector
    cannot = (
        '/data/a"b.h5',
        "/data/a\\b.h5",
        "/data/a\nb.h5",
        "",
        f"/data/{'x' * 2000}",
        f"/data/{'ä' * 600}",
    )
    for name in (*cannot, "/data/a b.h5"):
        prepared(unit, trigger_mode=TriggerMode.SOFTWARE)
        unit.arm(UserPart(arm=OURS.arm, filename=name))
        assert (running.receiver["fpath"], running.receiver["fname"]) == ("/", "run")
        assert running.json_header == {"arm": OURS.arm}
        unit.abort()
        until_idle(unit)


def test_what_a_series_has_left_behind_is_removed_by_reset_and_put_back_by_nobody(
    detector: tuple[Jungfrau, SlsBox],
) -> None:
    unit, running = detector
    left = {"fpath": "/data", "fname": "ours.h5"}
    running.json_header, running.receiver = {"arm": "left-behind-00000"}, running.receiver | left
    prepared(unit, trigger_mode=TriggerMode.SOFTWARE)
    unit.arm(OURS)
    unit.abort()
    until_idle(unit)
    assert (running.json_header, running.receiver["fname"]) == ({}, "run")
    running.json_header, running.receiver = {"arm": "left-behind-00000"}, running.receiver | left
    unit.reset()
    assert (running.json_header, running.receiver["fname"]) == ({}, "run")


def test_an_arming_that_fails_leaves_nothing_armed_and_no_names(detector: tuple[Jungfrau, SlsBox]) -> None:
    unit, running = detector
    prepared(unit, trigger_mode=TriggerMode.EXTERNAL)
    running.refuses["startDetector"] = "Chip is not powered on"
    with pytest.raises(CameraError, match=r"the Jungfrau at 127.0.0.1:\d+ refuses: Chip is not powered on"):
        unit.arm(OURS)
    assert (running.json_header, running.receiver["fname"], running.rx_status) == ({}, "run", "IDLE")
    running.refuses.clear()
    prepared(unit)
    unit.arm(OURS)
    unit.trigger()
    until_idle(unit)
    assert unit.progress().acquired == 2


def test_frames_that_are_lost_behind_the_last_one_seen_count_as_taken(
    detector: tuple[Jungfrau, SlsBox],
) -> None:
    unit, running = detector
    prepared(unit, n_triggers=5)
    running.lost = {running.number + 3, running.number + 4}
    unit.arm(OURS)
    unit.trigger()
    until_idle(unit)
    assert unit.progress().acquired == 5


def test_slsreceiver_publishes_every_frame_and_writes_no_file_whatever_others_have_set(
    detector: tuple[Jungfrau, SlsBox],
) -> None:
    unit, running = detector
    running.receiver |= {"rx_zmqfreq": 0, "fwrite": True}
    prepared(unit)
    assert (running.receiver["rx_zmqfreq"], running.receiver["fwrite"]) == (1, False)


def test_a_time_that_another_client_changes_meanwhile_is_refused_with_both(
    detector: tuple[Jungfrau, SlsBox], monkeypatch: pytest.MonkeyPatch
) -> None:
    unit, running = detector
    put = running._put
    monkeypatch.setattr(running, "_put", lambda name, value: put(name, 0.5 if name == "exptime" else value))
    with pytest.raises(CameraError, match=r"exptime is 0.5 s in the detector, 0.001 s was asked for"):
        prepared(unit)


def test_the_high_voltage_is_0_or_60_and_more(detector: tuple[Jungfrau, SlsBox]) -> None:
    unit, running = detector
    for volts in (60, 200, 0):
        unit.apply({"HighVoltage": volts})
        assert running.module["highvoltage"] == volts
    with pytest.raises(CameraError, match="HighVoltage is 59 V; set 0, or 60 V and more; nothing was set"):
        unit.apply({"HighVoltage": 59})


def test_without_receivers_or_power_it_is_not_initialised_and_says_what_lacks() -> None:
    with box() as running:
        unit = Jungfrau(complete_properties(Jungfrau, running.properties))
        said = unit.connect()
        assert (said.state, said.message) == (
            BoxState.UNINITIALISED, "slsdet knows no slsReceiver for it yet"
        )  # fmt: skip
        unit.reset()
        assert unit.progress().state is BoxState.IDLE
        assert running.receiver["rx_hostname"] == ["127.0.0.1:1954"]
        running.module["powerchip"] = False  # as after a temperature event
        assert unit.progress().message == "the chips have no power"
        unit.close()


def test_an_slsreceiver_that_was_started_again_is_set_up_by_reset(detector: tuple[Jungfrau, SlsBox]) -> None:
    unit, running = detector
    running.restart_receiver()
    said = unit.progress()
    assert said.state is BoxState.UNINITIALISED and "slsReceiver was started again" in said.message
    unit.reset()
    assert unit.progress().state is BoxState.IDLE
    assert running.receiver["rx_hostname"] == ["127.0.0.1:1954"]
    assert running.receiver["rx_zmqport"] == running.stream_port


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("Receiver", "127.0.0.1:1977", "Receiver is 127.0.0.1:1954, and the property has 127.0.0.1:1977"),
        ("UdpDestination", "10.1.2.1", "UdpDestination is 127.0.0.1, and the property has 10.1.2.1"),
        ("UdpPort", 50100, "UdpPort is 50001, and the property has 50100"),
    ],
)
def test_a_property_that_was_changed_is_noticed_and_set_by_reset(name: str, value: Value, said: str) -> None:
    with box() as running:
        running.initialise()
        unit = Jungfrau(complete_properties(Jungfrau, running.properties | {name: value}))
        found = unit.connect()
        assert (found.state, found.message) == (BoxState.UNINITIALISED, said)
        unit.reset()
        assert unit.connect().state is BoxState.IDLE
        unit.close()


def test_another_detector_at_that_address_is_refused(detector: tuple[Jungfrau, SlsBox]) -> None:
    unit, running = detector
    running.module["type"] = "EIGER"
    with pytest.raises(CameraError, match="is a EIGER, no JUNGFRAU"):
        unit.connect()


def test_a_call_that_hangs_ends_in_time_and_the_next_one_is_made(
    detector: tuple[Jungfrau, SlsBox],
) -> None:
    unit, running = detector
    running.hangs.add("status")
    begun = time.monotonic()
    with pytest.raises(BoxLost, match=r"has not answered within 0.2 s \(status\)"):
        unit._client.do(("get", "status"), seconds=0.2)
    assert time.monotonic() - begun < 5.0
    running.hangs.clear()
    assert unit.progress().state is BoxState.IDLE


def test_an_slsreceiver_that_hangs_is_told_apart_from_the_detector(
    detector: tuple[Jungfrau, SlsBox],
) -> None:
    unit, running = detector
    running.hangs.add("rx_status")
    with pytest.raises(BoxLost, match=r"^an slsReceiver of the Jungfrau at .* has not answered within 0.2 s"):
        unit._client.do(("get", "rx_status"), seconds=0.2)


def test_a_process_of_slsdet_that_is_killed_is_replaced(detector: tuple[Jungfrau, SlsBox]) -> None:
    unit, _ = detector
    for worker in unit._client._idle:
        worker._process.kill()
        worker._process.wait()
    assert unit.progress().state is BoxState.IDLE


def test_without_slsdet_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slsdet.py").write_text("raise ImportError('No module named _slsdet')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(CameraError, match=r"module slsdet cannot be imported on .* pip install slsdet==10"):
        Jungfrau({"Host": "127.0.0.1"})


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"Host": ""}, "the property Host is empty"),
        ({"Host": "bchip1:x"}, "the property Host has 'bchip1:x'; give HOST or HOST:PORT"),
        ({"Host": "a b c", "Receiver": "d e"}, "Receiver has 2 addresses for 3 modules"),
        (
            {"Host": "a b", "UdpSource": "10.0.0.1 10.0.0.2 10.0.0.3"},
            "UdpSource has 3 addresses for 2 modules",
        ),
    ],
)
def test_a_wrong_property_is_named_with_its_value(properties: dict[str, Value], said: str) -> None:
    with pytest.raises(CameraError, match=said):
        Jungfrau(properties)


def test_each_module_has_a_receiver_and_an_address_of_its_own() -> None:
    unit = {**{p.name: p.default for p in Jungfrau.properties}, "Host": "a b:2000", "Receiver": "daq"}
    modules = Modules({**unit, "UdpSource": "10.0.0.1, 10.0.0.2", "UdpDestination": "10.0.1.1"})
    assert modules.hosts == [("a", 1952), ("b", 2000)]
    assert modules.receivers == [("daq", 1954), ("daq", 1955)]
    assert modules.sources == {"0": "10.0.0.1", "1": "10.0.0.2"}
    assert modules.destinations == "10.0.1.1"
    assert modules.name == "penstock_a_1952_b_2000"
