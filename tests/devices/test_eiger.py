"""What the device Eiger makes of its control unit's answers: settings, series, readings, faults."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import h5py
import hdf5plugin
import msgspec
import numpy as np
import pytest

from penstock.devices._dectris import parameters as keys
from penstock.devices._dectris import rest
from penstock.devices._dectris.commands import STATES
from penstock.devices.eiger import Eiger
from penstock.stins.messages import IndexSource
from penstock.stins.user_part import UserPart
from penstock.streamer.checks import complete_properties
from penstock.streamer.own_stream.contract import BoxLost, BoxState
from penstock.streamer.settings import Limits, Settings, TriggerMode
from penstock.streamer.unit import CameraError
from tests.devices._dectris.desk import DEADLINE, Desk
from tests.streamer import rig

DETECTOR = "detector/config"
USER = UserPart(arm="0123456789abcdef", filename="/data/x.h5", frames=3)


@pytest.fixture(params=["1.8.0-v1", "1.8.0-v2", "1.6.0-v1"])
def flavour(request: pytest.FixtureRequest) -> tuple[str, str]:
    api, _, stream = request.param.partition("-")
    return api, stream


@pytest.fixture
def desk(flavour: tuple[str, str]) -> Iterator[Desk]:
    with Desk(flavour[0]) as desk:
        yield desk


def unit(desk: Desk, stream: str) -> Eiger:
    given = {"Host": "127.0.0.1", "Port": desk.server_port, "Stream": stream}
    return Eiger(complete_properties(Eiger, given))


@pytest.fixture
def eiger(desk: Desk, flavour: tuple[str, str]) -> Iterator[Eiger]:
    eiger = unit(desk, flavour[1])
    eiger.connect()
    yield eiger
    eiger.close()


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a control unit that shares a busy processor with its client."""
    monkeypatch.setattr(rest, "READ", DEADLINE)


@pytest.fixture
def new() -> Iterator[tuple[Desk, Eiger]]:
    """An EIGER2 with stream v2."""
    with Desk("1.8.0") as desk:
        eiger = unit(desk, "v2")
        eiger.connect()
        yield desk, eiger
        eiger.close()


def series(eiger: Eiger, **changes: Any) -> Settings:
    camera = dict(eiger.values()) | changes.pop("camera", {})
    return rig.settings(camera=camera, exposure_time=0.5, **changes)


# The unit


def test_a_box_that_is_off_keeps_no_process_from_starting_but_a_missing_host_does() -> None:
    Eiger(complete_properties(Eiger, {"Host": "192.0.2.1"})).close()
    with pytest.raises(CameraError, match="property Host is empty"):
        Eiger(complete_properties(Eiger, {}))


@pytest.mark.parametrize("host", ["http://10.0.0.1", "10.0.0.1:80", " 10.0.0.1", "dcu/", "[::1]:80"])
def test_a_host_that_is_more_than_a_host_is_refused_with_what_it_should_be(host: str) -> None:
    with pytest.raises(CameraError, match=r"the property Host is '.*'; set it to only the name or address"):
        Eiger(complete_properties(Eiger, {"Host": host}))


@pytest.mark.parametrize(
    ("host", "endpoint"),
    [("dcu-1.lab.eu", "tcp://dcu-1.lab.eu:9999"), ("fd00::5", "tcp://[fd00::5]:9999")],
)
def test_a_host_is_a_name_or_an_address(host: str, endpoint: str) -> None:
    assert Eiger(complete_properties(Eiger, {"Host": host})).stream_endpoint() == endpoint


@pytest.mark.parametrize(("stream", "port", "expected"), [("v1", 0, 9999), ("v2", 0, 31001), ("v2", 5, 5)])
def test_its_stream_has_the_port_of_its_version(stream: str, port: int, expected: int) -> None:
    given = {"Host": "dcu", "Stream": stream, "StreamPort": port}
    assert Eiger(complete_properties(Eiger, given)).stream_endpoint() == f"tcp://dcu:{expected}"


def test_it_shows_what_the_box_has_and_writes_nothing(eiger: Eiger, desk: Desk) -> None:
    values = eiger.values()
    assert (values["Energy"], values["Threshold"], values["RoiMode"]) == (12400.0, 6200.0, "disabled")
    assert (values["FlatfieldCorrectionApplied"], values["FileWriter"], values["Monitor"]) == (
        True,
        False,
        False,
    )
    assert ("Threshold2" in values, "Threshold3" in values) == (desk.api == "1.8.0", False)
    assert eiger.readout_time() == 1e-5
    assert desk.puts == []


