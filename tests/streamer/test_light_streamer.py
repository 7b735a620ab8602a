"""The light streamer, as a process: of this Python and, among the slow tests, of Python 3.6."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
import zmq

from penstock.codecs import cbf
from penstock.streamer.remote.light_client import LightClient, LightRefused, LightUnavailable
from penstock_bench.light import send
from penstock_bench.runner import Bench
from tests.streamer.light_rig import LARGE, SCRIPT, SHAPE, Light, cbf_file, pixels
from tests.streamer.rig import DEADLINE

# -- A series --------------------------------------------------------------------------------------


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


# -- Requests --------------------------------------------------------------------------------------


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
    script.write_text(SCRIPT.read_text().replace('VERSION = "2.', 'VERSION = "3.'))
    with (
        Light(sys.executable, tmp_path / "ramdisk", script=script) as light,
        pytest.raises(LightUnavailable, match=r"has version 3\.\d; 2 is needed: copy"),
    ):
        light.client.describe()


def test_a_client_without_a_light_streamer_says_so() -> None:
    client = LightClient("tcp://127.0.0.1:9", timeout=0.1)
    with pytest.raises(LightUnavailable, match="the light streamer at .*:9 did not answer status"):
        client.status()
    client.close()


# -- The program -----------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("seconds", "rate"), [(2.0, 50.0), pytest.param(20.0, 250.0, marks=pytest.mark.slow)]
)
def test_files_of_2_5_megabytes_arrive_as_fast_as_they_are_written(
    python: str, seconds: float, rate: float
) -> None:
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("there is no RAM disk at /dev/shm")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        turn = send(Bench(folder=Path(folder)), (python,), rate, seconds, 2.5)
    assert (turn["files"], turn["files missing"]) == (seconds * rate, 0)


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
