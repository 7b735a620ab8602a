"""Streams of other software, over real sockets, of which frames are lost: no series is called complete."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import pytest

from penstock.receiver.models import Status
from tests.receiver.conftest import Shared
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer, pixels, text


def send_frame(streamer: Streamer, place: int, **keys: Any) -> None:
    """The frame at this place of a foreign series."""
    array = pixels(place)
    head = {"htype": "image", "shape": array.shape, "type": "uint16", "compression": "none", **keys}
    streamer.send([text(**head), array.tobytes()])


def over(receiver: ReceiverProcess, path: Path) -> Status:
    """Wait for the end of the series of a file."""
    return receiver.wait(
        lambda status: (
            status.series is not None and status.series.filename == str(path) and not status.series.active
        )
    )


@pytest.mark.parametrize("indexed", [True, False], ids=["with an index", "without"])
def test_a_start_message_without_a_number_and_a_lost_tail(indexed: bool, shared: Shared) -> None:
    receiver, streamer = shared
    path = receiver.root / f"{indexed}.h5"
    streamer.send([text(htype="header", filename=str(path))])
    for place in range(5):
        send_frame(streamer, place, msg_number=41 + place, **({"frame": place} if indexed else {}))
    streamer.send([text(htype="series_end", msg_number=51)])
    status = over(receiver, path)
    assert status.series is not None and status.series.complete is False
    assert status.series.reason == (
        "5 of 10 frames: 5 missing; 5 messages were lost: msg_number 46 is the first that did not arrive"
    )
    with h5py.File(path) as file:
        said = file["entry/instrument/sim_1/series/index_source"].asstr()[()]
    assert said == ("unknown" if indexed else "arrival, uncertain")
    checked = subprocess.run(["penstock", "check", str(path)], capture_output=True, text=True, check=False)
    assert "5 missing" in checked.stdout and "None" not in checked.stdout


def test_frames_that_the_sender_has_lost_count_without_triggered(shared: Shared) -> None:
    receiver, streamer = shared
    path = receiver.root / "x.h5"
    streamer.send([text(htype="header", filename=str(path), msg_number=0)])
    for place in range(5):
        send_frame(streamer, place, frame=place, msg_number=1 + place)
    streamer.send([text(htype="series_end", msg_number=6, sent=5, lost={"overrun": 2, "disk": 1})])
    status = over(receiver, path)
    assert status.series is not None and status.series.complete is False
    assert status.series.reason == "5 of 8 frames: 3 missing"


@pytest.mark.parametrize("bits", [16, pytest.param(32, marks=pytest.mark.slow)])
def test_several_sockets_and_a_counter_that_wraps(
    bits: int, start_receiver: Callable[..., ReceiverProcess], streamer: Streamer
) -> None:
    receiver = start_receiver(source={"sockets": 2})
    receiver.connected()
    path, first = receiver.root / "x.h5", 2**bits - 6
    streamer.send([text(htype="header", filename=str(path), msg_number=first)])
    for place in range(10):
        send_frame(streamer, place, frame=place, msg_number=(first + 1 + place) % 2**bits)
    streamer.send([text(htype="series_end", msg_number=5)])
    status = over(receiver, path)
    assert status.series is not None and status.series.complete is False
    assert f"msg_number fell back from {2**bits - 1} to 0 in the series: a counter" in status.series.reason
    assert status.counts.stored == 5


@pytest.mark.parametrize("says", ["msg_number", pytest.param("sent", marks=pytest.mark.slow)])
def test_a_series_that_nobody_announced_is_killed_and_its_last_frames_are_lost(
    says: str, receiver: ReceiverProcess, streamer: Streamer
) -> None:
    path = receiver.root / "x.h5"

    def numbered(number: int) -> dict[str, int]:
        return {"msg_number": number} if says == "msg_number" else {}

    streamer.send([text(htype="header", filename=str(path), series="s", **numbered(0))])
    for place in range(100):
        send_frame(streamer, place, frame=place, series="s", **numbered(1 + place))
    receiver.flushed(100)
    os.kill(receiver.data_process(), signal.SIGKILL)
    receiver.wait(lambda status: status.series is not None and status.series.unconfirmed)
    receiver.connected()
    told = numbered(121) if says == "msg_number" else {"sent": 120}
    streamer.send([text(htype="series_end", series="s", **told)])
    status = receiver.ended("s")
    assert status.series is not None and status.series.complete is False
    why = "120 frames were sent, says the end message"
    assert status.series.reason == (
        "100 of 120 frames: 20 missing; 20 messages were lost"
        + (f": {why}" if says == "sent" else ", as the msg_number of the end message shows")
        + "; the receiver was killed and restarted in the series: no frame came after that"
    )
    assert (status.counts.missing, status.counts.lost_messages) == (20, 20)
