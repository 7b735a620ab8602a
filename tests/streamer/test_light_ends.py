"""Receivers of a light streamer that are gone or slow, and how its series end."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zmq

from penstock.stins.messages import Frame, SeriesEnd
from penstock.streamer import light_streamer
from penstock.streamer.remote.light_client import LightRefused
from tests.streamer.light_rig import HEADER, IMAGE, LARGE, LARGE_IMAGE, Light, cbf_file, pixels
from tests.streamer.rig import DEADLINE


def until(condition: Callable[[], object]) -> None:
    """Call `condition` until it is true."""
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline, "not in time"


# -- Receivers -------------------------------------------------------------------------------------


def test_without_a_receiver_no_series_begins(python: str, tmp_path: Path) -> None:
    with (
        Light(python, tmp_path, receiver=False) as light,
        pytest.raises(LightRefused, match="no receiver is connected to tcp://127.0.0.1") as caught,
    ):
        light.begin()
    assert caught.value.kind == "no_receiver"


def test_files_wait_for_a_receiver_that_is_gone_and_are_sent_when_it_is_back(light: Light) -> None:
    prefix = light.begin(planned=4)
    light.write_frames(prefix, 0)
    light.receive()
    light.receive()

    light.disconnect()
    light.write_frames(prefix, 1, 2, 3)
    status = light.until(lambda status: status.waiting == 3)
    assert "3 frames in" in status.message and "for no receiver at tcp://" in status.message
    assert status.waiting_bytes == 3 * len(cbf_file(pixels(0)))
    assert len(light.files()) == 3
    light.connect()
    light.client.finish("s1", triggered=4)

    frames = [light.receive() for _ in range(3)]
    assert [frame.image.frame for frame in frames if isinstance(frame, Frame)] == [1, 2, 3]
    end = light.receive()
    assert isinstance(end, SeriesEnd) and (end.sent, end.lost) == (4, None)


def test_a_slow_receiver_lets_files_wait_and_zeromq_holds_no_more_than_it_may(
    python: str, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.write_bytes(cbf_file(np.random.default_rng(1).poisson(1000, LARGE).astype("int32")))
    with Light(python, tmp_path / "ramdisk", "--hold-mb", "1", receiver=False) as light:
        slow = light.stalled_receiver()
        prefix = light.begin(planned=100, image=LARGE_IMAGE)

        light.link_frames(prefix, source, *range(100))
        status = light.until(lambda status: status.acquired == 100 and status.waiting > 0)

        assert status.held_bytes < 1_000_000 + status.largest_bytes
        assert f"for receiver {status.peer_addresses[0]}" in status.message
        light.client.finish("s1", triggered=100)
        _, frames, end = light.receive_series(slow)
        assert [frame.image.frame for frame in frames] == list(range(100))
        assert (end.sent, end.lost) == (100, None)
        light.ended()
        assert light.files() == []


@pytest.mark.slow
@pytest.mark.parametrize(("away", "seconds"), [(2, 5), (7, 7)])
def test_frames_that_no_receiver_takes_any_more_are_lost(light: Light, away: int, seconds: int) -> None:
    prefix = light.begin(planned=2, receiver_away=away)
    light.disconnect()

    light.write_frames(prefix, 0, 1)
    light.client.finish("s1", triggered=2)

    status = light.ended()
    assert (status.state, status.lost, status.end_sent) == ("fault", {"undelivered": 2}, False)
    assert f"took none in {seconds} s" in status.message
    assert light.files() == []
    light.client.reset()
    light.connect()
    light.begin(series="s2")


def test_who_does_not_speak_zeromq_is_no_receiver(light: Light) -> None:
    host, port = light.ready["data"].removeprefix("tcp://").split(":")
    with socket.create_connection((host, int(port))) as browser:
        browser.sendall(b"GET / HTTP/1.1\r\n\r\n")
        with contextlib.suppress(ConnectionResetError):
            while browser.recv(1000):  # the greeting, until it is closed
                pass
        prefix = light.begin(planned=4)
        light.write_frames(prefix, 0, 1, 2, 3)
        status = light.client.finish("s1", triggered=4)
    assert status.peers == 1
    _, frames, _ = light.receive_series()
    assert len(frames) == 4


# -- Ends ------------------------------------------------------------------------------------------


def test_abort_drops_what_waits(python: str, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(cbf_file(np.random.default_rng(1).poisson(1000, LARGE).astype("int32")))
    with Light(python, tmp_path / "ramdisk", "--hold-mb", "1", receiver=False) as light:
        stalled = light.stalled_receiver()
        prefix = light.begin(planned=200, image=LARGE_IMAGE)
        light.link_frames(prefix, source, *range(100))
        light.until(lambda status: status.acquired == 100 and status.waiting > 0)

        light.client.abort("s1", "Abort was called")

        status = light.until(lambda status: status.state == "idle")
        assert status.lost == {"abort": 100 - status.sent} and status.end_sent
        _, frames, end = light.receive_series(stalled)
        assert (end.reason, end.message, end.lost) == ("abort", "Abort was called", status.lost)
        assert len(frames) == end.sent == status.sent
        light.ended()
        assert light.files() == []


def test_a_series_may_be_cancelled_before_its_first_file(light: Light) -> None:
    light.begin()
    light.client.cancel("s1", "changed my mind")
    _, frames, end = light.receive_series()
    assert (frames, end.reason, end.message, end.triggered) == ([], "abort", "changed my mind", 0)
    light.ended()

    prefix = light.begin(series="s2")
    light.write_frames(prefix, 0)
    light.until(lambda status: status.acquired == 1)
    with pytest.raises(LightRefused, match="has frames already"):
        light.client.cancel("s2")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, "shutdown"])
def test_the_end_of_the_process_ends_the_series_as_a_fault(light: Light, how: signal.Signals | str) -> None:
    prefix = light.begin()
    light.write_frames(prefix, 0)
    light.until(lambda status: status.sent == 1)

    if isinstance(how, signal.Signals):
        light.process.send_signal(how)
    else:
        light.client.shutdown()

    _, frames, end = light.receive_series()
    assert (len(frames), end.reason, end.message) == (1, "fault", "the light streamer was told to end")
    assert light.process.wait(DEADLINE) == 0


def test_a_killed_one_leaves_files_that_the_next_one_removes(python: str, tmp_path: Path) -> None:
    with Light(python, tmp_path / "ramdisk") as light:
        prefix = light.begin(planned=3)
        light.disconnect()
        light.write_frames(prefix, 0, 1)
        light.until(lambda status: status.waiting == 2)
        light.process.kill()
        light.process.wait(DEADLINE)

    with Light(python, tmp_path / "ramdisk") as light:
        assert light.client.status().state == "idle"
        light.begin(prefix=prefix)
        assert light.client.status().left_over == 2
        assert light.files() == []


def test_reset_makes_room_by_removing_files_of_earlier_series(light: Light) -> None:
    light.write_frames("penstock-killed", 0, 1)
    (light.folder / "of-others_00000.cbf").touch()

    light.client.reset()

    light.until(lambda status: light.files() == ["of-others_00000.cbf"])


def test_an_aborted_series_ends_once_its_files_are_removed_and_requests_do_not_wait_for_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with contextlib.ExitStack() as stack:
        context = zmq.Context()
        stack.callback(context.destroy, 0)
        pull = context.socket(zmq.PULL)
        folder = light_streamer.Folder(str(tmp_path))
        push = light_streamer.Push(context, "tcp://127.0.0.1:0")
        streamer = light_streamer.Streamer(folder, push, hold_bytes=0)  # every file waits
        pull.connect(push.endpoint)
        until(lambda: push.follow() or push.peers)
        streamer.begin(
            {"series": "s1", "prefix": "penstock-1", "header": HEADER, "image": IMAGE, "metadata": {}}
        )
        for number in range(3):
            (tmp_path / f"penstock-1_{number:05d}.cbf").write_bytes(cbf_file(pixels(number)))
        until(lambda: streamer.step() or streamer.status()["waiting"] == 3)

        monkeypatch.setattr(light_streamer, "REMOVE_SECONDS", -1.0)  # no time for any
        streamer.abort({"series": "s1", "message": "Abort was called"})
        streamer.step()
        assert (streamer.state, len(list(tmp_path.iterdir()))) == ("ending", 3)

        monkeypatch.setattr(light_streamer, "REMOVE_SECONDS", 60.0)
        until(lambda: streamer.step() or streamer.state == "idle")
        assert (list(tmp_path.iterdir()), streamer.series.lost) == ([], {"abort": 3})
        os.close(folder.descriptor)
