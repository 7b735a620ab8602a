"""Three modules of a real X-Spectrum Lambda as three streams: one file with their blobs, and their image.

The data are 10 frames of each module, 516 x 1554 pixels, at (x, y) = (0, 0), (-2, 660), (-2, 1317), with
frame numbers from 1. They are streamed as a Lambda's streamers do: no series id, the place in the metadata of
the start message and in each image header.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fabio
import h5py
import hdf5plugin  # noqa: F401 (registers the filters)
import numpy as np
import pytest
import silx.io
import silx.io.nxdata
from nexusformat.nexus import nxload

from penstock.cli._recordings.recording import write
from penstock.codecs import bslz4
from penstock.receiver.client import ReceiverClient
from penstock.receiver.models import FrameStatus, Status, View
from tests.data import LAMBDA, recording
from tests.recordings import validators
from tests.recordings.programs import DEADLINE, Program, ended, program
from tests.recordings.test_validators import expect_known_warnings

FULL_SHAPE = (1833, 1556)
"""Rows 0 to 1317 + 516, columns -2 to 1554: the smallest image that holds all three."""
GAP = -1
"""What int16 pixels read as where there is no module."""
DETECTOR = "entry/instrument/lambda_1"


@dataclass(frozen=True)
class Module:
    """What one module recorded."""

    x: int
    y: int
    frames: np.ndarray[Any, Any]
    numbers: list[int]
    pixel_mask: np.ndarray[Any, Any]
    flatfield: np.ndarray[Any, Any]

    @property
    def region(self) -> tuple[slice, slice]:
        """Where it is in the image, whose first column is -2."""
        return slice(self.y, self.y + 516), slice(self.x + 2, self.x + 2 + 1554)


def read(path: Path) -> Module:
    """One of the detector's own files."""
    with h5py.File(path) as file:
        group = file["entry/instrument/detector"]
        x, y, _ = group["translation/distance"][:].tolist()
        return Module(
            int(x), int(y), group["data"][:], group["sequence_number"][:].tolist(),
            group["pixel_mask"][0], group["flatfield"][0],
        )  # fmt: skip


def messages(module: Module, filename: Path, compression: str) -> Iterator[list[bytes]]:
    """What the module's streamer sends."""
    place = {"x": module.x, "y": module.y, "rotation": 0, "full_shape": FULL_SHAPE}
    flatfield = np.where(np.isnan(module.flatfield), None, module.flatfield)  # JSON has no NaN
    metadata = {
        **place, "exptime": 0.1, "x_pixel_size": 55e-6, "y_pixel_size": 55e-6, "sensor_material": "GaAs",
        "pixel_mask": module.pixel_mask.tolist(), "flatfield": flatfield.tolist(),
    }  # fmt: skip
    header = {"htype": "header", "msg_number": 7, "filename": str(filename)}
    yield [json.dumps(header).encode(), json.dumps(metadata).encode()]
    for place_in_stream, (number, pixels) in enumerate(zip(module.numbers, module.frames, strict=True)):
        image = {
            "htype": "image", "msg_number": 8 + place_in_stream, "frame": number, "shape": [516, 1554],
            "type": "int16", "compression": compression, **place,
        }  # fmt: skip
        blob = bslz4.compress(pixels) if compression == "bslz4" else pixels.tobytes()
        yield [json.dumps(image).encode(), blob]
    yield [json.dumps({"htype": "series_end", "msg_number": 8 + len(module.frames)}).encode()]


@dataclass(frozen=True)
class Taken:
    """The three modules, and the file that they became."""

    modules: list[Module]
    file: Path
    status: Status
    live: np.ndarray[Any, Any]
    """Frame 9 as the receiver shows it."""

    def image(self, index: int) -> np.ndarray[Any, Any]:
        """The image as it has to be."""
        whole = np.full(FULL_SHAPE, GAP, np.int16)
        for module in self.modules:
            whole[module.region] = module.frames[index]
        return whole


def take(folder: Path, compression: str, **keys: Any) -> Taken:
    """Stream the three modules into a receiver."""
    modules = [read(recording(name)) for name in LAMBDA]
    file = folder / "data" / "lambda.h5"
    file.parent.mkdir()
    with ExitStack() as stack:
        streamers: list[Program] = []
        endpoints = []
        for number, module in enumerate(modules):
            capture = folder / f"m{number}.cborseq"
            write(capture, messages(module, file, compression))
            streamers.append(
                stack.enter_context(
                    program("replay", str(capture), "--endpoint", "tcp://127.0.0.1:0", "--json")
                )
            )
            endpoints.append(streamers[-1].line()["endpoint"])
        source = {"join": "modules", "endpoints": endpoints, "frame_origin": 1}
        entry = {"source": source, "data_root": str(file.parent), **keys}
        config = folder / "receivers.yaml"
        config.write_text(json.dumps({"receivers": {"lambda-1": entry}}))
        receiver = stack.enter_context(
            program("receiver", "lambda-1", "--config", str(config), "--http", "127.0.0.1:0", "--json")
        )
        client = ReceiverClient(receiver.line()["http"], timeout=5.0)
        for streamer in streamers:
            assert streamer.process.wait(DEADLINE) == 0
        status = ended(client)
        shown = client.frame(9, View()).array
    return Taken(modules, file, status, shown)


