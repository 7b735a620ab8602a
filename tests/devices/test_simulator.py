from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hdf5plugin  # noqa: F401  the filters must be known to h5py
import numpy as np
import pytest
from PIL import Image as Picture

from penstock.devices._simulated.faults import Faults, parse
from penstock.devices.simulator import Simulator
from penstock.stins import blobs
from penstock.stins.messages import Frame
from penstock.streamer.camera.driver import Refused
from penstock.streamer.camera.settings import TriggerMode
from penstock.streamer.camera.unit import CameraError
from penstock.streamer.simulated import patterns
from penstock.streamer.simulated.patterns import draw
from penstock.streamer.simulated.triggers import TriggerSource, main
from tests.data import recording
from tests.streamer.rig import Rig, done, settings

UNIT: dict[str, Any] = {"SensorWidth": 40, "SensorHeight": 24}


@pytest.fixture
def make_rig() -> Iterator[Callable[..., Rig]]:
    rigs: list[Rig] = []

    def make(**properties: Any) -> Rig:
        rigs.append(Rig(Simulator(UNIT | properties), buffers=64 * 2**20))
        rigs[-1].connect()
        return rigs[-1]

    yield make
    for rig in rigs:
        rig.__exit__(None, None, None)


@pytest.fixture
def rig(make_rig: Callable[..., Rig]) -> Rig:
    return make_rig()


def pixels(frame: Frame) -> np.ndarray:
    """The pixels of an uncompressed frame."""
    blobs.check(frame)
    return np.frombuffer(b"".join(frame.blobs), frame.image.type).reshape(frame.image.shape)


def take(rig: Rig, frames: int = 2, exposure_time: float = 0.001, **camera: Any) -> list[np.ndarray]:
    """An INTERNAL series."""
    rig.arm(n_triggers=frames, exposure_time=exposure_time, camera=camera)
    frames = [pixels(frame) for frame in rig.receive_series()[1]]
    rig.until_state("idle")
    return frames


def on_line(rig: Rig) -> TriggerSource:
    """A trigger source on the line to this detector."""
    host, _, port = str(rig.engine.status().readings["TriggerAddress"]).rpartition(":")
    return TriggerSource((host, int(port)))


@pytest.fixture
def line(rig: Rig) -> Iterator[TriggerSource]:
    """A trigger source on the line to the detector."""
    source = on_line(rig)
    yield source
    source.close()


# Patterns -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
def test_saturation_is_exact_where_float32_is_not(dtype: str) -> None:
    assert (patterns.pool("noise", (8, 8), dtype, 1e12) == np.iinfo(dtype).max).all()


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "int32", "float32"])
def test_a_gradient_carries_its_frame_number_in_its_pixels(make_rig: Callable[..., Rig], dtype: str) -> None:
    frames = take(make_rig(PixelType=dtype), 3)
    assert [patterns.frame_number(frame) for frame in frames] == [0, 1, 2]
    for number, frame in enumerate(frames):
        np.testing.assert_array_equal(frame, patterns.gradient((24, 40), dtype, number))


def test_frame_numbers_beyond_a_byte_are_readable() -> None:
    for number in (0, 255, 256, 70_000, 2**31):
        assert patterns.frame_number(patterns.gradient((4, 8), "uint8", number)) == number


def test_photons_obey_poisson_statistics(rig: Rig) -> None:
    (frame,) = take(rig, 1, exposure_time=0.01, Pattern="noise", PhotonFlux=10_000.0)
    assert abs(frame.mean() - 100) < 5 * 10 / np.sqrt(frame.size)
    assert abs(frame.var() / 100 - 1) < 0.25


