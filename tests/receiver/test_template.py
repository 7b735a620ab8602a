"""A receiver with a file template, and a stream that names no files."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import h5py
import numpy as np
import pytest

from penstock.receiver.models import SeriesCheck
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer, pixels, text


def begin(streamer: Streamer, series: int) -> None:
    streamer.send([text(htype="dheader-1.0", series=series, header_detail="none")])


def frame(streamer: Streamer, series: int, number: int = 0) -> None:
    array = pixels(number)
    shape = list(array.shape[::-1])
    streamer.send(
        [
            text(htype="dimage-1.0", series=series, frame=number, hash=""),
            text(htype="dimage_d-1.0", shape=shape, type="uint16", encoding="<", size=array.nbytes),
            array.tobytes(),
            text(htype="dconfig-1.0", start_time=0, stop_time=0, real_time=0),
        ]
    )


def end(streamer: Streamer, series: int) -> None:
    streamer.send([text(htype="dseries_end-1.0", series=series)])


@pytest.mark.slow
def test_each_series_without_a_name_gets_the_name_that_the_check_says_also_after_a_kill(
    start_receiver: Callable[..., ReceiverProcess], streamer: Streamer
) -> None:
    receiver = start_receiver(
        source={"type": "dectris-v1"}, filename_template="{detector}.h5", peer_gone=60.0
    )
    receiver.connected()
    names = [receiver.root / name for name in ("sim-1.h5", "sim-1_1.h5", "sim-1_2.h5")]

    for series in (1, 2):
        check = receiver.client.check(SeriesCheck(filename=None, frames=1, frame_bytes=48))
        assert check.filename == str(names[series - 1])
        begin(streamer, series)
        frame(streamer, series)
        end(streamer, series)
        assert receiver.ended(str(series)).series.filename == check.filename

    begin(streamer, 3)
    frame(streamer, 3)
    receiver.wait(lambda status: status.series.id == "3" and status.counts.flushed == 1)
    os.kill(receiver.data_process(), signal.SIGKILL)
    status = receiver.wait(lambda status: status.series.complete is False)
    assert (status.series.id, status.series.filename) == ("3", str(names[2]))
    assert sorted(receiver.root.glob("*.h5")) == names
    for path in names:
        with h5py.File(path) as file:
            np.testing.assert_array_equal(file["entry/data/data"][()], [pixels(0)])


def test_the_check_leaves_the_name_of_a_series_open_where_nobody_knows_it(
    start_receiver: Callable[..., ReceiverProcess],
) -> None:
    receiver = start_receiver(filename_template="{detector}_{series}.h5")
    (receiver.root / "sim-1_7.h5").touch()
    check = receiver.client.check
    assert check(SeriesCheck(filename=None)).filename == str(receiver.root / "sim-1_{series}.h5")
    assert check(SeriesCheck(filename=None, series="7")).filename == str(receiver.root / "sim-1_7_1.h5")
    assert check(SeriesCheck(filename="")).filename is None


@pytest.mark.slow
def test_without_a_template_a_series_without_a_name_has_no_file(
    start_receiver: Callable[..., ReceiverProcess],
) -> None:
    assert start_receiver().client.check(SeriesCheck(filename=None)).filename is None