def test_limits_are_the_boxs(eiger: Eiger, desk: Desk) -> None:
    desk.entries = {
        f"{DETECTOR}/count_time": {"min": 1e-3, "max": 1800.0},
        f"{DETECTOR}/photon_energy": {"min": 3500.0, "max": 40000.0},
    }
    eiger.connect()
    assert eiger.limits()["ExposureTime"] == Limits(1e-3, 1800.0)
    assert eiger.limits()["Energy"] == Limits(3500.0, 40000.0)


KEY_OF = {s.parameter.name: s.paths[0] for s in keys.SETTINGS}


@pytest.mark.parametrize("unknown", ["", None, [], {"a": 1}, "n/a"], ids=str)
def test_values_that_the_box_does_not_know_are_left_out_and_end_nothing(
    new: tuple[Desk, Eiger], unknown: object
) -> None:
    desk, eiger = new
    names = {"Energy", "Nexpi", "FlatfieldCorrectionApplied", "FileWriter", "Threshold2Mode"}
    if unknown != "n/a":  # which a text may be
        names |= {"FileWriterNamePattern", "RoiMode", "Compression"}
    paths = {KEY_OF[name] for name in names}
    desk.keys |= dict.fromkeys(
        [*paths, f"{DETECTOR}/detector_readout_time", f"{DETECTOR}/x_pixel_size"], unknown
    )
    desk.entries = {f"{DETECTOR}/photon_energy": {"min": unknown, "max": unknown, "allowed_values": unknown}}
    known = set(eiger.values())
    eiger.connect()
    assert known - set(eiger.values()) == names
    assert eiger.limits()["Energy"] == Limits()
    assert eiger.readout_time() == 0.0
    if not isinstance(unknown, str) or not unknown:
        assert "x_pixel_size" not in eiger.describe()
    eiger.prepare(series(eiger))


@pytest.mark.parametrize("unknown", ["", None, [], {"a": 1}], ids=str)
def test_readings_that_the_box_does_not_know_are_said_in_a_sentence(
    new: tuple[Desk, Eiger], unknown: object
) -> None:
    desk, eiger = new
    for name, (_, paths) in keys.READINGS.items():
        if name != "DetectorState":
            desk.keys[paths[0]] = unknown
            with pytest.raises(CameraError, match=f"does not know {name} now: it says"):
                eiger.read(name)
    assert eiger.progress().state is BoxState.IDLE


@pytest.mark.parametrize("unknown", ["", None, [], 5])
def test_a_state_that_the_box_does_not_say_is_waited_for(eiger: Eiger, desk: Desk, unknown: Any) -> None:
    desk.state = unknown
    assert eiger.progress().state is BoxState.BUSY


def test_an_empty_text_is_a_value_where_the_box_allows_it(eiger: Eiger, desk: Desk) -> None:
    desk.keys[f"{DETECTOR}/roi_mode"] = ""
    desk.entries[f"{DETECTOR}/roi_mode"] = {"allowed_values": ["", "4M"]}
    eiger.connect()
    assert eiger.values()["RoiMode"] == ""


def test_limits_that_contradict_each_other_are_none(eiger: Eiger, desk: Desk) -> None:
    desk.entries[f"{DETECTOR}/photon_energy"] = {"min": 9000.0, "max": 8000.0}
    eiger.connect()
    assert eiger.limits()["Energy"] == Limits()


def test_stream_v2_of_a_box_that_has_none_is_refused_by_name() -> None:
    with Desk("1.6.0") as desk, pytest.raises(CameraError, match="has no stream v2: its SIMPLON 1.6.0"):
        unit(desk, "v2").connect()


# Settings


def test_an_energy_takes_thresholds_along_and_the_box_says_so(new: tuple[Desk, Eiger]) -> None:
    desk, eiger = new
    eiger.apply({"Energy": 10000.0})
    assert desk.puts == [(f"{DETECTOR}/photon_energy", 10000.0)]
    assert (eiger.values()["Energy"], eiger.values()["Threshold"]) == (10000.0, 5000.0)


def test_a_threshold_that_is_set_with_the_energy_is_written_after_it(new: tuple[Desk, Eiger]) -> None:
    _, eiger = new
    eiger.apply({"Threshold": 4000.0, "Energy": 10000.0})
    assert (eiger.values()["Energy"], eiger.values()["Threshold"]) == (10000.0, 4000.0)