@pytest.fixture(scope="module", params=["none", pytest.param("bslz4", marks=pytest.mark.slow)])
def taken(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Taken:
    return take(tmp_path_factory.mktemp("lambda"), request.param)


def test_every_frame_is_whole(taken: Taken) -> None:
    assert taken.status.errors == {}
    assert (taken.status.counts.planned, taken.status.counts.stored) == (10, 10)


def test_the_blobs_are_the_modules_pixels(taken: Taken) -> None:
    with h5py.File(taken.file) as file:
        blobs = file[f"{DETECTOR}/modules"]
        assert (blobs.shape, blobs.chunks, blobs.dtype) == ((10, 3, 516, 1554), (1, 1, 516, 1554), np.int16)
        for number, module in enumerate(taken.modules):
            assert np.array_equal(blobs[:, number], module.frames)
        assert (file[f"{DETECTOR}/module_status"][:] == FrameStatus.STORED).all()
        assert (file[f"{DETECTOR}/frame_status"][:] == FrameStatus.STORED).all()


def test_the_assembled_image_is_pixel_by_pixel_what_the_modules_saw(taken: Taken) -> None:
    with h5py.File(taken.file) as file:
        whole = file["entry/data/data"]
        assert whole.is_virtual and whole.shape == (10, *FULL_SHAPE)
        for index in range(10):
            assert np.array_equal(whole[index], taken.image(index))


def test_mask_and_flatfield_are_assembled_like_the_image(taken: Taken) -> None:
    mask, flat = np.ones(FULL_SHAPE, np.int64), np.ones(FULL_SHAPE)
    for module in taken.modules:
        mask[module.region], flat[module.region] = module.pixel_mask, module.flatfield
    with h5py.File(taken.file) as file:
        assert np.array_equal(file[f"{DETECTOR}/pixel_mask"][:], mask)
        assert np.array_equal(file[f"{DETECTOR}/flatfield"][:], flat, equal_nan=True)
        assert file[f"{DETECTOR}/x_pixel_size"][()] == 55e-6


def test_where_each_module_sits_stands_in_the_file(taken: Taken) -> None:
    with h5py.File(taken.file) as file:
        for number, (x, y) in enumerate([(0, 0), (-2, 660), (-2, 1317)]):
            group = file[f"{DETECTOR}/module_{number}"]
            assert group.attrs["NX_class"] == "NXdetector_module"
            assert group["data_origin"][:].tolist() == [y, x + 2]
            assert group["data_size"][:].tolist() == [516, 1554]
            assert (group["x"][()], group["y"][()], group["x"].attrs["units"]) == (x, y, "pixel")


def test_silx_fabio_and_nexusformat_show_the_assembled_image(taken: Taken) -> None:
    with silx.io.open(str(taken.file)) as file:
        default = silx.io.nxdata.get_default(file)
        assert default is not None
        assert np.array_equal(default.signal[3], taken.image(3))
    with fabio.open(str(taken.file)) as image:
        assert image.nframes == 10
        assert np.array_equal(image.data, taken.image(0))
        assert np.array_equal(image.get_frame(9).data, taken.image(9))
    assert np.array_equal(nxload(str(taken.file)).entry.data.nxsignal[5].nxvalue, taken.image(5))


def test_the_file_may_be_renamed(taken: Taken, tmp_path: Path) -> None:
    other = tmp_path / "other.h5"
    other.write_bytes(taken.file.read_bytes())
    with h5py.File(other) as file:
        assert np.array_equal(file["entry/data/data"][9], taken.image(9))


def test_the_receiver_shows_the_assembled_image(taken: Taken) -> None:
    assert np.array_equal(taken.live, taken.image(9))


def test_check_finds_the_file_clean(taken: Taken) -> None:
    with program("check", "--json", str(taken.file)) as check:
        assert check.process.wait(DEADLINE) == 0


@pytest.mark.slow
@pytest.mark.parametrize("validate", [validators.nxcheck, validators.punx])
def test_validators_find_no_error(taken: Taken, validate: Any) -> None:
    expect_known_warnings(validate(taken.file), validate.__name__, "lambda", f"/{DETECTOR}")


@pytest.mark.slow
def test_a_transform_makes_the_same_image(tmp_path: Path) -> None:
    steps = [{"type": "decompress"}, {"type": "assemble"}, {"type": "bslz4"}]
    taken = take(tmp_path, "bslz4", transforms=steps, workers=2)
    assert taken.status.errors == {}
    with h5py.File(taken.file) as file:
        whole = file["entry/data/data"]
        assert not whole.is_virtual and whole.chunks == (1, *FULL_SHAPE)
        for index in range(10):
            assert np.array_equal(whole[index], taken.image(index))
        assert (file[f"{DETECTOR}/module_status"][:] == FrameStatus.STORED).all()
    assert np.array_equal(taken.live, taken.image(9))
