"""`penstock generate --receiver` ends with what the receiver made of the series."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import h5py
import pytest

from penstock.hosts.child import free_port
from tests.receiver.processes import DEADLINE, ReceiverProcess

pytestmark = pytest.mark.slow


class Bench:
    """A receiver whose streamer is whatever generator runs."""

    def __init__(self, folder: Path) -> None:
        self.endpoint = f"tcp://127.0.0.1:{free_port()}"
        self.receiver = ReceiverProcess(folder, self.endpoint, memory_mb=300)
        self.file = self.receiver.root / "x.h5"

    def generate(self, *options: str, file: bool = True) -> tuple[int, str]:
        """Exit status and what was said on standard error."""
        named = ["--filename", str(self.file)] if file else []
        done = subprocess.run(
            ["penstock", "generate", "--endpoint", self.endpoint, "--shape", "4,6", "--frames", "3",
             "--receiver", self.receiver.client.url, *named, *options],
            capture_output=True, text=True, timeout=DEADLINE,
        )  # fmt: skip
        return done.returncode, done.stderr


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    made = Bench(tmp_path_factory.mktemp("verdict"))
    yield made
    made.receiver.close()


def test_a_series_that_is_there_whole_is_0_and_may_replace_a_file_where_asked_for(bench: Bench) -> None:
    assert bench.generate()[0] == 0
    before = bench.file.stat().st_ino
    assert bench.generate("--overwrite", "--frames", "5")[0] == 0
    assert bench.file.stat().st_ino != before
    with h5py.File(bench.file) as file:
        assert len(file["entry/data/data"]) == 5


def test_a_series_that_its_receiver_refused_is_1_with_the_sentence(bench: Bench) -> None:
    status, said = bench.generate("--shape", "2000,2000", file=False)
    assert status == 1
    assert "the receiver does not have all of it: not taken: " in said and "its memory_mb allows 300" in said


def test_a_series_that_lacks_frames_is_1(bench: Bench) -> None:
    status, said = bench.generate("--drop", "1", file=False)
    assert status == 1
    assert "the receiver does not have all of it: 2 of 3 frames: 1 missing" in said


def test_a_file_that_exists_is_1_and_stops_no_later_series(bench: Bench) -> None:
    bench.file.touch()
    for _ in range(2):
        status, said = bench.generate()
        assert (status, bench.receiver.client.status().state) == (1, "idle")
        assert f"{bench.file} exists" in said


def test_an_error_is_1_and_one_from_before_is_told_before_anything_is_sent(bench: Bench) -> None:
    bench.file.unlink(missing_ok=True)
    process = bench.receiver.data_process()
    limit = resource.prlimit(process, resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
    try:
        status, said = bench.generate()
        assert status == 1
        assert "the receiver is in Error: " in said
        status, said = bench.generate()
        assert status == 2
        assert f"is in Error: {bench.receiver.client.status().error}" in said
    finally:
        resource.prlimit(process, resource.RLIMIT_FSIZE, limit)
    bench.receiver.client.reset()


def test_a_receiver_that_is_not_there_is_2(bench: Bench) -> None:
    status, said = bench.generate("--receiver", f"http://127.0.0.1:{free_port()}")
    assert status == 2
    assert "does not answer" in said or "nobody" in said.lower() or "not reached" in said