def test_the_threshold_of_an_older_box_has_another_key(desk: Desk, eiger: Eiger) -> None:
    eiger.apply({"Threshold": 5000.0})
    key = f"{DETECTOR}/threshold_energy" if desk.api == "1.6.0" else f"{DETECTOR}/threshold/1/energy"
    assert desk.puts == [(key, 5000.0)]


def test_switches_are_words_at_the_box(new: tuple[Desk, Eiger]) -> None:
    desk, eiger = new
    eiger.apply(
        {"Threshold2Mode": True, "ThresholdDifferenceMode": True, "FileWriter": True, "Monitor": True}
    )
    for key in ("threshold/2/mode", "threshold/difference/mode"):
        assert desk.keys[f"{DETECTOR}/{key}"] == "enabled"
    assert (desk.keys["filewriter/config/mode"], desk.keys["monitor/config/mode"]) == ("enabled", "enabled")


def test_what_the_model_lacks_is_refused_by_name(eiger: Eiger, desk: Desk) -> None:
    with pytest.raises(CameraError, match=r"has no Threshold3 \(detector/config/threshold/3/energy\)"):
        eiger.apply({"Threshold3": 9000.0})
    assert desk.puts == []


def test_what_a_box_does_not_allow_is_refused_before_it_is_written(eiger: Eiger, desk: Desk) -> None:
    desk.entries[f"{DETECTOR}/roi_mode"] = {"allowed_values": ["disabled", "4M"]}
    desk.entries[f"{DETECTOR}/photon_energy"] = {"max": 40000.0}
    eiger.connect()
    with pytest.raises(CameraError, match="roi_mode = 'lines' is not possible; choose disabled, 4M"):
        eiger.apply({"RoiMode": "lines"})
    with pytest.raises(CameraError, match="photon_energy = 50000; the greatest is 40000"):
        eiger.apply({"Energy": 50000.0})
    assert desk.puts == []


def test_a_box_that_rounds_is_believed(eiger: Eiger, desk: Desk) -> None:
    desk.makes[f"{DETECTOR}/photon_energy"] = lambda value: value + 0.4
    eiger.apply({"Energy": 10000.0})
    assert eiger.values()["Energy"] == 10000.4


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("Energy", "photon_energy", 12400.5),
        ("Threshold", "threshold/1/energy", 6200.0001),
        ("Nexpi", "nexpi", 2),
    ],
)
def test_whatever_differs_is_written_once(new: tuple[Desk, Eiger], name: str, key: str, value: float) -> None:
    desk, eiger = new
    eiger.apply({name: value})
    eiger.apply({name: value})
    assert desk.puts == [(f"{DETECTOR}/{key}", value)]
    assert eiger.values()[name] == value


def test_the_answer_to_a_request_is_remembered_while_the_box_still_has_it(eiger: Eiger, desk: Desk) -> None:
    energy = f"{DETECTOR}/photon_energy"
    desk.makes[energy] = lambda value: value + 0.4
    eiger.apply({"Energy": 10000.0})
    eiger.apply({"Energy": 10000.0})
    assert desk.puts == [(energy, 10000.0)]
    desk.keys[energy] = 10001.0  # another client
    eiger.connect()
    eiger.apply({"Energy": 10000.0})
    assert desk.puts == [(energy, 10000.0)] * 2
    eiger.apply({"Energy": 10000.4})
    assert desk.puts == [(energy, 10000.0)] * 2, "that is what it has"


@pytest.mark.parametrize("answer", [None, [], {}], ids=["null", "nothing", "no list"])
def test_a_box_that_does_not_say_what_a_put_has_changed_is_read_as_a_whole(
    new: tuple[Desk, Eiger], answer: object
) -> None:
    desk, eiger = new
    desk.answers = lambda changed: answer
    eiger.apply({"Energy": 10000.0})
    assert eiger.values()["Threshold"] == 5000.0
    eiger.prepare(series(eiger))
    assert desk.keys[f"{DETECTOR}/threshold/1/energy"] == 5000.0
    assert f"{DETECTOR}/threshold/1/energy" not in dict(desk.puts)


def test_a_box_that_makes_something_else_of_a_value_is_refused_with_both(eiger: Eiger, desk: Desk) -> None:
    desk.makes[f"{DETECTOR}/photon_energy"] = lambda value: 8048.0
    with pytest.raises(CameraError, match="photon_energy is 8048.0, requested was 10000.0"):
        eiger.apply({"Energy": 10000.0})
    assert eiger.values()["Energy"] == 8048.0


# Series

