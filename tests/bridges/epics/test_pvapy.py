"""PvaPy's programs, unmodified, behind a bridge: every frame once, alone and shared out."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock.hosts.child import free_port
from tests.bridges.epics.bridge_process import DEADLINE, BridgeProcess, environment
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer, pixels
from tests.third_party import program_of

pytestmark = pytest.mark.slow
FRAMES = 600
SHAPE = (64, 80)
SUMS = """
import os

from pvapy.hpc.userDataProcessor import UserDataProcessor
from pvapy.utility.adImageUtility import AdImageUtility


class Sums(UserDataProcessor):
    def process(self, pvObject):
        number, image, *_ = AdImageUtility.reshapeNtNdArray(pvObject)
        os.write(1, f"SUM {number} {int(image.sum())}\\n".encode())  # at once: other threads print, too
        self.updateOutputChannel(pvObject)
        return pvObject
"""


def packages(folder: Path) -> dict[str, str]:
    """Variables with which Penstock's Python finds the judge's PvaPy, and nothing else of it."""
    (judge,) = (program_of("processing", "python").parents[1] / "lib").glob("python*/site-packages")
    folder.mkdir()
    for name in ("pvaccess", "pvapy"):
        (folder / name).symlink_to(judge / name)
    return {"PYTHONPATH": str(folder)}


class Program:
    """One of PvaPy's programs.

    Args:
        udp: port of the searches.
        name: of the program.
        arguments: of it.
    """

    def __init__(self, udp: int, name: str, *arguments: str) -> None:
        command = [str(program_of("processing", name)), *arguments]
        self.lines: list[str] = []
        self._came = threading.Condition()
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.PIPE, text=True,
            env={**os.environ, **environment(udp), "PYTHONUNBUFFERED": "1"}, start_new_session=True,
        )  # fmt: skip
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._came:
                self.lines.append(line.rstrip())
                self._came.notify_all()

    def wait(self, condition: Callable[[list[str]], bool]) -> None:
        """Wait until a condition holds for the lines that it has printed."""
        with self._came:
            assert self._came.wait_for(lambda: condition(self.lines), DEADLINE), "\n".join(self.lines)

    def sums(self) -> list[tuple[int, int]]:
        """Numbers and sums of the frames that its processor has seen."""
        words = [line.split() for line in list(self.lines) if line.startswith("SUM ")]
        return [(int(number), int(value)) for _, number, value in words]

    def close(self) -> None:
        """End it."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(DEADLINE)
        self._thread.join(DEADLINE)
        assert self.process.stdout is not None and self.process.stdin is not None
        self.process.stdout.close()
        self.process.stdin.close()


def until(programs: list[Program], frames: int) -> list[tuple[int, int]]:
    """What all processors have seen, once there is as much."""
    due = threading.Event()
    found: list[tuple[int, int]] = []
    for _ in range(int(DEADLINE / 0.1)):
        found = [each for program in programs for each in program.sums()]
        if len(found) >= frames:
            break
        due.wait(0.1)
    return sorted(found)


@contextmanager
def behind(folder: Path, udp: int, **keys: Any) -> Iterator[tuple[ReceiverProcess, Streamer, BridgeProcess]]:
    """A receiver with its streamer, and a bridge."""
    streamer = Streamer()
    entry = {"name": "epics", "endpoint": "tcp://127.0.0.1:0", "queue_mb": 200}
    receiver = ReceiverProcess(folder, streamer.endpoint, forward=[entry])
    receiver.connected()
    variables = packages(folder / "packages") if keys.get("server") == "pvapy" else {}
    bridge = BridgeProcess(folder, udp, variables, receiver=receiver.client.url, consumer="epics", **keys)
    receiver.wait(lambda status: status.consumers[0].connected > 0)
    try:
        yield receiver, streamer, bridge
    finally:
        bridge.close()
        receiver.close()
        streamer.close()