@pytest.mark.parametrize("photons", [0.0, 0.01, 0.5, 3.0, 20.0, 49.9, 51.0, 1e3, 1e6])
def test_mean_and_variance_of_a_pixel_are_the_photons_expected(photons: float) -> None:
    counts = draw(np.full((500, 500), photons, np.float32), 4, np.random.default_rng(0)).astype(float)
    assert abs(counts.mean() - photons) <= 0.03 * np.sqrt(photons)
    assert abs(counts.var() - photons) <= 0.03 * np.sqrt(photons) + 0.02 * photons
    assert (counts == np.rint(counts)).all()


@pytest.mark.parametrize("pattern", ["powder", "spots"])
def test_diffraction_brightens_with_exposure_and_differs_from_frame_to_frame(rig: Rig, pattern: str) -> None:
    short = take(rig, 2, exposure_time=0.001, Pattern=pattern, PhotonFlux=1e5)
    long = take(rig, 1, exposure_time=0.01, Pattern=pattern, PhotonFlux=1e5)
    assert not np.array_equal(short[0], short[1])
    assert long[0].sum() > 5 * short[0].sum()


def test_counts_saturate_at_what_the_type_holds(make_rig: Callable[..., Rig]) -> None:
    (frame,) = take(make_rig(PixelType="uint8"), 1, Pattern="flat", PhotonFlux=1e9)
    assert (frame == 255).all()


def test_powder_shows_rings_around_the_centre() -> None:
    image = patterns.powder(1000, 1000)
    y, x = np.ogrid[:1000, :1000]
    radius = np.hypot(y - 500, x - 500)
    first = 500 * patterns.DISTANCE * np.tan(2 * np.arcsin(0.30996 * np.sqrt(3) / 2 / 5.4116))
    assert image[np.abs(radius - first) < 0.5].min() > 0.8 * image.max()
    assert image[np.abs(radius - first - 30) < 0.5].max() < 0.3 * image.max()


# Recordings ---------------------------------------------------------------------------------------


def test_an_npy_recording_is_replayed_frame_by_frame_and_over_again(rig: Rig, tmp_path: Path) -> None:
    frames = np.random.default_rng(1).integers(0, 1000, (2, 5, 7), dtype=np.int32)
    np.save(tmp_path / "frames.npy", frames)
    replayed = take(rig, 3, Pattern="recording", Recording=str(tmp_path / "frames.npy"))
    np.testing.assert_array_equal(replayed, frames[[0, 1, 0]])


def test_a_tiff_is_replayed(rig: Rig, tmp_path: Path) -> None:
    image = np.arange(35, dtype=np.uint16).reshape(5, 7)
    Picture.fromarray(image).save(tmp_path / "image.tif")
    np.testing.assert_array_equal(
        take(rig, 1, Pattern="recording", Recording=str(tmp_path / "image.tif"))[0], image
    )


def test_a_dataset_in_hdf5_is_replayed(rig: Rig, tmp_path: Path) -> None:
    import h5py

    frames = np.arange(70, dtype=np.uint32).reshape(2, 5, 7)
    with h5py.File(tmp_path / "file.h5", "w") as file:
        file["entry/frames"] = frames
    name = f"{tmp_path}/file.h5::/entry/frames"
    np.testing.assert_array_equal(take(rig, 2, Pattern="recording", Recording=name), frames)


def test_frames_that_the_recording_lacks_are_not_replayed(rig: Rig, tmp_path: Path) -> None:
    import h5py

    frames = np.arange(12, dtype=np.uint32).reshape(3, 2, 2)
    with h5py.File(tmp_path / "file.h5", "w") as file:
        made = file.create_dataset("entry/frames", frames.shape, frames.dtype, chunks=(1, 2, 2))
        made[0], made[2] = frames[0], frames[2]
        file.create_dataset("entry/none", frames.shape, frames.dtype, chunks=(1, 2, 2))
    name = f"{tmp_path}/file.h5::/entry"
    replayed = take(rig, 3, Pattern="recording", Recording=f"{name}/frames")
    np.testing.assert_array_equal(replayed, frames[[0, 2, 0]])
    with pytest.raises(Refused, match="has no frame that is stored"):
        take(rig, 1, Pattern="recording", Recording=f"{name}/none")