PLANS = {
    TriggerMode.SOFTWARE: ("ints", 2, 3),
    TriggerMode.INTERNAL: ("ints", 1, 6),
    TriggerMode.EXTERNAL: ("exts", 1, 6),
    TriggerMode.EXTERNAL_MULTI: ("exts", 2, 3),
}


@pytest.mark.parametrize("mode", PLANS)
def test_trigger_modes_are_the_boxs(eiger: Eiger, desk: Desk, mode: TriggerMode) -> None:
    eiger.prepare(series(eiger, trigger_mode=mode, n_triggers=2, n_frames_per_trigger=3))
    found = tuple(desk.keys[f"{DETECTOR}/{key}"] for key in ("trigger_mode", "ntrigger", "nimages"))
    assert found == PLANS[mode]
    edge = mode is TriggerMode.EXTERNAL_MULTI
    assert eiger.index_source is (IndexSource.ARRIVAL if edge else IndexSource.HARDWARE_COUNTER)


def test_a_gate_is_a_frame_and_one_image_is_set_before_the_mode(eiger: Eiger, desk: Desk) -> None:
    desk.keys[f"{DETECTOR}/nimages"] = 9
    eiger.prepare(series(eiger, trigger_mode=TriggerMode.EXTERNAL_MULTI_GATE, n_triggers=4))
    written = [path.rpartition("/")[2] for path, _ in desk.puts]
    assert written.index("nimages") < written.index("trigger_mode")
    found = tuple(desk.keys[f"{DETECTOR}/{key}"] for key in ("trigger_mode", "ntrigger", "nimages"))
    assert found == ("exte", 4, 1)
    assert eiger.index_source is IndexSource.ARRIVAL


def test_gates_can_be_added_up_in_each_frame(new: tuple[Desk, Eiger]) -> None:
    desk, eiger = new
    camera = {"GateTriggerMode": "extg", "Nexpi": 1000}
    eiger.prepare(series(eiger, trigger_mode=TriggerMode.EXTERNAL_MULTI_GATE, n_triggers=4, camera=camera))
    keys = ("trigger_mode", "extg_mode", "ntrigger", "nimages", "nexpi")
    assert [desk.keys[f"{DETECTOR}/{key}"] for key in keys] == ["extg", "single", 1, 4, 1000]


def test_edges_can_end_one_frame_and_begin_the_next(new: tuple[Desk, Eiger]) -> None:
    desk, eiger = new
    desk.keys[f"{DETECTOR}/nimages"] = 9
    camera = {"GateTriggerMode": "eies"}
    eiger.prepare(series(eiger, trigger_mode=TriggerMode.EXTERNAL_MULTI_GATE, n_triggers=4, camera=camera))
    keys = ("trigger_mode", "ntriggers_skipped", "ntrigger", "nimages")
    assert [desk.keys[f"{DETECTOR}/{key}"] for key in keys] == ["eies", 0, 5, 1], "five edges, four frames"
    written = [path.rpartition("/")[2] for path, _ in desk.puts]
    assert written.index("nimages") < written.index("trigger_mode")
    assert eiger.index_source is IndexSource.ARRIVAL


def test_a_box_without_that_mode_is_asked_for_what_it_has(new: tuple[Desk, Eiger]) -> None:
    desk, eiger = new
    desk.entries[f"{DETECTOR}/trigger_mode"] = {"allowed_values": ["ints", "exte"]}
    camera = {"GateTriggerMode": "eies"}
    with pytest.raises(CameraError, match="trigger_mode = 'eies' is not possible; choose ints, exte"):
        eiger.prepare(series(eiger, trigger_mode=TriggerMode.EXTERNAL_MULTI_GATE, camera=camera))


def test_a_software_trigger_can_say_its_exposure_itself(eiger: Eiger, desk: Desk) -> None:
    camera = {"SoftwareTriggerMode": "inte"}
    eiger.prepare(series(eiger, trigger_mode=TriggerMode.SOFTWARE, n_triggers=4, camera=camera))
    found = tuple(desk.keys[f"{DETECTOR}/{key}"] for key in ("trigger_mode", "ntrigger", "nimages"))
    assert found == ("inte", 4, 1)
    assert eiger.index_source is IndexSource.HARDWARE_COUNTER
    eiger.arm(USER)
    eiger.trigger()
    assert ("detector/command/trigger", 0.5) in desk.puts, "its exposure"


