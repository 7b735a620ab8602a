"""From camserver's files through a light streamer and a real receiver into the file of the series."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import h5py
import hdf5plugin
import numpy as np
import pytest

from tests.receiver.processes import ReceiverProcess
from tests.streamer.light_rig import HEADER, Light, pixels

assert hdf5plugin  # registers the filters
TRANSFORMS = [{"type": "cbf"}, {"type": "bslz4"}]


@pytest.fixture
def light(python: str, tmp_path: Path) -> Iterator[Light]:
    with Light(python, tmp_path / "ramdisk", receiver=False) as light:
        yield light


@pytest.fixture
def receiver(light: Light, tmp_path: Path) -> Iterator[ReceiverProcess]:
    receiver = ReceiverProcess(tmp_path, light.ready["data"], transforms=TRANSFORMS)
    light.until(lambda status: status.peers == 1)
    yield receiver
    receiver.close()


def begin(light: Light, receiver: ReceiverProcess, frames: int, **metadata: object) -> tuple[str, Path]:
    file = receiver.root / "a.h5"
    header = {**HEADER, "filename": str(file), "frames": frames}
    prefix = light.begin(planned=frames, header=header, metadata=metadata)
    return prefix, file


def test_every_pixel_of_every_file_is_in_the_file_of_the_series_and_so_is_the_first_header(
    light: Light, receiver: ReceiverProcess
) -> None:
    prefix, file = begin(light, receiver, 5, saturation_value=1048574, count_time=0.00405)

    light.write_frames(prefix, 0, 1, 2, 3, 4)
    light.client.finish("s1", triggered=5)

    status = receiver.ended("s1")
    assert status.series is not None and status.series.complete, status
    with h5py.File(file) as opened:
        stored = opened["entry/data/data"][:]
        np.testing.assert_array_equal(stored, [pixels(number) for number in range(5)])
        assert stored.dtype == np.dtype("<i4")
        found = opened["entry/instrument/sim_1"]
        for name, value in {
            "saturation_value": 1009797, "sensor_thickness": 0.00045, "count_time": 0.00405,
            "threshold_energy": 6344.0, "countrate_correction_applied": True,
            "camserver/n_excluded_pixels": 852,
        }.items():  # fmt: skip
            assert found[name][()] == value, name
        for name, text in {
            "sensor_material": "Si", "camserver/trim_file": "p10-0000_E12688_T6344.bin",
            "camserver/excluded_pixels": "badpixel_mask.tif",
        }.items():  # fmt: skip
            assert found[name].asstr()[()] == text, name
        assert found["sensor_thickness"].attrs["units"] == "m"
    said = "saturation_value was 1048574 in the start message, and is 1009797 by the first image's header"
    assert said in receiver.log.read_text()
    assert light.ended().sent == 5
    assert light.files() == []


def test_a_frame_without_a_file_is_missing_at_its_place(light: Light, receiver: ReceiverProcess) -> None:
    prefix, file = begin(light, receiver, 3)

    light.write_frames(prefix, 0, 2)
    light.client.finish("s1", triggered=3)

    status = receiver.ended("s1")
    assert status.series is not None and not status.series.complete
    assert (status.counts.stored, status.counts.missing) == (2, 1)
    with h5py.File(file) as opened:
        data = opened["entry/data/data"]
        np.testing.assert_array_equal(data[2], pixels(2))


@pytest.mark.slow
def test_a_receiver_that_is_killed_gets_the_files_that_waited_for_it(
    light: Light, receiver: ReceiverProcess, tmp_path: Path
) -> None:
    prefix, file = begin(light, receiver, 4)
    light.write_frames(prefix, 0, 1)
    receiver.flushed(2)
    receiver.process.kill()
    light.until(lambda status: status.peers == 0)
    light.write_frames(prefix, 2, 3)
    light.until(lambda status: status.waiting == 2)

    again = ReceiverProcess(tmp_path, light.ready["data"], transforms=TRANSFORMS)
    try:
        light.client.finish("s1", triggered=4)
        status = again.ended("s1")
        assert status.series is not None and status.series.complete, (status, again.log.read_text())
        with h5py.File(file) as opened:
            np.testing.assert_array_equal(
                opened["entry/data/data"][:], [pixels(number) for number in range(4)]
            )
    finally:
        again.close()