def test_a_real_powder_pattern_is_replayed(rig: Rig) -> None:
    import fabio

    path = recording("CeO2_Pilatus1M.tif")
    with fabio.open(str(path)) as image:
        expected = image.data
        np.testing.assert_array_equal(take(rig, 1, Pattern="recording", Recording=str(path))[0], expected)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("", b"", "Pattern is recording, but Recording is empty"),
        ("absent.npy", None, "there is no such file on the streamer's host"),
        ("broken.npy", b"not an array", "broken.npy cannot be read"),
        ("broken.tif", b"not an image", "broken.tif cannot be read"),
        ("empty.h5", b"", "empty.h5 cannot be read"),
    ],
)
def test_a_recording_that_cannot_be_replayed_is_a_sentence(
    rig: Rig, tmp_path: Path, name: str, content: bytes | None, sentence: str
) -> None:
    if name and content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(Refused) as caught:
        take(rig, 1, Pattern="recording", Recording=str(tmp_path / name) if name else "")
    assert sentence in caught.value.message


@pytest.mark.parametrize("array", [np.zeros(5), np.zeros((2, 2, 2, 2)), np.zeros((2, 2), complex)])
def test_an_array_that_is_no_stack_of_images_is_refused(rig: Rig, tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "odd.npy", array)
    with pytest.raises(Refused, match=r"odd\.npy ha|odd\.npy holds"):
        take(rig, 1, Pattern="recording", Recording=str(tmp_path / "odd.npy"))