@pytest.mark.parametrize(
    ("mode", "camera"),
    [(TriggerMode.EXTERNAL_MULTI_GATE, {}), (TriggerMode.SOFTWARE, {"SoftwareTriggerMode": "inte"})],
)
def test_more_frames_than_one_to_a_gate_are_refused_without_the_box(
    eiger: Eiger, desk: Desk, mode: TriggerMode, camera: dict[str, Any]
) -> None:
    wanted = series(eiger, trigger_mode=mode, n_frames_per_trigger=2, camera=camera)
    desk.shutdown()
    with pytest.raises(CameraError, match="set nFramesPerTrigger to 1"):
        eiger.check(wanted)


def test_times_geometry_and_stream_go_into_the_box(
    eiger: Eiger, desk: Desk, flavour: tuple[str, str]
) -> None:
    eiger.prepare(series(eiger, latency_time=0.25, beam_center=(20.5, 15.25), distance=0.3))
    for key, value in {"count_time": 0.5, "frame_time": 0.75, "detector_distance": 0.3}.items():
        assert desk.keys[f"{DETECTOR}/{key}"] == pytest.approx(value)
    assert [desk.keys[f"{DETECTOR}/beam_center_{axis}"] for axis in "xy"] == [20.5, 15.25]
    assert (desk.keys["stream/config/mode"], desk.keys["stream/config/header_detail"]) == ("enabled", "all")
    if desk.api == "1.8.0":
        assert desk.keys["stream/config/format"] == {"v1": "legacy", "v2": "cbor"}[flavour[1]]


def test_the_read_out_time_is_the_least_gap(eiger: Eiger, desk: Desk) -> None:
    eiger.prepare(series(eiger))
    assert desk.keys[f"{DETECTOR}/frame_time"] == pytest.approx(0.50001)


def test_only_what_differs_is_written(eiger: Eiger, desk: Desk) -> None:
    eiger.prepare(series(eiger))
    desk.puts.clear()
    eiger.prepare(series(eiger))
    assert desk.puts == []
    desk.keys[f"{DETECTOR}/frame_time"] = 7.0  # somebody at the box's own web page
    eiger.prepare(series(eiger))
    assert desk.puts == [(f"{DETECTOR}/frame_time", pytest.approx(0.50001))]


@pytest.mark.parametrize(
    ("changes", "key", "value"),
    [
        ({"latency_time": 0.10009}, "frame_time", 0.60009),
        ({"beam_center": (20.501, 15.25)}, "beam_center_x", 20.501),
        ({"distance": 0.50045}, "detector_distance", 0.50045),
    ],
)
def test_small_changes_of_a_series_are_written_and_kept(
    eiger: Eiger, desk: Desk, changes: dict[str, Any], key: str, value: float
) -> None:
    desk.moves.clear()
    eiger.prepare(series(eiger, latency_time=0.1, beam_center=(20.5, 15.25), distance=0.5))
    desk.puts.clear()
    wanted = series(eiger, **{"latency_time": 0.1, "beam_center": (20.5, 15.25), "distance": 0.5} | changes)
    eiger.prepare(wanted)
    assert desk.puts == [(f"{DETECTOR}/{key}", pytest.approx(value, rel=1e-12))]
    assert eiger.as_prepared(wanted) == wanted


def test_a_series_has_the_times_and_the_geometry_that_the_box_has_made(eiger: Eiger, desk: Desk) -> None:
    for key in ("count_time", "frame_time", "detector_distance"):
        desk.makes[f"{DETECTOR}/{key}"] = lambda value: round(value, 4)
    desk.moves.clear()
    asked = msgspec.structs.replace(
        series(eiger, latency_time=0.10009, distance=0.50043), exposure_time=0.30004
    )
    eiger.prepare(asked)
    taken = eiger.as_prepared(asked)
    assert (taken.exposure_time, taken.distance) == (0.3, 0.5004)
    assert taken.exposure_time + taken.latency_time == desk.keys[f"{DETECTOR}/frame_time"] == 0.4001
    desk.puts.clear()
    eiger.prepare(asked)
    eiger.prepare(taken)
    eiger.prepare(asked)
    assert desk.puts == [], "it has what it has made of them"


def test_a_geometry_that_nobody_has_set_leaves_the_boxs_own(eiger: Eiger, desk: Desk) -> None:
    desk.keys |= {f"{DETECTOR}/beam_center_x": 20.5, f"{DETECTOR}/detector_distance": 0.3}
    eiger.prepare(series(eiger))
    assert desk.keys[f"{DETECTOR}/beam_center_x"] == 20.5
    assert desk.keys[f"{DETECTOR}/detector_distance"] == 0.3


