"""The light streamer, as a process: of this Python and, among the slow tests, of Python 3.6."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import zmq

from penstock.bench.light import measure
from penstock.codecs import cbf
from penstock.stins.messages import Frame, SeriesEnd
from penstock.streamer import light_streamer
from penstock.streamer.light_client import LightClient, LightRefused, LightUnavailable
from tests.receiver.disks import small_file_system
from tests.streamer.light_rig import HEADER, IMAGE, SCRIPT, SHAPE, Light, cbf_file, pixels
from tests.streamer.rig import DEADLINE

LARGE = (400, 500)
"""Shape of frames whose blobs are sent without a copy."""


def until(condition: Callable[[], object]) -> None:
    """Call `condition` until it is true."""
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline, "not in time"


@pytest.fixture
def light(python: str, tmp_path: Path) -> Iterator[Light]:
    with Light(python, tmp_path / "ramdisk") as light:
        yield light


# A series ---------------------------------------------------------------------------------------------------


def test_every_file_of_a_series_is_sent_undecoded_and_removed(light: Light) -> None:
    prefix = light.begin(planned=3, metadata={"beamline": "X"}, frames_per_trigger=2)

    light.write_frames(prefix, 0, 1, 2)
    light.client.finish("s1", triggered=3)

    start, frames, end = light.receive_series()
    assert (start.header.series, start.header.compression, start.metadata) == ("s1", "cbf", {"beamline": "X"})
    assert [frame.image.frame for frame in frames] == [0, 1, 2]
    assert [frame.image.trigger for frame in frames] == [0, 0, 1]
    for number, frame in enumerate(frames):
        decoded = cbf.decode(frame.blobs[0], SHAPE[0] * SHAPE[1]).reshape(SHAPE)
        np.testing.assert_array_equal(decoded, pixels(number))
    assert (end.reason, end.triggered, end.sent, end.lost) == ("complete", 3, 3, None)
    assert [m.msg_number for m in (start.header, *(f.image for f in frames), end)] == [0, 1, 2, 3, 4]
    status = light.ended()
    assert (status.acquired, status.sent, status.end_sent) == (3, 3, True)
    assert light.files() == []


def test_large_frames_arrive_whole(light: Light) -> None:
    image = np.random.default_rng(1).poisson(1000, LARGE).astype("int32")
    content = cbf_file(image)
    prefix = light.begin(planned=1, image={"shape": LARGE, "type": "int32"})

    light.write(f"{prefix}_00000.cbf", content)
    light.client.finish("s1", triggered=1)

    _, (frame,), _ = light.receive_series()
    assert len(frame.blobs[0]) > 2**16
    np.testing.assert_array_equal(cbf.decode(frame.blobs[0], image.size), image.ravel())
    assert light.ended().largest_bytes == len(frame.blobs[0])
    assert light.files() == []


def test_numbers_in_names_may_begin_anywhere_and_come_in_any_order(light: Light) -> None:
    prefix = light.begin(planned=3, first=100)

    light.write_frames(prefix, 102, 100, 101)
    light.client.finish("s1", triggered=3)

    _, frames, end = light.receive_series()
    # The order of sending is that of inotify, or that of a listing, whichever sees them first.
    assert sorted(frame.image.frame for frame in frames) == [0, 1, 2]
    for frame in frames:
        decoded = cbf.decode(frame.blobs[0], SHAPE[0] * SHAPE[1]).reshape(SHAPE)
        np.testing.assert_array_equal(decoded, pixels(100 + frame.image.frame))
    assert end.lost is None


def test_the_only_file_of_a_series_may_have_no_number(light: Light) -> None:
    prefix = light.begin(planned=1)

    light.write(f"{prefix}.cbf", cbf_file(pixels(0)))
    light.client.finish("s1", triggered=1)

    _, (frame,), _ = light.receive_series()
    assert frame.image.frame == 0


def test_message_numbers_continue_over_series(light: Light) -> None:
    for series in ("s1", "s2"):
        prefix = light.begin(planned=1, series=series)
        light.write_frames(prefix, 0)
        light.client.finish(series, triggered=1)
        start, _, end = light.receive_series()
        light.ended()
    assert (start.header.msg_number, end.msg_number) == (3, 5)


def test_a_stopped_series_has_its_reason_and_sentence(light: Light) -> None:
    prefix = light.begin()

    light.write_frames(prefix, 0, 1)
    light.client.finish("s1", "stop", "Stop was called", triggered=2)

    _, frames, end = light.receive_series()
    assert len(frames) == 2
    assert (end.reason, end.message, end.sent) == ("stop", "Stop was called", 2)


# Files ------------------------------------------------------------------------------------------------------


def test_files_of_an_earlier_series_are_removed_and_not_sent(light: Light) -> None:
    light.write("penstock-old_00007.cbf", cbf_file(pixels(7)))
    light.write("somebody_00000.cbf", cbf_file(pixels(0)))

    prefix = light.begin(planned=1)
    light.write_frames(prefix, 0)
    light.client.finish("s1", triggered=1)

    _, frames, _ = light.receive_series()
    assert len(frames) == 1
    assert light.ended().left_over == 1
    assert light.files() == ["somebody_00000.cbf"]


def test_files_with_other_names_are_left_alone(light: Light) -> None:
    prefix = light.begin(planned=1)
    others = [f"{prefix}{rest}" for rest in ("_00000.tif", "_x.cbf", "-b_00000.cbf")] + ["00000.cbf"]

    for name in others:
        light.write(name, cbf_file(pixels(0)))
    light.write_frames(prefix, 0)
    light.client.finish("s1", triggered=1)

    _, frames, end = light.receive_series()
    assert (len(frames), end.lost) == (1, None)
    light.ended()
    assert light.files() == sorted(others)


def test_a_file_that_is_written_in_pieces_is_sent_once_it_is_complete(light: Light) -> None:
    content, prefix = cbf_file(pixels(0)), light.begin(planned=1)
    file = light.folder / f"{prefix}_00000.cbf"

    file.write_bytes(content[:300])
    light.until(lambda status: status.acquired == status.waiting == 1)
    with file.open("ab") as opened:
        opened.write(content[300:1200])
    assert light.client.status().sent == 0
    with file.open("ab") as opened:
        opened.write(content[1200:])
    light.client.finish("s1", triggered=1)

    _, (frame,), end = light.receive_series()
    np.testing.assert_array_equal(cbf.decode(frame.blobs[0], pixels(0).size), pixels(0).ravel())
    assert end.lost is None


def test_files_that_never_become_complete_are_lost_and_removed(light: Light) -> None:
    content, prefix = cbf_file(pixels(0)), light.begin(planned=6)
    broken = [b"", content[:100], content[:1500], b"no CBF" * 1000]

    for number, each in enumerate(broken):
        light.write(f"{prefix}_{number:05d}.cbf", each)
    (light.folder / f"{prefix}_00004.cbf").symlink_to("nowhere")  # like one that somebody has removed
    (light.folder / ".link").symlink_to("nowhere")
    (light.folder / ".link").rename(light.folder / f"{prefix}_00004.cbf")
    light.write_frames(prefix, 5)
    light.client.finish("s1", triggered=6)

    _, frames, end = light.receive_series()
    assert [frame.image.frame for frame in frames] == [5]
    assert (end.triggered, end.sent, end.lost) == (6, 1, {"incomplete": 5})
    light.ended()
    assert light.files() == []
    assert "is the RAM disk full?" in light.terminate()


def test_files_beyond_the_plan_are_counted_and_removed(light: Light) -> None:
    prefix = light.begin(planned=2, first=1)

    light.write_frames(prefix, 0, 1, 2, 3)
    light.client.finish("s1", triggered=4)

    _, frames, end = light.receive_series()
    assert [frame.image.frame for frame in frames] == [0, 1]
    assert (end.triggered, end.sent, end.lost) == (2, 2, None)
    assert light.ended().beyond_plan == 2
    assert light.files() == []


def test_frames_of_which_no_file_comes_are_lost(light: Light) -> None:
    prefix = light.begin(planned=4)

    light.write_frames(prefix, 0, 2)
    light.client.finish("s1", triggered=4)

    _, frames, end = light.receive_series()
    assert (len(frames), end.triggered, end.sent, end.lost) == (2, 4, 2, {"camera": 2})


def test_a_file_that_comes_shortly_after_finish_is_waited_for(light: Light) -> None:
    prefix = light.begin(planned=2)

    light.write_frames(prefix, 0)
    light.client.finish("s1", triggered=2)
    light.receive()
    light.receive()  # the first frame: the series is ending, and waits
    light.write_frames(prefix, 1)

    assert isinstance(light.receive(), Frame)
    end = light.receive()
    assert isinstance(end, SeriesEnd) and end.lost is None


def test_files_whose_events_were_lost_are_found(light: Light) -> None:
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if most > 100_000:
        pytest.skip(f"inotify keeps {most} events here: too many to make it lose some")
    prefix = light.begin(planned=3)
    names = [light.folder / "a", light.folder / "b"]
    names[0].touch()

    light.process.send_signal(signal.SIGSTOP)
    for number in range(most + 10):
        names[number % 2].rename(names[1 - number % 2])
    light.write_frames(prefix, 0, 1, 2)
    light.process.send_signal(signal.SIGCONT)
    light.until(lambda status: status.acquired == 3)
    light.client.finish("s1", triggered=3)

    _, frames, _ = light.receive_series()
    assert len(frames) == 3
    assert "inotify lost events" in light.terminate()


def test_a_full_ram_disk_costs_the_frames_that_do_not_fit(python: str, tmp_path: Path) -> None:
    content = cbf_file(np.random.default_rng(1).poisson(1000, LARGE).astype("int32"))
    with (
        small_file_system(tmp_path / "ramdisk", 1) as disk,
        Light(python, disk, receiver=False) as light,
    ):
        slow = light.stalled_receiver()
        prefix = light.begin(planned=20)
        written = 0
        for number in range(20):
            try:
                (disk / f"{prefix}_{number:05d}.cbf").write_bytes(content)
                written += 1
            except OSError:
                pass  # camserver leaves what did fit
        assert 0 < written < 20
        status = light.client.status()
        assert status.free_bytes < len(content) and status.total_bytes == 2**20

        light.client.finish("s1", triggered=20)
        _, frames, end = light.receive_series(slow)

        assert end.lost is not None
        assert (len(frames), end.sent + sum(end.lost.values())) == (end.sent, 20)
        assert written <= end.sent and set(end.lost) <= {"incomplete", "camera"}
        light.ended()
        assert light.files() == []


def test_a_folder_that_is_removed_ends_the_series_and_the_process(light: Light) -> None:
    light.begin()

    light.folder.rename(light.folder.with_name("elsewhere"))

    _, _, end = light.receive_series()
    assert end.reason == "fault" and end.message is not None
    assert end.message.endswith("ramdisk is gone")
    assert light.process.wait(DEADLINE) == 1


# Receivers --------------------------------------------------------------------------------------------------


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
        prefix = light.begin(planned=100)

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


def test_frames_that_no_receiver_takes_any_more_are_lost(light: Light) -> None:
    prefix = light.begin(planned=2)
    light.disconnect()

    light.write_frames(prefix, 0, 1)
    light.client.finish("s1", triggered=2)

    status = light.ended()
    assert (status.state, status.lost, status.end_sent) == ("fault", {"undelivered": 2}, False)
    assert "took none in 5 s" in status.message
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


# Ends -------------------------------------------------------------------------------------------------------


def test_abort_drops_what_waits(python: str, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(cbf_file(np.random.default_rng(1).poisson(1000, LARGE).astype("int32")))
    with Light(python, tmp_path / "ramdisk", "--hold-mb", "1", receiver=False) as light:
        stalled = light.stalled_receiver()
        prefix = light.begin(planned=200)
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


# Requests ---------------------------------------------------------------------------------------------------


def test_one_series_at_a_time(light: Light) -> None:
    prefix = light.begin()
    with pytest.raises(LightRefused, match="series s1 is acquiring; abort it first") as running:
        light.begin(series="s2")
    with pytest.raises(LightRefused, match="'s0' is not the last series, 's1'") as other:
        light.client.finish("s0")
    assert (running.value.kind, other.value.kind) == ("illegal_state", "other_series")

    light.client.finish("s1")
    assert light.ended().state == "idle"
    assert light.client.finish("s1").state == light.client.abort("s1").state == "idle"  # has ended already
    with pytest.raises(LightRefused, match="is the last one again") as again:
        light.begin(prefix=prefix)
    assert again.value.kind == "bad_prefix"


@pytest.mark.parametrize("prefix", ["", "x", "penstock/../x", "penstock x", "penstock_1", "penstock\n"])
def test_a_prefix_is_penstocks_own(light: Light, prefix: str) -> None:
    with pytest.raises(LightRefused) as caught:
        light.client.begin("s1", prefix, {"filename": ""}, {}, image={"shape": [1, 1], "type": "int32"})
    assert caught.value.kind == "bad_prefix"


BEGIN = {
    "op": "begin", "id": 1, "series": "s", "prefix": "penstock-x", "header": {"filename": ""},
    "image": {"shape": [1, 1], "type": "int32"},
}  # fmt: skip
NO_REQUESTS = [
    [b""], [b"\xff\xfe"], [b"null"], [b"[]"], [b"[1]"], [b"7"], [b"{}"], [b"[" * 100_000],
    [b'{"op": "status"}'], [b'{"op": "status", "id": -1}'], [b'{"op": "status", "id": true}'],
    [b'{"op": "status", "id": 1e3}'], [b'{"op": "dance", "id": 1}'], [b'{"op": [], "id": 1}'],
    [b'{"op": "status", "id": 1}', b"more"], [b'{"op": "status", "id": 1, "x": 2}'],
    [b'{"op": "finish", "id": 1}'],
    *([json.dumps({**BEGIN, **wrong}).encode()] for wrong in (
        {"series": 7}, {"series": None}, {"planned": -1}, {"planned": 1.5}, {"planned": 2**60},
        {"first": None}, {"header": []}, {"header": {}}, {"image": {}}, {"metadata": "x"},
        {"frames_per_trigger": True},
    )),
]  # fmt: skip


def test_nonsense_is_refused_by_name_and_the_next_request_is_answered(light: Light) -> None:
    with light.context.socket(zmq.DEALER) as dealer:
        dealer.connect(light.ready["control"])
        for parts in NO_REQUESTS:
            dealer.send_multipart(parts)
            assert dealer.poll(int(DEADLINE * 1000)), parts
            answer = json.loads(dealer.recv())
            assert answer["refused"]["kind"] == "bad_request", (parts, answer)
            assert answer["refused"]["message"]
    assert light.client.status().state == "idle"


def test_a_light_streamer_of_another_version_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "light_streamer.py"
    script.write_text(SCRIPT.read_text().replace('VERSION = "1.', 'VERSION = "2.'))
    with (
        Light(sys.executable, tmp_path / "ramdisk", script=script) as light,
        pytest.raises(LightUnavailable, match=r"has version 2\.\d; 1 is needed: copy"),
    ):
        light.client.describe()


def test_a_client_without_a_light_streamer_says_so() -> None:
    client = LightClient("tcp://127.0.0.1:9", timeout=0.1)
    with pytest.raises(LightUnavailable, match="the light streamer at .*:9 did not answer status"):
        client.status()
    client.close()


# The program ------------------------------------------------------------------------------------------------


def test_what_cannot_be_bound_or_made_is_named(light: Light, python: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for options, why in (
        (["--folder", str(tmp_path / "x"), "--data", light.ready["data"]], "Address already in use"),
        (["--folder", str(tmp_path / "x"), "--data", "tcp://127.0.0.1:0", "--control", "tcp://192.0.2.1:1"],
         "tcp://192.0.2.1:1: Cannot assign requested address"),
        (["--folder", str(tmp_path / "file"), "--data", "tcp://127.0.0.1:0"], "file: File exists"),
    ):  # fmt: skip
        ended = subprocess.run(
            [python, str(SCRIPT), *options], capture_output=True, text=True, timeout=DEADLINE, check=False
        )
        assert (ended.returncode, ended.stdout) == (1, ""), ended.stderr
        assert why in ended.stderr


def test_its_help_has_examples(python: str) -> None:
    said = subprocess.run([python, str(SCRIPT), "--help"], capture_output=True, text=True, check=True).stdout
    assert "python3 light_streamer.py --folder /dev/shm/penstock\n" in said


def test_it_runs_as_a_module_of_penstock(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "penstock.streamer.light_streamer", "--folder", str(tmp_path)]
    with subprocess.Popen(
        [*command, "--data", "tcp://127.0.0.1:0", "--control", "tcp://127.0.0.1:0"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["pid"] == process.pid
        process.terminate()
    assert process.returncode == 0


def test_fifty_files_per_second_arrive_for_two_seconds(python: str) -> None:
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("there is no RAM disk at /dev/shm")
    result = measure((python,), rate=50, seconds=2, megabytes=2.5)
    assert (result.received, result.sent, result.lost) == (100, 100, {})


@pytest.mark.slow
def test_250_files_of_2_5_megabytes_per_second_arrive_for_twenty_seconds(python: str) -> None:
    result = measure((python,))
    assert (result.received, result.lost) == (5000, {})


def test_the_file_is_written_for_python_3_6() -> None:
    ended = subprocess.run(
        ["vermin", "-t=3.6-", "--violations", str(SCRIPT)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_it_imports_nothing_but_the_standard_library_and_pyzmq() -> None:
    tree = ast.parse(SCRIPT.read_text())
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names) == {"zmq"}