def test_it_keeps_its_dead_time_between_software_triggers(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(ReadoutTime=0.3)
    rig.arm(trigger_mode=TriggerMode.SOFTWARE, n_triggers=2, exposure_time=0.01)
    for _ in range(2):
        rig.until(lambda status: status.ready_for_trigger)
        rig.engine.trigger()
    _, frames, _ = rig.receive_series()
    first, second = (frame.image.timestamp_hw or 0.0 for frame in frames)
    assert second - first > 0.309


# Unit, region, compression ------------------------------------------------------------------------


def test_two_units_keep_their_own_limits(make_rig: Callable[..., Rig]) -> None:
    slow, fast = make_rig(MinExposure=0.1, SensorWidth=100), make_rig(MaxExposure=0.5)
    assert slow.engine.describe().limits["ExposureTime"].minimum == 0.1
    assert slow.engine.describe().limits["AOIWidth"].maximum == 100
    assert fast.engine.describe().limits["ExposureTime"].maximum == 0.5
    with pytest.raises(Refused, match=r"ExposureTime 0\.01 s; the least is 0\.1 s"):
        done(slow.engine.prepare(settings(exposure_time=0.01)))


def test_the_area_of_interest_is_read_out(rig: Rig) -> None:
    full = take(rig, 1, Pattern="powder", PhotonFlux=0.0)
    part = take(rig, 1, AOILeft=10, AOITop=4, AOIWidth=8, AOIHeight=6)
    assert (full[0].shape, part[0].shape) == ((24, 40), (6, 8))


def test_the_limits_of_the_area_follow_its_corner(rig: Rig) -> None:
    limits = done(rig.engine.set({"AOILeft": 30, "AOITop": 20})).limits
    assert (limits["AOIWidth"].maximum, limits["AOIHeight"].maximum) == (10, 4)


def test_an_area_outside_the_sensor_is_refused(rig: Rig) -> None:
    with pytest.raises(Refused, match="30 columns from 20 and 24 rows from 0 is not inside the frame of 40"):
        take(rig, 1, AOILeft=20, AOIWidth=30)


@pytest.mark.parametrize("pattern", ["gradient", "powder"])
def test_bslz4_frames_unpack_to_the_uncompressed_ones(
    make_rig: Callable[..., Rig], tmp_path: Path, pattern: str
) -> None:
    import h5py

    rig = make_rig(Modules=2)
    plain = take(rig, 2, Pattern=pattern)
    rig.arm(n_triggers=2, exposure_time=0.001, camera={"Pattern": pattern, "Compression": "bslz4"})
    _, frames, _ = rig.receive_series()
    with h5py.File(tmp_path / "file.h5", "w") as file:
        data = file.create_dataset(
            "data",
            (2, 2, 24, 40),
            "uint16",
            chunks=(1, 1, 24, 40),
            compression=32008,
            compression_opts=(0, 2),
        )
        for index, frame in enumerate(frames):
            blobs.check(frame)
            for blob_number, blob in enumerate(frame.blobs):
                data.id.write_direct_chunk((index, blob_number, 0, 0), bytes(blob))
        np.testing.assert_array_equal(data[()], plain)


def test_compressed_frames_cannot_be_rotated_and_the_refusal_says_what_to_change(rig: Rig) -> None:
    with pytest.raises(Refused, match="set Compression to none"):
        done(rig.engine.prepare(settings(exposure_time=0.1, rotation=90, camera={"Compression": "bslz4"})))


def test_the_sensor_cools_towards_its_set_point(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("penstock.devices._simulated.parameters.time.monotonic", lambda: now[0])
    camera = Simulator(UNIT)
    camera.apply({p.name: p.default for p in camera.parameters} | {"TargetSensorTemperature": -10.0})
    readings = []
    for now[0] in (0.0, 10.0, 1000.0):
        readings.append(camera.read("SensorTemperature"))
    camera.close()
    assert readings[0] == 25.0 > readings[1] > readings[2] == -10.0


def test_a_trigger_port_in_use_is_a_sentence(rig: Rig) -> None:
    port = int(str(rig.engine.status().readings["TriggerAddress"]).rpartition(":")[2])
    with pytest.raises(CameraError, match=f"trigger input 127.0.0.1:{port}: Address already in use"):
        Simulator(UNIT | {"TriggerPort": port})


# External triggers --------------------------------------------------------------------------------


def test_one_edge_starts_a_whole_external_series(rig: Rig, line: TriggerSource) -> None:
    rig.arm(trigger_mode=TriggerMode.EXTERNAL, exposure_time=0.001, n_triggers=3, n_frames_per_trigger=2)
    line.pulse()
    assert [frame.image.frame for frame in rig.receive_series()[1]] == list(range(6))


def test_each_edge_starts_a_trigger_of_its_own_number(rig: Rig, line: TriggerSource) -> None:
    rig.arm(trigger_mode=TriggerMode.EXTERNAL_MULTI, exposure_time=1e-4, n_triggers=3, n_frames_per_trigger=2)
    for number in range(3):
        line.pulse(moment=10.0 + number)
    frames = rig.receive_series()[1]
    assert [(f.image.trigger, f.image.frame) for f in frames] == [
        (0, 0),
        (0, 1),
        (1, 2),
        (1, 3),
        (2, 4),
        (2, 5),
    ]
    assert [round(f.image.timestamp_hw or 0) for f in frames] == [10, 10, 11, 11, 12, 12]


def test_a_missed_edge_leaves_its_index_empty_and_shifts_nothing(rig: Rig, line: TriggerSource) -> None:
    rig.arm(trigger_mode=TriggerMode.EXTERNAL_MULTI, exposure_time=1e-4, n_triggers=4)
    line.pulse(moment=1.0)
    line.miss()
    line.pulse(moment=3.0)
    line.pulse(moment=4.0)
    _, frames, end = rig.receive_series()
    assert [frame.image.frame for frame in frames] == [0, 2, 3]
    assert (end.reason, end.triggered, end.sent, end.lost) == ("complete", 4, 3, {"camera": 1})


def test_without_a_trigger_counter_a_missed_edge_shifts_all_that_follow(
    make_rig: Callable[..., Rig],
) -> None:
    rig = make_rig(TriggerCounter=False)
    assert rig.engine.describe().index_source == "arrival"
    line = on_line(rig)
    rig.arm(trigger_mode=TriggerMode.EXTERNAL_MULTI, exposure_time=1e-4, n_triggers=3)
    line.pulse(moment=1.0)
    line.miss()
    line.pulse(moment=3.0)
    assert rig.until(lambda status: status.acquired == 2).state == "acquiring", "it waits for a third"
    assert rig.engine.status().triggered == 2
    line.pulse(moment=4.0)
    start, frames, end = rig.receive_series()
    line.close()
    assert start.header.index_source == "arrival"
    assert [(frame.image.frame, frame.image.timestamp_hw) for frame in frames] == [
        (0, 1.0),
        (1, 3.0),
        (2, 4.0),
    ]
    assert (end.reason, end.triggered, end.sent, end.lost) == ("complete", 3, 3, None)


def test_without_a_trigger_counter_an_edge_during_an_exposure_goes_unnoticed(
    make_rig: Callable[..., Rig],
) -> None:
    rig = make_rig(TriggerCounter=False)
    line = on_line(rig)
    rig.arm(trigger_mode=TriggerMode.EXTERNAL_MULTI, exposure_time=0.01, n_triggers=3)
    for moment in (1.0, 1.005, 1.02):
        line.pulse(moment=moment)
    rig.until(lambda status: status.acquired == 2)
    rig.engine.stop()
    _, frames, end = rig.receive_series()
    line.close()
    assert [frame.image.frame for frame in frames] == [0, 1]
    assert (end.reason, end.triggered, end.sent, end.lost) == ("stop", 2, 2, None)


def test_without_a_trigger_counter_a_dropped_frame_shifts_all_that_follow(
    make_rig: Callable[..., Rig],
) -> None:
    rig = make_rig(TriggerCounter=False)
    rig.arm(exposure_time=1e-4, camera={"Faults": "drop=1"})
    _, frames, end = rig.receive_series()
    assert [frame.image.frame for frame in frames] == [0, 1, 2]
    assert (end.triggered, end.sent, end.lost) == (4, 3, {"camera": 1})


def test_units_of_one_model_know_their_frames_triggers_or_not(rig: Rig, make_rig: Callable[..., Rig]) -> None:
    assert make_rig(TriggerCounter=False).engine.describe().index_source == "arrival"
    assert rig.engine.describe().index_source == "hardware counter"


def test_an_edge_that_comes_during_an_exposure_is_missed(rig: Rig, line: TriggerSource) -> None:
    rig.arm(trigger_mode=TriggerMode.EXTERNAL_MULTI, exposure_time=0.01, n_triggers=3)
    for moment in (1.0, 1.005, 1.02):
        line.pulse(moment=moment)
    assert [frame.image.frame for frame in rig.receive_series()[1]] == [0, 2]


def test_edges_at_the_least_distance_are_all_taken_whatever_their_numbers_round_to(
    rig: Rig, line: TriggerSource
) -> None:
    exposure, readout = 0.005, rig.engine.describe().readout_time
    rig.arm(trigger_mode=TriggerMode.EXTERNAL_MULTI, exposure_time=exposure, n_triggers=40)
    for number in range(40):
        line.pulse(
            moment=36035.123456 + 0.5 + number * (exposure + readout)
        )  # a computer that is up for 10 h
    assert [frame.image.frame for frame in rig.receive_series()[1]] == list(range(40))


def test_a_gate_exposes_for_as_long_as_it_lasts(rig: Rig, line: TriggerSource) -> None:
    rig.arm(trigger_mode=TriggerMode.EXTERNAL_MULTI_GATE, exposure_time=0.5, n_triggers=2)
    line.pulse(0.001, moment=1.0)
    line.pulse(0.002, moment=2.0)
    assert [frame.image.exposure_time for frame in rig.receive_series()[1]] == [0.001, 0.002]


def test_gates_take_one_frame_each(rig: Rig) -> None:
    with pytest.raises(Refused, match="set nFramesPerTrigger to 1"):
        rig.arm(trigger_mode=TriggerMode.EXTERNAL_MULTI_GATE, exposure_time=0.1, n_frames_per_trigger=2)


def test_edges_before_arming_are_not_counted(rig: Rig, line: TriggerSource) -> None:
    line.pulse()
    rig.arm(trigger_mode=TriggerMode.EXTERNAL, exposure_time=1e-4, n_triggers=1)
    assert rig.engine.status().acquired == 0
    line.pulse()
    assert rig.until_state("idle").acquired == 1


def test_the_source_by_hand_makes_a_train_with_missed_edges(rig: Rig) -> None:
    rig.arm(trigger_mode=TriggerMode.EXTERNAL_MULTI, exposure_time=1e-5, n_triggers=4)
    address = str(rig.engine.status().readings["TriggerAddress"])
    assert main([address, "-n", "4", "--period", "0.01", "--missed", "1"]) == 0
    assert [frame.image.frame for frame in rig.receive_series()[1]] == [0, 2, 3]


# Faults on request --------------------------------------------------------------------------------


def test_faults_are_written_in_a_line() -> None:
    assert parse("die_at=5; drop=2,7; lose_end") == Faults(die_at=5, drop=frozenset({2, 7}), lose_end=True)
    assert parse("") == Faults()


@pytest.mark.parametrize("text", ["explode", "die_at=soon", "drop=2,x", "die_at"])
def test_an_unknown_fault_is_refused_when_it_is_set(rig: Rig, text: str) -> None:
    with pytest.raises(Refused, match="Faults"):
        done(rig.engine.set({"Faults": text}))


def test_a_dropped_frame_is_missing_and_counted(rig: Rig) -> None:
    rig.arm(exposure_time=1e-4, camera={"Faults": "drop=1,3"})
    _, frames, end = rig.receive_series()
    assert [frame.image.frame for frame in frames] == [0, 2]
    assert (end.triggered, end.sent, end.lost) == (4, 2, {"camera": 2})


@pytest.mark.parametrize(
    ("fault", "cause", "sentence"),
    [
        ("fail_at=2", "fault", "the hardware failed at frame 2"),
        ("overrun_at=2", "overrun", "the memory of the hardware was full at frame 2"),
    ],
)
def test_a_failing_frame_is_a_fault_with_its_counts(rig: Rig, fault: str, cause: str, sentence: str) -> None:
    rig.arm(exposure_time=1e-4, camera={"Faults": fault})
    _, frames, end = rig.receive_series()
    assert (len(frames), end.reason, end.triggered, end.lost) == (2, "fault", 3, {cause: 1})
    assert sentence in rig.until_state("fault").message


def test_a_stalled_detector_obeys_stop(rig: Rig) -> None:
    rig.arm(exposure_time=1e-4, camera={"Faults": "stall_at=1"})
    rig.until(lambda status: status.acquired == 1)
    rig.engine.stop()
    assert rig.receive_series()[2].reason == "stop"


def test_a_refused_preparation_is_a_sentence(rig: Rig) -> None:
    with pytest.raises(Refused, match="the hardware refuses the settings"):
        rig.arm(exposure_time=1e-4, camera={"Faults": "fail_prepare"})


def test_slow_arming_is_not_ready_until_it_is_over(rig: Rig) -> None:
    done(rig.engine.prepare(settings(exposure_time=1e-4, camera={"Faults": "slow_arm=0.2"})))
    done(rig.engine.announce())
    armed = rig.engine.start()
    assert not armed.done()
    done(armed)
    assert len(rig.receive_series()[1]) == 4