def test_a_frame_is_what_the_box_says_it_is(eiger: Eiger, desk: Desk) -> None:
    format_ = eiger.prepare(series(eiger))
    assert (format_.shape, format_.dtype, format_.compression) == ((30, 40), "uint32", "bslz4")
    assert format_.frame_bytes >= 30 * 40 * 4
    desk.keys[f"{DETECTOR}/bit_depth_image"] = 16
    desk.moves[f"{DETECTOR}/roi_mode"] = {f"{DETECTOR}/y_pixels_in_detector": lambda value: 10}
    eiger.apply({"RoiMode": "lines"})
    format_ = eiger.prepare(series(eiger))
    assert (format_.shape, format_.dtype) == ((10, 40), "uint16")


def test_several_thresholds_are_images_of_one_frame(new: tuple[Desk, Eiger]) -> None:
    _, eiger = new
    eiger.apply({"Threshold2Mode": True})
    assert eiger.prepare(series(eiger)).shape == (2, 30, 40)


def test_stream_v1_carries_one_threshold_and_says_so() -> None:
    with Desk("1.8.0") as desk:
        eiger = unit(desk, "v1")
        eiger.connect()
        eiger.apply({"Threshold2Mode": True})
        with pytest.raises(CameraError, match=r"Threshold1Mode, Threshold2Mode are on, but stream v1"):
            eiger.check(series(eiger))


def test_a_compression_that_the_receiver_does_not_store_is_refused(eiger: Eiger) -> None:
    with pytest.raises(CameraError, match="does not store zstd; set Compression to bslz4 or lz4 or none"):
        eiger.prepare(series(eiger, camera={"Compression": "zstd"}))


def test_lz4_is_stored_and_needs_room_for_what_cannot_be_packed(eiger: Eiger, desk: Desk) -> None:
    format_ = eiger.prepare(series(eiger, camera={"Compression": "lz4"}))
    assert desk.keys[f"{DETECTOR}/compression"] == format_.compression == "lz4"
    noise = np.random.default_rng(1).integers(0, 2**32, (30, 40), np.uint32)
    with h5py.File.in_memory() as file:
        stored = file.create_dataset("data", data=noise, chunks=noise.shape, **hdf5plugin.LZ4())
        assert noise.nbytes < stored.id.get_storage_size() <= format_.frame_bytes


def test_a_box_that_is_not_idle_is_not_set_up(eiger: Eiger, desk: Desk) -> None:
    desk.state = "ready"
    with pytest.raises(CameraError, match="is armed; call Reset"):
        eiger.prepare(series(eiger))
    assert desk.puts == []


@pytest.mark.parametrize("state", ["configure", "initialize", "test"])
def test_a_box_that_somebody_else_sets_up_is_waited_for_and_not_reset(
    eiger: Eiger, desk: Desk, state: str
) -> None:
    desk.state = state
    with pytest.raises(CameraError, match="is busy, perhaps with settings of another client"):
        eiger.prepare(series(eiger))
    assert desk.puts == []


# Arm, trigger, end


def test_the_user_part_is_there_while_it_is_armed_and_gone_after(eiger: Eiger, desk: Desk) -> None:
    eiger.arm(USER)
    assert json.loads(desk.appendix_when_armed) == {"arm": USER.arm, "filename": "/data/x.h5", "frames": 3}
    assert desk.keys["stream/config/header_appendix"] == ""
    assert eiger.progress().state is BoxState.ARMED


def test_it_is_gone_too_when_arming_failed(eiger: Eiger, desk: Desk) -> None:
    desk.fails["detector/command/arm"] = (500, "DAQ is not running")
    with pytest.raises(CameraError, match=r"failed at PUT .*arm .*DAQ is not running"):
        eiger.arm(USER)
    assert ("stream/config/header_appendix", USER.encode()) in desk.puts
    assert desk.keys["stream/config/header_appendix"] == ""


def test_one_that_was_left_there_is_cleared_before_the_next_series(eiger: Eiger, desk: Desk) -> None:
    desk.keys["stream/config/header_appendix"] = USER.encode()
    eiger.prepare(series(eiger))
    assert desk.keys["stream/config/header_appendix"] == ""


def test_one_that_was_left_there_by_a_power_cut_or_a_death_is_cleared_by_reset(
    eiger: Eiger, desk: Desk
) -> None:
    desk.keys["stream/config/header_appendix"] = USER.encode()
    desk.state = "ready"
    eiger.reset()
    assert desk.keys["stream/config/header_appendix"] == ""


