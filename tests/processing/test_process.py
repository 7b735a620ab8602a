"""`penstock process` and `penstock worker` as a user runs them, behind a real receiver and on its files."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.cli import process
from penstock.cli.main import main
from penstock.hosts.child import free_port
from penstock.processing.client import PipelineClient, PipelineRefused
from penstock.processing.config import pipeline_config
from penstock.processing.models import Status
from penstock.processing.results.read import Results
from penstock.processing.wire import keys
from tests.processing.service.pipeline_process import DEADLINE, child_of, gone, wait_until
from tests.receiver.h5_file import write_series
from tests.receiver.processes import ReceiverProcess
from tests.receiver.reading.hdf5.views import raw as write_raw
from tests.receiver.reading.hdf5.views import view as write_view
from tests.streams import Streamer

Start = Callable[..., ReceiverProcess]
SPOTS = """\
import numpy as np
from penstock.processing import Mean, Processor


class Spots(Processor):
    threshold: int = 1000

    def process(self, frame):
        bright = np.count_nonzero(frame.pixels > self.threshold)
        share = bright / frame.pixels.size
        return {
            "bright": bright, "share": share, "first": frame.pixels.flat[0], "mean": Mean(frame.pixels)
        }
"""
STARTS = """\
def start(self, series):
        raise ValueError("no such series")

    def process("""
ENTRY = {"name": "live", "endpoint": "tcp://127.0.0.1:0", "shared": True, "queue_mb": 2}


def pipeline_file(folder: Path, source: str = SPOTS, **keys: Any) -> Path:
    (folder / "spots.py").write_text(source)
    path = folder / "spots.yaml"
    entry = {"processor": "spots.py:Spots", "parameters": {"threshold": 2}, "http": "127.0.0.1:0", **keys}
    path.write_text(json.dumps(entry))
    return path


class Running:
    """A pipeline of `penstock process`, ready."""

    def __init__(self, folder: Path, receiver: ReceiverProcess, source: str = SPOTS, **keys: Any) -> None:
        file = pipeline_file(folder, source, receiver=receiver.client.url, **keys)
        self.log = folder / "process.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                ["penstock", "process", str(file), "--json"], stdout=subprocess.PIPE, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.log.read_text()
        self.ready = json.loads(line)
        self.client = PipelineClient(self.ready["http"], timeout=10.0)

    def wait(self, condition: Callable[[Status], bool]) -> Status:
        status = self.client.status()

        def holds() -> bool:
            nonlocal status
            status = self.client.status(seen=status.version, wait=0.5)
            return condition(status)

        if not condition(status):
            wait_until(holds, f"{status}\n{self.log.read_text()}")
        return status

    def over(self, series: str) -> Status:
        return self.wait(
            lambda status: (
                status.series is not None and status.series.id == series and not status.series.active
            )
        )


@contextmanager
def running(folder: Path, receiver: ReceiverProcess, source: str = SPOTS, **keys: Any) -> Iterator[Running]:
    made = Running(folder, receiver, source, **keys)
    try:
        # Of a laboratory's receiver there is only the client.
        wait_until(lambda: receiver.client.status().consumers[0].connected > 0, "the pipeline has the entry")
        yield made
    finally:
        made.process.send_signal(signal.SIGINT)
        assert made.process.wait(DEADLINE) == 0, made.log.read_text()
        assert made.process.stdout is not None
        made.process.stdout.close()


@pytest.fixture(scope="module")
def receiver_and_streamer(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[ReceiverProcess, Streamer]]:
    """As for all tests of live processing, but with a queue of 2 MB in /dev/shm."""
    streamer = Streamer()
    made = ReceiverProcess(tmp_path_factory.mktemp("receiver"), streamer.endpoint, forward=[ENTRY])
    made.connected()
    yield made, streamer
    made.close()
    streamer.close()


def test_a_class_runs_on_every_frame_and_its_results_are_asked_for_over_http(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(tmp_path, receiver) as made:
        made.wait(lambda status: [each.state for each in status.workers] == ["ready"] * 2)
        raw = receiver.root / "a.h5"
        status = made.over(sender.series_of(str(raw), 50))
        assert status.series is not None
        assert (status.series.counts.done, status.series.counts.frames) == (50, 50)
        assert status.series.result_file == str(receiver.root / "a.spots.h5")
        assert made.client.values("first").values == [24 * number for number in range(50)]
        assert made.client.latest("mean").n == 50
        assert made.client.latest("share").value == made.client.values("share", "49:").values[0]
        changed = made.client.change({"threshold": 5})
        assert changed.taken and len(changed.acknowledged) == 2

        assert main(["status", made.client.url]) == 0  # what it is need not be said
        said = capsys.readouterr().out
        assert f"{raw}, all done\n    50 frames: 50 done\n    results: {receiver.root}/a.spots.h5" in said
        assert "threshold = 5 (version 2, from frame" in said and "\n  2 workers\n" in said
        assert main(["status", receiver.client.url]) == 0
        assert "entry live is held by a pipeline: process " in capsys.readouterr().out

        assert main(["process", str(tmp_path / "spots.yaml")]) == 2
        said = capsys.readouterr().err
        assert re.search(r"live is held by process \d+ on \S+ of ", said)
        assert '    forward:\n      - name: live_2\n        endpoint: "tcp://127.0.0.1:0"\n' in said
        assert "        shared: true\n" in said
    receiver.wait(lambda status: status.consumers[0].holder is None)


@pytest.mark.slow  # those of the distributor kill workers, and those of the supervisor see them replaced
def test_a_killed_worker_is_replaced_and_no_frame_is_missing(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path
) -> None:
    with running(tmp_path, receiver) as made:
        before = made.wait(lambda status: [each.state for each in status.workers] == ["ready"] * 2)
        series = sender.start(str(receiver.root / "a.h5"), frames=40)
        for number in range(20):
            sender.frame(number)
        os.kill(before.workers[0].pid, signal.SIGKILL)
        for number in range(20, 40):
            sender.frame(number)
        sender.end()
        status = made.over(series)
        assert status.series is not None and status.series.counts.done == 40
        assert made.client.values("first").values == [24 * number for number in range(40)]
        pids = {each.pid for each in before.workers}
        made.wait(lambda status: len({each.pid for each in status.workers} - pids) == 1)


@pytest.mark.slow
def test_a_worker_that_hangs_is_killed_and_another_one_started(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path
) -> None:
    hangs = SPOTS.replace(
        "        bright", "        while frame.index == 2:\n            pass\n        bright"
    )
    with running(tmp_path, receiver, source=hangs, frame_seconds=0.5, workers=1, retry=False) as made:
        before = made.wait(lambda status: [each.state for each in status.workers] == ["ready"])
        # Few frames: the limit is that of a bunch, half a second for each of its frames.
        status = made.over(sender.series_of(str(receiver.root / "a.h5"), 4))
        assert status.series is not None
        counts = status.series.counts
        assert counts.lost >= 1 and counts.done + counts.lost == 4
        after = made.wait(lambda status: [each.state for each in status.workers] == ["ready"])
        assert after.deaths == 1 and after.workers[0].pid != before.workers[0].pid
        wait_until(lambda: gone(before.workers[0].pid), "the worker that hung is gone")


@pytest.mark.slow
def test_a_killed_distributor_goes_on_where_it_was_and_takes_the_rest_from_the_file(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path
) -> None:
    with running(tmp_path, receiver) as made:
        made.wait(lambda status: [each.state for each in status.workers] == ["ready"] * 2)
        series = sender.start(str(receiver.root / "a.h5"), frames=60)
        for number in range(20):
            sender.frame(number)
        made.wait(lambda status: status.series is not None and status.series.counts.done == 20)
        assert made.client.change({"threshold": 9}).version == 2
        old = child_of(made.process.pid, "processing.distributor")
        folder = Path(made.client.status().address.removeprefix("ipc://")).parent
        assert folder.is_dir()
        os.kill(old, signal.SIGKILL)
        for number in range(20, 60):
            sender.frame(number)
        sender.end()
        status = made.over(series)
        assert status.series is not None
        assert (status.series.counts.done, status.series.counts.frames) == (60, 60), status
        assert made.client.values("first").values == [24 * number for number in range(60)]
        assert (status.parameters.values, status.parameters.version) == ({"threshold": 9}, 2)
        made.wait(lambda status: [each.state for each in status.workers] == ["ready"] * 2)
        assert child_of(made.process.pid, "processing.distributor") != old
        assert not folder.exists(), "what it has left is removed"


@pytest.mark.slow  # the distributor's own tests kill a receiver, too
@pytest.mark.parametrize("same_port", [True, False], ids=["same port", "another port"])
def test_a_receiver_that_comes_back_is_taken_again(
    start_receiver: Start, streamer: Streamer, tmp_path: Path, same_port: bool
) -> None:
    receiver = start_receiver(forward=[ENTRY])
    receiver.connected()
    with running(tmp_path, receiver) as made:
        made.wait(lambda status: [each.state for each in status.workers] == ["ready"] * 2)
        address = receiver.client.url.removeprefix("http://")
        port = {"endpoint": receiver.client.status().consumers[0].endpoint} if same_port else {}
        receiver.close()
        status = made.wait(lambda status: bool(status.waits_for))
        assert "does not answer" in status.waits_for
        assert main(["status", "--pipeline", made.client.url]) == 0
        again = start_receiver(forward=[ENTRY | port], http=address)
        made.wait(lambda status: not status.waits_for)
        again.wait(lambda status: status.consumers[0].holder is not None)
        again.connected()
        status = made.over(streamer.series_of(str(again.root / "b.h5"), 10))
        assert status.series is not None and status.series.counts.done == 10


def test_workers_of_this_machine_need_no_key_beside_those_of_others_that_do(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path
) -> None:
    keys.make(tmp_path / "spots.key")
    with running(tmp_path, receiver, listen="tcp://127.0.0.1:0", key="spots.key", workers=1) as made:
        made.wait(lambda status: [each.state for each in status.workers] == ["ready"])


@pytest.mark.slow
def test_workers_on_other_machines_need_the_address_and_the_key_alone(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = tmp_path / "spots.key"
    assert main(["process", "--make-key", str(key)]) == 0
    assert key.stat().st_mode & 0o777 == 0o600
    assert main(["process", "--make-key", str(key)]) == 2
    assert f"{key} exists already: use it, or give another name" in capsys.readouterr().err
    with running(tmp_path, receiver, listen="tcp://127.0.0.1:0", key="spots.key", workers=0) as made:
        address = made.ready["listen"]
        said = f"workers on other machines: penstock worker {address} --key {key}"
        wait_until(lambda: said in made.log.read_text(), "the command for other machines is said")
        with (tmp_path / "worker.log").open("wb") as log:
            worker = subprocess.Popen(
                ["penstock", "worker", address, "--key", str(key), "--name", "far", "--threads", "2"],
                stderr=log, start_new_session=True,
            )  # fmt: skip
        status = made.wait(lambda status: [each.state for each in status.workers] == ["ready"])
        assert status.workers[0].name == "far"
        status = made.over(sender.series_of(str(receiver.root / "a.h5"), 10))
        assert status.series is not None and status.series.counts.done == 10
        once = subprocess.Popen(
            ["penstock", "worker", address, "--key", str(key), "--once"], start_new_session=True
        )
        made.wait(lambda status: [each.state for each in status.workers] == ["ready"] * 2)
    assert once.wait(DEADLINE) == 0
    log = tmp_path / "worker.log"
    ended = f"the pipeline at {address} has ended; waiting for the next one"
    wait_until(lambda: ended in log.read_text(), "the worker waits for the next one")
    with running(tmp_path, receiver, listen=address, key="spots.key", workers=0) as made:
        status = made.wait(lambda status: [each.state for each in status.workers] == ["ready"])
        assert status.workers[0].name == "far"
        status = made.over(sender.series_of(str(receiver.root / "b.h5"), 10))
        assert status.series is not None and status.series.counts.done == 10
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(DEADLINE) == 0
        made.wait(lambda status: not status.workers)


@pytest.mark.slow
def test_a_worker_finds_a_pipeline_whose_name_has_another_address(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path
) -> None:
    hosts, log = tmp_path / "hosts", tmp_path / "worker.log"
    hosts.write_text("127.0.0.2 pipeline.example\n")
    assert main(["process", "--make-key", str(tmp_path / "spots.key")]) == 0
    with running(tmp_path, receiver, listen="tcp://127.0.0.1:0", key="spots.key", workers=0) as made:
        port = made.ready["listen"].rpartition(":")[2]
        with socket.create_server(("127.0.0.2", int(port)), backlog=0) as silent, ExitStack() as stack:
            for _ in range(3):  # behind a full queue the kernel answers nobody, as a host that has vanished
                waits = stack.enter_context(socket.socket())
                waits.setblocking(False)
                waits.connect_ex(silent.getsockname())
            command = f"penstock worker tcp://pipeline.example:{port} --key {tmp_path}/spots.key"
            bind = f"mount --bind {hosts} /etc/hosts && exec {command}"
            worker = subprocess.Popen(
                ["unshare", "--mount", "--map-root-user", "sh", "-c", bind],
                stderr=stack.enter_context(log.open("wb")), start_new_session=True,
            )  # fmt: skip
            wait_until(lambda: b"there is no distributor at" in log.read_bytes() or gone(worker.pid), "waits")
            if gone(worker.pid):
                pytest.skip(f"no file can be hidden here: {log.read_text()}")
            assert made.client.status().workers == []
            hosts.write_text("127.0.0.1 pipeline.example\n")
            made.wait(lambda status: [each.state for each in status.workers] == ["ready"])
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(DEADLINE) == 0


@pytest.mark.slow
def test_a_pipeline_that_is_started_before_its_receiver_waits_for_it(
    start_receiver: Start, streamer: Streamer, tmp_path: Path
) -> None:
    http = f"127.0.0.1:{free_port()}"
    away: Any = SimpleNamespace(client=SimpleNamespace(url=f"http://{http}"))
    made = Running(tmp_path, away, workers=1)
    try:
        status = made.wait(lambda status: bool(status.waits_for))
        assert f"receiver at http://{http} does not answer" in status.waits_for
        assert f"receiver at http://{http} does not answer" in made.log.read_text()
        receiver = start_receiver(forward=[ENTRY], http=http)
        receiver.connected()
        made.wait(lambda status: not status.waits_for)
        receiver.wait(lambda status: status.consumers[0].holder is not None)
        status = made.over(streamer.series_of(str(receiver.root / "a.h5"), 10))
        assert status.series is not None and status.series.counts.done == 10
    finally:
        made.process.send_signal(signal.SIGTERM)
        assert made.process.wait(DEADLINE) == 0
        assert made.process.stdout is not None
        made.process.stdout.close()


def test_a_class_is_tried_on_a_file_first(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    raw = receiver.root / "a.h5"
    receiver.ended(sender.series_of(str(raw), 20))
    file = pipeline_file(tmp_path, workers=1)
    assert main(["process", str(file), str(raw), "--set", "threshold=100"]) == 0
    said = capfd.readouterr()
    results = receiver.root / "a.spots.h5"
    assert f"{raw}, all done\n    20 frames: 20 done\n" in said.out
    assert "threshold = 100" in said.out and f"results: {results}" in said.out
    assert "started again" not in said.err

    assert main(["process", str(file), str(raw)]) == 2
    assert f"{results} exists already: move it away, or give --overwrite" in capfd.readouterr().err
    assert main(["process", str(file), str(raw), "--overwrite", "--json"]) == 0
    ready, ended = map(json.loads, capfd.readouterr().out.splitlines())
    assert ready["pipeline"] == "spots" and ended["series"]["counts"]["done"] == 20

    (tmp_path / "spots.py").write_text(SPOTS.replace("share = ", "1 / (frame.index - 3)\n        share = "))
    assert main(["process", str(file), str(raw), "--overwrite"]) == 1
    assert "NOT all done" in (said := capfd.readouterr().out) and "19 done, 1 failed" in said
    assert "    frame 3 failed: ZeroDivisionError: division by zero (spots.py, line 10, in process)\n" in said

    assert main(["process", str(file), str(results), "--overwrite"]) == 2
    said = capfd.readouterr().err
    assert f"{results} is a result file, which has no frames: give the raw file, {raw}\n" in said


@pytest.mark.slow
def test_a_class_that_ends_its_worker_on_a_file_loses_that_frame_and_its_children_end_with_it(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    raw = receiver.root / "a.h5"
    receiver.ended(sender.series_of(str(raw), 10))
    children = tmp_path / "children.txt"
    source = SPOTS.replace(
        "        bright =",
        "        import os, subprocess\n"
        "        if frame.index in (2, 9):\n"
        f"            child = subprocess.Popen(['sleep', '1000'])\n"
        f"            open({str(children)!r}, 'a').write(f'{{child.pid}}\\n')\n"
        "        if frame.index == 2:\n"
        "            os._exit(0)\n"
        "        bright =",
    )
    file = pipeline_file(tmp_path, source, workers=1)
    assert main(["process", str(file), str(raw)]) == 1
    assert "9 done, 1 lost" in capfd.readouterr().out
    pids = [int(line) for line in children.read_text().split()]
    assert len(pids) == 4  # three attempts at frame 2, and frame 9
    for pid in pids:
        wait_until(lambda pid=pid: gone(pid), f"child {pid} is gone")  # type: ignore[misc]


@pytest.mark.slow
def test_of_a_pipeline_that_is_killed_nothing_is_left(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path
) -> None:
    child = tmp_path / "child.txt"
    source = SPOTS.replace(
        "        bright =",
        "        import subprocess\n"
        "        if frame.index == 0:\n"
        f"            open({str(child)!r}, 'w').write(str(subprocess.Popen(['sleep', '1000']).pid))\n"
        "        bright =",
    )
    file = pipeline_file(tmp_path, source, receiver=receiver.client.url, workers=1)
    process = subprocess.Popen(
        ["penstock", "process", str(file), "--json"], stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        assert process.stdout is not None
        client = PipelineClient(json.loads(process.stdout.readline())["http"], timeout=10.0)
        wait_until(
            lambda: [each.state for each in client.status().workers] == ["ready"], "its worker is there"
        )
        wait_until(lambda: receiver.client.status().consumers[0].connected > 0, "the pipeline has the entry")
        sender.series_of(str(receiver.root / "a.h5"), 3)
        wait_until(
            lambda: (found := client.status().series) is not None and found.counts.done == 3,
            "frames are done",
        )
        pids = [client.status().workers[0].pid, int(child.read_text())]
    finally:
        process.kill()
        process.communicate()
    for pid in pids:
        wait_until(lambda pid=pid: gone(pid), f"process {pid} is gone")  # type: ignore[misc]


@pytest.mark.slow
def test_what_a_class_has_left_for_the_end_of_its_worker_is_done(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path
) -> None:
    raw, said = receiver.root / "a.h5", tmp_path / "said.txt"
    receiver.ended(sender.series_of(str(raw), 3))
    source = SPOTS.replace(
        "def process(",
        "def start(self, series):\n        import atexit, pathlib\n"
        f"        atexit.register(pathlib.Path({str(said)!r}).write_text, 'ended')\n\n    def process(",
    )
    assert main(["process", str(pipeline_file(tmp_path, source, workers=1)), str(raw)]) == 0
    assert said.read_text() == "ended"


@pytest.mark.slow
def test_a_class_whose_start_ends_its_worker_is_given_up(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    raw = receiver.root / "a.h5"
    receiver.ended(sender.series_of(str(raw), 10))
    ends = SPOTS.replace(
        "def process(", "def start(self, series):\n        import os; os._exit(0)\n\n    def process("
    )
    assert main(["process", str(pipeline_file(tmp_path, ends, workers=2)), str(raw)]) == 2
    sentence = "3 workers in a row have died while they started the class, none has begun; the log says how"
    assert sentence in capfd.readouterr().out


def test_of_a_file_that_is_still_being_written_this_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for killed in (True, False):
        raw = tmp_path / f"{killed}.h5"
        write_series(raw, 3, killed=killed)
        args = argparse.Namespace(raw=raw, pipeline=tmp_path / "spots.yaml", json=False)
        process._check_files(args, pipeline_config.PipelineConfig(name="spots", steps=()))
        told = (
            f"{raw}: the file is still being written, or its receiver was killed; frames are processed that"
        )
        assert capsys.readouterr().out.startswith(told) == killed


def test_frames_that_failed_or_are_lost_are_told_at_the_end_ten_of_each(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    raw = receiver.root / "a.h5"
    receiver.ended(sender.series_of(str(raw), 30))
    source = SPOTS.replace(
        "        bright =",
        "        if frame.index == 2:\n            import os\n            os.abort()\n"
        "        if frame.index in (3, 4, 5):\n            raise ValueError('no')\n"
        "        if frame.index > 9:\n            raise ValueError(frame.index)\n"
        "        bright =",
    )
    file = pipeline_file(tmp_path, source)
    assert main(["process", str(file), str(raw)]) == 1
    said = capfd.readouterr().out
    assert re.search(r"\n    frame 2 is lost: worker \S+-[12] died with it\n", said), said
    assert "\n    frame 3 and 2 others failed: ValueError: no (spots.py, line " in said
    assert "\n    frame 18 failed: ValueError: 18 (" in said and "frame 19 failed" not in said
    assert f"\n    11 more frames failed: see entry/account of {receiver.root}/a.spots.h5\n" in said


def test_frames_that_a_file_of_another_program_lacks_are_absent_and_why_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write_raw(tmp_path / "raw_0.h5", (0, 1))
    write_view(tmp_path / "a.h5", 30, ((0, 2, "raw_0.h5"), (2, 20, "raw_1.h5"), (22, 8, "raw_2.h5")))
    assert main(["process", str(pipeline_file(tmp_path, workers=1)), str(tmp_path / "a.h5")]) == 0
    said = capfd.readouterr().out
    assert "\n    30 frames: 2 done, 28 absent\n" in said
    for frames, name in (("2 to 21", "raw_1.h5"), ("22 to 29", "raw_2.h5")):
        assert f"\n    frames {frames} are absent: {tmp_path}/{name} does not exist\n" in said


@pytest.mark.slow
def test_a_finish_that_raises_is_told_and_the_series_is_not_all_done(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    raw, results = receiver.root / "a.h5", receiver.root / "a.spots.h5"
    source = f"{SPOTS}\n    def finish(self, totals):\n        return {{'x': 1 / 0}}\n"
    sentence = "Spots.finish: ZeroDivisionError: division by zero (spots.py, line 16, in finish)"
    with running(tmp_path, receiver, source=source) as made:
        status = made.over(sender.series_of(str(raw), 20))
        assert status.series is not None and status.series.counts.done == 20
        assert status.series.whole_error == status.series.reason == sentence
        assert main(["status", "--pipeline", made.client.url]) == 1
        assert f"{raw}, NOT all done: {sentence}\n" in capfd.readouterr().out
    account = Results(results).account()
    assert (account["state"], account["reason"]) == ("incomplete", sentence)

    assert main(["process", str(tmp_path / "spots.yaml"), str(raw), "--overwrite"]) == 1
    assert f"{raw}, NOT all done: {sentence}\n    20 frames: 20 done\n" in capfd.readouterr().out


@pytest.mark.slow
def test_results_that_a_pipeline_writes_now_are_left_to_it_and_it_is_named(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = receiver.root / "a.h5"
    with running(tmp_path, receiver) as made:
        series = sender.start(str(raw), frames=20)
        sender.frame(0)
        made.wait(lambda status: status.series is not None and status.series.counts.done == 1)
        writer = child_of(made.process.pid, "processing.distributor")
        for more in ([], ["--overwrite"]):
            assert main(["process", str(tmp_path / "spots.yaml"), str(raw), *more]) == 2
            said = capsys.readouterr().err
            assert f"a.spots.h5 is being written: the pipeline spots of process {writer} on " in said
            assert "end that pipeline, or give this one another name (name: in " in said
        for number in range(1, 20):
            sender.frame(number)
        sender.end()
        status = made.over(series)
        assert status.series is not None and status.series.counts.done == 20


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        pytest.param(
            {"parameters": {"treshold": 3}},
            "there is no parameter treshold: Spots has threshold",
            marks=pytest.mark.slow,
        ),
        ({"source": f"import nothing_here\n{SPOTS}"}, "spots.py imports nothing_here, which is not here"),
    ],
    ids=["parameters", "class"],
)
def test_a_pipeline_that_no_worker_takes_ends_at_once_and_says_why_once(
    receiver: ReceiverProcess, tmp_path: Path, keys: dict[str, Any], words: str
) -> None:
    file = pipeline_file(tmp_path, receiver=receiver.client.url, **keys)
    run = subprocess.run(["penstock", "process", str(file)], capture_output=True, text=True, timeout=DEADLINE)
    assert run.returncode == 2
    why = f"no worker takes its class and parameters; mend the class or {file}, and start it again: {words}"
    assert f"penstock process: {why}" in run.stderr
    assert run.stderr.count(words) == 1
    receiver.wait(lambda status: status.consumers[0].holder is None)


@pytest.mark.slow
def test_where_workers_elsewhere_may_take_a_class_that_is_refused_here_it_waits_for_them(
    receiver: ReceiverProcess, tmp_path: Path
) -> None:
    words = "there is no parameter treshold: Spots has threshold"
    with running(tmp_path, receiver, listen="tcp://127.0.0.1:0", parameters={"treshold": 3}) as made:
        status = made.wait(lambda status: [each.state for each in status.workers] == ["refused"] * 2)
        assert (
            status.waits_for.startswith("waits for a worker that takes the code; ")
            and words in status.waits_for
        )
        with pytest.raises(PipelineRefused, match="mend the file or the class, and start the pipeline again"):
            made.client.change({"threshold": 3})
    assert made.log.read_text().count(words) == 1


def test_a_file_that_cannot_be_processed_is_told_with_the_reason_and_the_frames_it_has(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    raw = receiver.root / "a.h5"
    receiver.ended(sender.series_of(str(raw), 20))

    file = pipeline_file(tmp_path, results_root=str(tmp_path / "none"))
    assert main(["process", str(file), str(raw)]) == 2
    said = capfd.readouterr().out
    assert f"{tmp_path}/none is not there: create it, or set results_root" in said
    assert "20 dropped" in said, "they are in the file"


@pytest.mark.parametrize(
    ("source", "options", "words"),
    [
        (SPOTS, ["--set", "treshold=3"], "there is no parameter treshold: Spots has threshold"),
        pytest.param(
            f"import nothing_here\n{SPOTS}",
            [],
            "spots.py imports nothing_here, which is not here",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            SPOTS.replace("def process(", STARTS),
            [],
            "Spots.start: ValueError: no such series (spots.py, line 9",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["parameters", "package", "start"],
)
def test_a_try_on_a_file_that_is_refused_says_why_once_and_leaves_nothing_in_the_way_of_the_next_one(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path, capfd: pytest.CaptureFixture[str],
    source: str, options: list[str], words: str,
) -> None:  # fmt: skip
    raw = receiver.root / "a.h5"
    receiver.ended(sender.series_of(str(raw), 20))
    file = pipeline_file(tmp_path, source)

    assert main(["process", str(file), str(raw), *options]) == 2
    said = capfd.readouterr()
    assert (said.out + said.err).count(words) == 1, said
    assert "results: not stored" in said.out
    assert not list(receiver.root.glob("*a.spots*"))

    file = pipeline_file(tmp_path)
    assert main(["process", str(file), str(raw)]) == 0
    assert Results(receiver.root / "a.spots.h5").states().tolist() == [1] * 20


def test_a_class_that_is_refused_replaces_no_results(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    raw, results = receiver.root / "a.h5", receiver.root / "a.spots.h5"
    receiver.ended(sender.series_of(str(raw), 20))
    results.write_bytes(b"those of yesterday")
    file = pipeline_file(tmp_path, SPOTS.replace("def process(", STARTS))
    assert main(["process", str(file), str(raw), "--overwrite"]) == 2
    said = capfd.readouterr().out
    assert (
        f"no such series (spots.py, line 9, in start); 20 frames failed; {results} is as it was before"
        in said
    )
    assert results.read_bytes() == b"those of yesterday"
    assert [path.name for path in receiver.root.glob("*a.spots*")] == ["a.spots.h5"]


def test_what_every_frame_fails_with_is_said_once_and_the_result_file_has_it(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    raw = receiver.root / "a.h5"
    receiver.ended(sender.series_of(str(raw), 20))
    file = pipeline_file(tmp_path, SPOTS.replace("bright = np", "bright = 1 / 0 + np"), errors=5)
    assert main(["process", str(file), str(raw)]) == 2
    said = capfd.readouterr()
    words = "ZeroDivisionError: division by zero (spots.py, line 9, in process)"
    assert (said.out + said.err).count(words) == 1, said
    assert " failed: see above\n" in said.out
    assert words in Results(receiver.root / "a.spots.h5").account()["errors"].values()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "which pipeline? give its file, such as spots.yaml"),
        (["none.yaml"], "none.yaml: No such file or directory; give the file of a pipeline"),
        (["{file}", "none.h5"], "none.h5 is not a file; give one whose frames are to be processed"),
        (["{file}", "--receiver", "127.0.0.1:70000"], "ports are numbers from 1 to 65535"),
        (["{file}", "--http", "5100"], 'http is "5100"; give HOST:PORT, such as 127.0.0.1:5100'),
        (["{file}", "--set", "threshold"], "--set takes NAME=VALUE, such as threshold=800"),
        (["{file}", "--workers", "-1"], "-1 is below 0"),
        (["{file}", "--workers", "0"], "--workers 0, and no listen in the pipeline's file"),
    ],
)
def test_what_cannot_be_run_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    file = str(pipeline_file(tmp_path))
    assert main(["process", *(each.format(file=file) for each in arguments)]) == 2
    said = capsys.readouterr().err
    assert "penstock process: " in said and words in said


def test_a_receiver_without_an_entry_is_answered_with_the_lines_to_add(
    start_receiver: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = {"name": "plain", "endpoint": "tcp://127.0.0.1:0"}
    receiver = start_receiver(forward=[plain])
    file = str(pipeline_file(tmp_path, receiver=receiver.client.url))
    assert main(["process", file]) == 2
    said = capsys.readouterr().err
    assert f"the receiver at {receiver.client.url} has none. Add to its entry" in said
    assert "      - name: live\n" in said
    file = str(pipeline_file(tmp_path, receiver=receiver.client.url, consumer="mine"))
    assert main(["process", file]) == 2
    said = capsys.readouterr().err
    assert "has no forward entry mine; it has plain. Add to its entry" in said and "- name: mine\n" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["10.1.2.3:5101"], '"10.1.2.3:5101" is no address of a pipeline; give tcp://HOST:PORT'),
        (["tcp://127.0.0.1:1", "--key", "none.key"], "key file none.key cannot be read: No such file"),
        (["tcp://"], "is no address of a distributor"),
    ],
)
def test_a_worker_that_cannot_be_is_one_sentence(arguments: list[str], words: str) -> None:
    run = subprocess.run(["penstock", "worker", *arguments], capture_output=True, text=True, timeout=DEADLINE)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("penstock worker: ") and words in run.stderr