def send(
    receiver: ReceiverProcess, streamer: Streamer, bridge: BridgeProcess, frames: int
) -> list[tuple[int, int]]:
    """A series; returns the number and sum of each of its frames."""
    series = streamer.start("", frames=frames)
    for number in range(frames):
        streamer.frame(number, pixels(number, SHAPE))
    streamer.end(reason="complete", triggered=frames, sent=frames)
    receiver.ended(series)
    bridge.wait(lambda status: status.series == series and not status.active)
    return [(number + 1, int(pixels(number, SHAPE).sum())) for number in range(frames)]


def connected(programs: list[Program]) -> None:
    """Wait until each has got the first update, which it skips."""
    for program in programs:
        program.wait(
            lambda lines: any(re.search(r"'receiverStats'.*'nReceived': [1-9]", line) for line in lines)
        )


def of_sums(folder: Path) -> list[str]:
    """Arguments that give a program the processor, and queues in which nothing is lost."""
    file = folder / "sums.py"
    file.write_text(SUMS)
    return ["-pf", str(file), "-pc", "Sums", "-sqs", "1000", "-rqs", "1000", "-dc", "-rp", "1"]


@pytest.mark.parametrize("server", ["p4p", "pvapy"])
def test_a_consumer_of_pvapy_gets_every_frame_once_series_after_series(server: str, tmp_path: Path) -> None:
    udp = free_port()
    with behind(tmp_path, udp, server=server) as (receiver, streamer, bridge), ExitStack() as programs:
        consumer = Program(udp, "pvapy-hpc-consumer", "-ic", "T:IMAGE", *of_sums(tmp_path))
        programs.callback(consumer.close)
        connected([consumer])
        expected = send(receiver, streamer, bridge, FRAMES)
        assert until([consumer], FRAMES) == expected, "\n".join(consumer.lines[-40:])
        expected += send(receiver, streamer, bridge, 50)
        assert until([consumer], FRAMES + 50) == sorted(expected)


def test_two_consumers_share_the_frames_out_and_the_collector_has_all_in_order(tmp_path: Path) -> None:
    udp = free_port()
    with behind(tmp_path, udp, server="pvapy") as (receiver, streamer, bridge), ExitStack() as programs:
        consumers = [
            Program(
                udp, "pvapy-hpc-consumer", "-id", str(number), "-ic", "T:IMAGE", "-oc", "out:*",
                "-du", "1", *of_sums(tmp_path),
            )
            for number in (1, 2)
        ]  # fmt: skip
        for each in consumers:
            programs.callback(each.close)
        connected(consumers)
        collector = Program(
            udp, "pvapy-hpc-collector", "-pid", "1,2", "-ic", "out:*", "-ccs", "200", *of_sums(tmp_path)
        )
        programs.callback(collector.close)
        connected([collector])
        expected = send(receiver, streamer, bridge, FRAMES)
        assert until(consumers, FRAMES) == expected
        assert [len(each.sums()) for each in consumers] == [FRAMES // 2] * 2
        until([collector], FRAMES)
        assert collector.sums() == expected


def test_the_mirror_server_shares_out_and_a_second_stage_has_all(tmp_path: Path) -> None:
    udp = free_port()
    with behind(tmp_path, udp) as (receiver, streamer, bridge), ExitStack() as programs:
        mirror = Program(udp, "pvapy-mirror-server", "-cm", "(MIRROR:IMAGE,T:IMAGE,pva,1000)")
        programs.callback(mirror.close)
        first = [
            Program(
                udp, "pvapy-hpc-consumer", "-id", str(number), "-ic", "MIRROR:IMAGE", "-oc", "out:*",
                "-du", "1", *of_sums(tmp_path),
            )
            for number in (1, 2)
        ]  # fmt: skip
        for each in first:
            programs.callback(each.close)
        connected(first)
        second = [
            Program(
                udp, "pvapy-hpc-consumer", "-id", str(number + 2), "-ic", f"out:{number}", *of_sums(tmp_path)
            )
            for number in (1, 2)
        ]
        for each in second:
            programs.callback(each.close)
        connected(second)
        expected = send(receiver, streamer, bridge, FRAMES)
        assert until(first, FRAMES) == expected
        assert until(second, FRAMES) == expected