@pytest.mark.parametrize("end", ["abort", "stop"])
def test_a_series_ends_while_its_trigger_is_blocked(eiger: Eiger, desk: Desk, end: str) -> None:
    eiger.prepare(series(eiger))
    eiger.arm(USER)
    desk.holds["trigger"] = threading.Event()
    trigger = threading.Thread(target=eiger.trigger)
    trigger.start()
    assert desk.held.wait(DEADLINE)
    desk.state = "acquire"
    getattr(eiger, end)()
    assert eiger.progress().state is BoxState.IDLE
    assert trigger.is_alive()
    desk.holds["trigger"].set()
    trigger.join(DEADLINE)
    commands = [path.rpartition("/")[2] for path, _ in desk.puts if "/command/" in path]
    assert commands == ["arm", "trigger", *(["abort"] if end == "abort" else ["cancel", "disarm"])]


def test_abort_ends_an_arming_that_takes_long(eiger: Eiger, desk: Desk) -> None:
    desk.holds["arm"] = threading.Event()
    arming = threading.Thread(target=eiger.arm, args=(USER,))
    arming.start()
    assert desk.held.wait(DEADLINE)
    eiger.abort()
    assert ("detector/command/abort", None) in desk.puts
    desk.holds["arm"].set()
    arming.join(DEADLINE)
    assert not arming.is_alive()


def test_nothing_is_ended_where_nothing_runs(eiger: Eiger, desk: Desk) -> None:
    eiger.stop()
    eiger.abort()
    assert desk.puts == []


@pytest.mark.parametrize("said", STATES)
def test_the_boxs_states_are_ours(eiger: Eiger, desk: Desk, said: str) -> None:
    desk.state = said
    assert eiger.progress().state is STATES[said]


def test_an_error_is_told_in_the_boxs_words(eiger: Eiger, desk: Desk) -> None:
    desk.state, desk.keys["detector/status/error"] = "error", ["link_1 is down"]
    assert eiger.progress().message == "link_1 is down"


# Faults


def test_an_armed_box_is_disarmed_by_reset_and_never_initialised(eiger: Eiger, desk: Desk) -> None:
    desk.state = "ready"
    eiger.reset()
    assert [path for path, _ in desk.puts] == ["detector/command/disarm"]
    assert eiger.progress().state is BoxState.IDLE


@pytest.mark.parametrize("state", ["na", "error"])
def test_a_box_that_was_switched_on_is_initialised_by_reset(
    desk: Desk, flavour: tuple[str, str], state: str
) -> None:
    desk.state = state
    eiger = unit(desk, flavour[1])
    assert eiger.connect().state is STATES[state]
    eiger.reset()
    assert [path for path, _ in desk.puts] == ["detector/command/initialize"]
    assert eiger.values()["Energy"] == 12400.0


def test_an_idle_box_is_left_alone_by_reset(eiger: Eiger, desk: Desk) -> None:
    eiger.reset()
    assert desk.puts == []


def test_a_box_that_does_not_come_to_rest_is_a_sentence(eiger: Eiger, desk: Desk) -> None:
    desk.state = "error"
    desk.fails["detector/command/initialize"] = (400, "no module answers")
    with pytest.raises(CameraError, match=r"refuses PUT .*initialize .*no module answers"):
        eiger.reset()


def test_a_box_that_goes_and_comes_back_is_reached_again(flavour: tuple[str, str]) -> None:
    api, stream = flavour
    with Desk(api) as desk:
        eiger, port = unit(desk, stream), desk.server_port
        eiger.connect()
    with pytest.raises(BoxLost, match=f"http://127.0.0.1:{port} cannot be reached"):
        eiger.progress()
    with pytest.raises(BoxLost):
        eiger.arm(USER)
    with Desk(api, port) as desk:
        desk.state = "na"
        assert eiger.connect().state is BoxState.UNINITIALISED
        eiger.reset()
        assert eiger.progress().state is BoxState.IDLE
    eiger.close()


@pytest.mark.parametrize("status", [400, 500, 503])
def test_error_answers_while_it_is_set_up_are_sentences(eiger: Eiger, desk: Desk, status: int) -> None:
    desk.fails[f"{DETECTOR}/count_time"] = (status, "busy with something")
    desk.keys[f"{DETECTOR}/nimages"] = 100
    with pytest.raises(CameraError, match="count_time.*busy with something"):
        eiger.prepare(series(eiger))


