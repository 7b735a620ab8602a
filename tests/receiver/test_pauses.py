"""A process that stands still for a while: what has arrived meanwhile is neither lost nor mixed up."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import h5py
import numpy as np
import pytest

from penstock.receiver.process.supervisor.supervisor import SILENT_AFTER
from tests.receiver.processes import DEADLINE, ReceiverProcess
from tests.receiver.test_deaths import wait_until
from tests.streams import Streamer, pixels

FRAMES = 20
DETECTOR = "entry/instrument/sim_1"


@contextmanager
def paused(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def stored(path: Path, origin: int) -> list[int]:
    """Indices of the frames of a file; each has the pixels of `origin` and its index."""
    with h5py.File(path) as file:
        data = file[f"{DETECTOR}/data"][()]
        indices = np.flatnonzero(file[f"{DETECTOR}/frame_status"][()] == 1).tolist()
        for index in indices:
            np.testing.assert_array_equal(data[index], pixels(origin + index))
        return indices


def is_whole(path: Path) -> bool:
    """Whether a file is closed, and complete."""
    try:
        with h5py.File(path) as file:
            return file[f"{DETECTOR}/series/state"].asstr()[()] == "complete"
    except (OSError, KeyError):
        return False


def restarted_while_paused(
    receiver: ReceiverProcess, streamer: Streamer, files: tuple[str, str], name: str | None
) -> Streamer:
    """A streamer dies half-way, and its successor takes a whole series, of which the data process finds out
    when it goes on."""
    with paused(receiver.data_process()):
        streamer.start(files[0], series=name, frames=FRAMES)
        for number in range(FRAMES // 2):
            streamer.frame(number)
        streamer.close(linger=DEADLINE)
        streamer = Streamer(streamer.endpoint)
    streamer.start(files[1], series=name, frames=FRAMES)
    for number in range(FRAMES):
        streamer.frame(number, pixels(number + 100))
    streamer.end(reason="complete", triggered=FRAMES, sent=FRAMES)
    streamer.close(linger=DEADLINE)
    return streamer


@pytest.mark.parametrize(
    ("name", "sockets"),
    [
        pytest.param("1", 1, id="named-1"),
        pytest.param("1", 2, id="named-2", marks=pytest.mark.slow),
        pytest.param(None, 1, id="unnamed-1", marks=pytest.mark.slow),
        pytest.param(None, 2, id="unnamed-2", marks=pytest.mark.slow),
    ],
)
def test_no_frame_of_a_streamer_that_died_gets_into_the_file_of_its_successor(
    name: str | None, sockets: int, tmp_path: Path
) -> None:
    streamer = Streamer()
    receiver = ReceiverProcess(tmp_path, streamer.endpoint, source={"sockets": sockets})
    first, second = receiver.root / "a.h5", receiver.root / "b.h5"
    try:
        receiver.wait(lambda status: status.connections[0].connections == sockets)
        streamer = restarted_while_paused(receiver, streamer, (str(first), str(second)), name)
        receiver.wait(lambda status: status.series is not None and status.series.complete)
    finally:
        receiver.close()
    assert stored(first, 0) == list(range(FRAMES // 2))
    assert stored(second, 100) == list(range(FRAMES))


@pytest.mark.slow
@pytest.mark.parametrize("sockets", [1, 2])
def test_a_successor_that_is_set_up_alike_in_every_word_begins_a_new_series(
    sockets: int, tmp_path: Path
) -> None:
    streamer = Streamer()
    receiver = ReceiverProcess(tmp_path, streamer.endpoint, source={"sockets": sockets})
    try:
        receiver.wait(lambda status: status.connections[0].connections == sockets)
        streamer = restarted_while_paused(receiver, streamer, ("", ""), "1")
        status = receiver.wait(lambda status: status.series is not None and status.series.complete)
        assert (status.counts.delivered, status.counts.duplicate, status.drained) == (FRAMES, 0, 0)
    finally:
        receiver.close()
    assert f"{FRAMES // 2} of {FRAMES} frames: {FRAMES // 2} missing" in receiver.log.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("both", [False, True], ids=["HTTP", "both"])
def test_who_stood_still_himself_does_not_say_that_the_data_process_hangs(both: bool, tmp_path: Path) -> None:
    receiver = ReceiverProcess(tmp_path, "tcp://127.0.0.1:1")
    states: list[str] = []
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            states.append(receiver.client.status().state)

    asker = threading.Thread(target=ask)
    pids = [receiver.process.pid, *([receiver.data_process()] if both else [])]
    try:
        asker.start()
        with ExitStack() as stack:
            for pid in pids:
                stack.enter_context(paused(pid))
            over.wait(SILENT_AFTER + 0.5)  # for longer than a data process may be silent
        asked = len(states)
        due = time.monotonic() + DEADLINE
        while len(states) < asked + 100 and asker.is_alive():
            assert time.monotonic() < due
    finally:
        over.set()
        asker.join(DEADLINE)
        receiver.close()
    assert set(states) == {"idle"}


@pytest.mark.slow
def test_a_series_that_is_seen_to_have_ended_has_all_before_it_in_the_past(tmp_path: Path) -> None:
    streamer = Streamer()
    receiver = ReceiverProcess(tmp_path, streamer.endpoint)
    names: list[str] = []
    try:
        receiver.connected()
        with paused(receiver.process.pid):  # so that more end than are told at once
            for number in range(200):
                names.append(streamer.series_of(str(receiver.root / f"{number}.h5"), 1, shape=(4, 6)))
            wait_until(lambda: is_whole(receiver.root / "199.h5"))
        seen = ""
        while seen != names[-1]:
            series = receiver.client.status().series
            if series is None:
                continue
            seen = series.id
            past = [each.series.id for each in reversed(receiver.client.history(1000))]
            ended = names[: names.index(seen) + (not series.active)]
            assert past[: len(ended)] == ended, f"of {len(ended)} that have ended, {seen} is one"
    finally:
        receiver.close()
        streamer.close()
