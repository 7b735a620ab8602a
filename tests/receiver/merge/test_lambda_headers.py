"""A Lambda as MAX IV sends it: each port tells the shape of all modules, and sends its own blob."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401 (registers the filters)
import numpy as np
import pytest

from penstock.codecs import bslz4
from tests.receiver.merge.streams import ModuleBench, frame, start
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer, pixels

MODULES, ROWS, COLUMNS, FRAMES = 4, 4, 6, 3
GROUP = "entry/instrument/sim_1"


def sent(module: int, number: int) -> np.ndarray[Any, Any]:
    """The pixels of one module's frame."""
    return pixels(10 * number + module, (ROWS, COLUMNS))


def stream(streamer: Streamer, module: int, path: Path, compression: str, place: dict[str, Any]) -> None:
    """What one port sends: no key of Penstock's, so that nothing but the image headers says the shape."""
    streamer.send([json.dumps({"htype": "header", "msg_number": 0, "filename": str(path)}).encode(),
                   json.dumps(place).encode()])  # fmt: skip
    for number in range(FRAMES):
        image = {
            "htype": "image", "msg_number": number + 1, "frame": number, "shape": [MODULES, ROWS, COLUMNS],
            "chunks": [1, ROWS, COLUMNS], "type": "uint16", "compression": compression, **place,
        }  # fmt: skip
        array = sent(module, number)
        blob = bslz4.compress(array) if compression == "bslz4" else array.tobytes()
        streamer.send([json.dumps(image).encode(), blob])
    streamer.send([json.dumps({"htype": "series_end", "msg_number": FRAMES + 1}).encode()])


@pytest.fixture(scope="module")
def ports() -> Iterator[list[Streamer]]:
    opened = [Streamer() for _ in range(MODULES)]
    yield opened
    for streamer in opened:
        streamer.close()


@pytest.fixture(scope="module")
def receiver(ports: list[Streamer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReceiverProcess]:
    source = {"endpoints": [port.endpoint for port in ports], "join": "modules"}
    running = ReceiverProcess(tmp_path_factory.mktemp("lambda"), ports[0].endpoint, source)
    running.connected()
    yield running
    running.close()


@pytest.mark.parametrize("placed", [True, False], ids=["placed", "placeless"])
@pytest.mark.parametrize("compression", ["none", "bslz4"])
def test_one_blob_under_the_shape_of_all_modules_is_one_module(
    receiver: ReceiverProcess, ports: list[Streamer], compression: str, placed: bool
) -> None:
    path = receiver.root / f"{compression}-{placed}.h5"
    for module, port in enumerate(ports):
        stream(port, module, path, compression, {"x": 0, "y": module * ROWS} if placed else {})
    status = receiver.wait(
        lambda status: status.series is not None and status.series.filename == str(path)
        and not status.series.active
    )  # fmt: skip
    assert (status.errors, status.counts.stored, status.counts.received) == ({}, FRAMES, FRAMES)
    assert status.series is not None
    with h5py.File(path) as file:
        assert file[status.series.dataset].shape[1:] == tuple(status.series.shape)
        for number in range(FRAMES):
            each = np.stack([sent(module, number) for module in range(MODULES)])
            whole = each.reshape(MODULES * ROWS, COLUMNS) if placed else each
            np.testing.assert_array_equal(file[f"{GROUP}/data"][number], whole)
            if placed:
                np.testing.assert_array_equal(file[f"{GROUP}/modules"][number], each)


def test_the_shape_of_all_modules_may_stand_in_the_start_messages_too() -> None:
    bench = ModuleBench()
    bench.say_all(start(frames=1, shape=(3, 4, 6), type="uint16", compression="none"))
    for module in range(3):
        bench.say(module, frame(0, module, shape=(3, 4, 6), chunks=(1, 4, 6)))
    assert (bench.sink.errors, bench.sink.indices) == ([], [0])
    assert bench.sink.joined[0].image.shape == (3, 4, 6)


def test_as_many_blobs_as_modules_from_each_of_them_are_refused() -> None:
    bench = ModuleBench()
    bench.say_all(start(frames=1))
    for module in range(3):
        sound = frame(0, module, shape=(3, 4, 6))
        bench.say(module, type(sound)(sound.image, list(sound.blobs) * 3))
    assert bench.sink.errors == ["blob_count"] * 3


def test_another_number_of_modules_than_endpoints_is_refused_with_what_may_be() -> None:
    bench = ModuleBench()
    bench.say_all(start(frames=1))
    for module in range(3):
        bench.say(module, frame(0, module, shape=(4, 4, 6)))
    assert bench.sink.errors == ["modules_differ"] * 3