# Readings, the box's own file writer, the monitor


def test_readings_are_the_boxs_and_older_ones_have_other_keys(eiger: Eiger, desk: Desk) -> None:
    old = desk.api == "1.6.0"
    assert eiger.read("SensorTemperature") == (24.5 if old else 22.5)
    assert eiger.read("Humidity") == (11.0 if old else 3.0)
    assert eiger.read("HighVoltage") == ("198 V" if old else "READY")
    assert (eiger.read("DetectorState"), eiger.read("BitDepth")) == ("idle", 32)
    assert (eiger.read("StreamState"), eiger.read("StreamDropped")) == ("ready", 3)
    assert (eiger.read("MonitorState"), eiger.read("FileWriterState")) == ("normal", "ready")


def test_a_reading_that_the_model_lacks_is_an_error_of_its_own(new: tuple[Desk, Eiger]) -> None:
    desk, eiger = new
    del desk.keys["detector/status/high_voltage/state"]
    with pytest.raises(CameraError, match="has no reading for HighVoltage"):
        eiger.read("HighVoltage")
    assert eiger.read("Humidity") == 3.0


def test_every_reading_has_the_type_that_was_declared(eiger: Eiger) -> None:
    for parameter in eiger.parameters:
        if not parameter.writable:
            assert type(eiger.read(parameter.name)) is type(parameter.default), parameter.name
    with pytest.raises(CameraError):
        eiger.read("Nonsense")


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("CountingMode", "counting_mode", "retrigger"),
        ("TriggerStartDelay", "trigger_start_delay", 0.001),
        ("OmegaStart", "omega_start", -30.5),
        ("OmegaIncrement", "omega_increment", 0.1),
    ],
)
def test_what_an_eiger2_has_more_can_be_set(
    new: tuple[Desk, Eiger], name: str, key: str, value: float | str
) -> None:
    desk, eiger = new
    eiger.apply({name: value})
    assert desk.puts == [(f"{DETECTOR}/{key}", value)] and eiger.values()[name] == value
    del desk.keys[f"{DETECTOR}/{key}"]
    eiger.connect()
    assert name not in eiger.values()
    with pytest.raises(CameraError, match=f"this detector has no {name}"):
        eiger.apply({name: value})


def test_the_high_voltage_can_be_reset_where_the_box_lists_the_command(eiger: Eiger, desk: Desk) -> None:
    if desk.api == "1.6.0":
        assert "HighVoltageReset" not in eiger.values()
        with pytest.raises(CameraError, match=r"has no HighVoltageReset \(detector/command/hv_reset\)"):
            eiger.apply({"HighVoltageReset": 30})
        assert desk.puts == []
        return
    assert eiger.values()["HighVoltageReset"] == 0
    eiger.apply({"HighVoltageReset": 30})
    assert desk.puts == [("detector/command/hv_reset", 30)]
    assert eiger.values()["HighVoltageReset"] == 0
    desk.puts.clear()
    eiger.prepare(series(eiger))
    assert not any("hv_reset" in path for path, _ in desk.puts)


def test_the_wavelength_follows_the_energy_and_can_only_be_read(eiger: Eiger) -> None:
    (parameter,) = [p for p in eiger.parameters if p.name == "Wavelength"]
    assert not parameter.writable and eiger.read("Wavelength") == 0.99987


def test_files_of_the_boxs_own_are_named_where_they_lie(eiger: Eiger, desk: Desk) -> None:
    assert eiger.read("FileWriterFiles") == "" and "filewriter" not in eiger.describe()
    eiger.apply({"FileWriter": True})
    folder = f"http://127.0.0.1:{desk.server_port}/data/"
    assert eiger.describe()["filewriter"] == {"name_pattern": "series_$id", "folder": folder}
    eiger.arm(USER)
    assert eiger.read("FileWriterFiles") == f"{folder}series_7_master.h5, {folder}series_7_data_000001.h5"


def test_the_monitors_image_has_an_address_while_it_is_on(eiger: Eiger, desk: Desk) -> None:
    assert eiger.read("MonitorImage") == ""
    eiger.apply({"Monitor": True})
    address = f"http://127.0.0.1:{desk.server_port}/monitor/api/{desk.api}/images/monitor"
    assert eiger.read("MonitorImage") == address


def test_the_file_has_what_the_start_message_lacks(eiger: Eiger) -> None:
    described = eiger.describe()
    assert described["serial_number"] == "E-1" and described["detector_readout_time"] == 1e-5
    json.dumps(described)
