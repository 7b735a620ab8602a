"""A series of an Eiger is set up: trigger modes, times, geometry, and what its frames will be."""

from __future__ import annotations

from typing import Any

import h5py
import hdf5plugin
import msgspec
import numpy as np
import pytest

from penstock.devices.eiger import Eiger
from penstock.stins.messages import IndexSource
from penstock.streamer.camera.settings import TriggerMode
from penstock.streamer.camera.unit import CameraError
from tests.devices._dectris.desk import Desk
from tests.devices.eiger.units import DETECTOR, USER, series, unit

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
