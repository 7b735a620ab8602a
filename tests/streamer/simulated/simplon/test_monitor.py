"""The monitor of the simulated control unit: its buffer, its TIFF; no sockets."""

from __future__ import annotations

import io
import json
import struct
from threading import Thread

import numpy as np
import pytest
from fabio.tifimage import TifImage

from penstock.streamer.simulated import patterns
from penstock.streamer.simulated.simplon.monitor import Monitor, Shown, tiff
from penstock.streamer.simulated.simplon.pixels import Picture


def shown(series: int, number: int) -> Shown:
    return Shown(series, number, Picture((1, 1), "uint8", "none", (b"x",)), {"1": 4000.0})


def numbers(monitor: Monitor) -> list[int]:
    taken = []
    while (image := monitor.next(0.0)) is not None:
        taken.append(image.number)
    return taken


def test_next_takes_the_oldest_and_the_list_says_what_is_left() -> None:
    monitor = Monitor()
    for series, number in ((1, 0), (1, 1), (2, 0)):
        monitor.add(shown(series, number), 10, discard_new=True)
    assert monitor.listed() == [[1, [0, 1]], [2, [0]]]
    assert monitor.first == (1, 0)
    assert monitor.find(1, 1).number == 1
    with pytest.raises(KeyError):
        monitor.find(99, 0)
    oldest = monitor.next(0.0)
    assert oldest is not None and (oldest.series, oldest.number) == (1, 0)
    assert monitor.listed() == [[1, [1]], [2, [0]]]
    newest = monitor.latest(0.0)
    assert newest is not None and newest.series == 2 and len(monitor) == 2, "it stays"


@pytest.mark.parametrize(("discard_new", "kept"), [(True, [0, 1, 2]), (False, [2, 3, 4])])
def test_a_full_buffer_drops_new_images_or_old_ones_and_counts_them(
    discard_new: bool, kept: list[int]
) -> None:
    monitor = Monitor()
    for number in range(5):
        monitor.add(shown(1, number), 3, discard_new=discard_new)
    assert monitor.dropped == 2
    newest = monitor.latest(0.0)
    assert newest is not None and newest.number == 4, "the newest one is shown in either case"
    assert numbers(monitor) == kept


def test_without_an_image_a_client_waits_and_after_clear_there_is_none() -> None:
    monitor = Monitor()
    monitor.add(shown(1, 0), 3, discard_new=True)
    monitor.clear()
    assert monitor.next(0.0) is monitor.latest(0.0) is None and not monitor.listed()
    got: list[Shown | None] = []
    waiting = Thread(target=lambda: got.append(monitor.next(10.0)))
    waiting.start()
    monitor.add(shown(1, 1), 3, discard_new=True)
    waiting.join(10)
    assert got[0] is not None and got[0].number == 1


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32"])
@pytest.mark.parametrize("shape", [(3, 5), (20, 30)])
def test_the_tiff_has_pixels_and_the_tag_of_the_monitor(dtype: str, shape: tuple[int, int]) -> None:
    image = patterns.gradient(shape, dtype, 3)
    data = tiff(image, series_id=7, image_id=3, threshold="1", energy=4000.0)
    read = TifImage().read(io.BytesIO(data))
    assert read.data.dtype == dtype and np.array_equal(read.data, image)
    assert data[8 : 8 + image.nbytes] == image.tobytes(), "where ADEiger looks for them"
    (directory,) = struct.unpack_from("<I", data, 4)
    (count,) = struct.unpack_from("<H", data, directory)
    entries = {
        tag: (length, at)
        for tag, _, length, at in struct.iter_unpack(
            "<HHII", data[directory + 2 : directory + 2 + count * 12]
        )
    }
    assert list(entries) == sorted(entries)
    assert [entries[tag][1] for tag in (256, 257, 279)] == [shape[1], shape[0], image.nbytes]
    length, at = entries[0xC7F8]
    said = json.loads(data[at : at + length - 1])
    assert said == {"series_id": 7, "image_id": 3, "threshold": "1", "energy": 4000.0}
