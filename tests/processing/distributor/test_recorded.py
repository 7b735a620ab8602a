"""Recorded frames: workers of this machine read them in their file, others are sent them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.codecs import bslz4
from penstock.processing.wire import keys
from penstock.stins.messages import Frame
from tests.processing.distributor.pipelines import Pipeline, column, kill, pipeline, results
from tests.receiver.files.stores.written import Written
from tests.receiver.sample_series import start
from tests.streams import image

SHAPE = (200, 500)
NBYTES = 100_000
"""Of a frame, of bytes."""
LOOKS = """
class Mine(Processor):
    ordered = True
    count = 0
    def process(self, frame):
        self.count += 1
        return {"pixels": np.array([frame.pixels.flat[0], frame.pixels.flat[-1]]), "order": self.count}
"""
LISTEN = "tcp://127.0.0.1:*"


def noise(number: int) -> np.ndarray[Any, Any]:
    """An image that cannot be packed; its first pixel is its number, its last one is a hundred more."""
    array = np.frombuffer(np.random.default_rng(number).bytes(NBYTES), np.uint8).reshape(SHAPE).copy()
    array[0, 0], array[-1, -1] = number, number + 100
    return array


def write(path: Path, frames: int = 40, packed: bool = False, first: int = 0, **writing: Any) -> None:
    """A series of a receiver, of the frames from the first number on."""
    written = Written(path, start(frames=frames), **writing)
    for index in range(frames):
        array = noise(first + index)
        if packed:
            written.add(Frame(image(index, array, series="a", compression="bslz4"), [bslz4.compress(array)]))
        else:
            written.add(Frame(image(index, array, series="a"), [array.tobytes()]))
    written.close()


@contextmanager
def begun(path: Path, **keys: Any) -> Iterator[Pipeline]:
    """A pipeline that has opened a file, without workers."""
    with pipeline(LOOKS, file=str(path), **keys) as made:
        made.wait(lambda status: status.series is not None and status.series.result_file is not None)
        yield made


def bytes_read(pid: int) -> int:
    """Bytes that a process has read from files and sockets; see proc_pid_io(5)."""
    lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    return next(int(line.removeprefix("rchar: ")) for line in lines if line.startswith("rchar: "))


@pytest.mark.parametrize(
    ("packed", "writing"),
    [
        (False, {}),
        pytest.param(True, {}, marks=pytest.mark.slow),
        pytest.param(False, {"frames_per_file": 2}, marks=pytest.mark.slow),
    ],
    ids=["plain", "bslz4", "segments"],
)
def test_the_worker_reads_frames_and_the_distributor_reads_none(
    tmp_path: Path, packed: bool, writing: dict[str, Any]
) -> None:
    write(tmp_path / "a.h5", packed=packed, **writing)
    with begun(tmp_path / "a.h5") as made:
        before = bytes_read(made.distributor.pid)
        made.work(1)
        series = made.over("a")
        assert series.counts.done == 40
        assert bytes_read(made.distributor.pid) - before < 10 * NBYTES, "messages and structures, no pixels"
        with results(series) as file:
            assert column(file, "pixels").tolist() == [[number, number + 100] for number in range(40)]
            assert column(file, "order").tolist() == list(range(1, 41))


@pytest.mark.slow
def test_a_worker_that_connects_from_elsewhere_is_sent_frames(tmp_path: Path) -> None:
    write(tmp_path / "a.h5")
    keys.make(tmp_path / "key")
    with begun(tmp_path / "a.h5", listen=LISTEN, key=str(tmp_path / "key")) as made:
        before = bytes_read(made.distributor.pid)
        made.work(1, made.status.listen, "far", str(tmp_path / "key"))
        series = made.over("a")
        assert series.counts.done == 40
        assert bytes_read(made.distributor.pid) - before > 40 * NBYTES
        with results(series) as file:
            assert column(file, "pixels").tolist() == [[number, number + 100] for number in range(40)]


def test_a_file_that_was_replaced_is_sent_as_it_was_and_in_order(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "a.h5")
    write(tmp_path / "other.h5", first=50)
    with begun(tmp_path / "a.h5") as made:
        os.rename(tmp_path / "a.h5", tmp_path / "before.h5")
        os.rename(tmp_path / "other.h5", tmp_path / "a.h5")
        made.work(1)
        series = made.over("a")
        assert series.counts.done == 40
        with results(series) as file:
            assert column(file, "pixels").tolist() == [[number, number + 100] for number in range(40)]
            assert column(file, "order").tolist() == list(range(1, 41))
    said = capfd.readouterr().err
    assert said.count("reads no file itself, and is sent its frames") == 1
    assert f"{tmp_path / 'a.h5'} is another file than the distributor has open" in said


@pytest.mark.slow
def test_frames_beyond_the_end_of_a_file_that_is_cut_fail_and_name_it(tmp_path: Path) -> None:
    write(tmp_path / "a.h5")
    with begun(tmp_path / "a.h5") as made:
        os.truncate(tmp_path / "a.h5", 20 * NBYTES)
        made.work(1)
        series = made.over("a")
        assert series.counts.done + series.counts.failed == 40 and 19 <= series.counts.failed <= 21
        assert (
            f"frame 39 cannot be read: {tmp_path / 'a.h5'} is truncated" in made.status.workers[0].last_error
        )


@pytest.mark.slow
def test_a_worker_that_is_killed_while_it_reads_takes_no_frame_with_it(tmp_path: Path) -> None:
    write(tmp_path / "a.h5", 100)
    source = LOOKS.replace("    ordered = True\n", "").replace(
        "        self.count += 1\n", "        time.sleep(0.01)\n"
    )
    with pipeline(f"import time\n{source}", file=str(tmp_path / "a.h5"), workers=2) as made:
        made.wait(lambda status: status.series is not None and status.series.counts.done > 10)
        kill(made.workers[0])
        series = made.over("a")
        assert series.counts.done == 100 and made.status.deaths == 1
        with results(series) as file:
            assert column(file, "pixels").tolist() == [[number, number + 100] for number in range(100)]
