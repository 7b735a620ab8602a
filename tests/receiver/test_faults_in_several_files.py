"""Whatever happens to the frames on their way: the account of several files is that of one."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the filters)
import numpy as np
import pytest

from penstock.codecs.pixel_type import fill_value
from penstock.hosts.child import free_port
from penstock.receiver.models import FrameStatus
from tests.receiver.processes import DEADLINE, ReceiverProcess

pytestmark = pytest.mark.slow

FRAMES = 80
SHAPE = (512, 1024)
"""1 MB: blocks of eight frames, so ten blocks."""
FAULTS = {
    "whole": [],
    "5 lost": ["--drop", "3,17,18,44,71"],
    "40 lost in a row": ["--drop", ",".join(map(str, range(20, 60)))],
    "last 3 lost": ["--drop", "77,78,79"],
    "repeated": ["--duplicate", "0,5,79"],
    "reordered": ["--reorder", "2,9,40", "--window", "6"],
    "late": ["--delay", "33", "--delay-seconds", "1.5"],
    "truncated": ["--truncate", "5,50"],
    "some of all": ["--drop", "8,9", "--duplicate", "20", "--reorder", "30", "--truncate", "41"],
    "end lost": ["--lose-end"],
    "packed": ["--compression", "bslz4", "--pattern", "gradient", "--drop", "8"],
}


class Pair:
    """A receiver of so many files, and the port at which one generator after the other binds."""

    def __init__(self, folder: Path, files: int) -> None:
        folder.mkdir()
        self.endpoint = f"tcp://127.0.0.1:{free_port()}"
        self.receiver = ReceiverProcess(
            folder, self.endpoint, files=files, peer_gone=0.5, filename_template="unnamed.h5"
        )

    def take(self, *options: str) -> dict[str, Any]:
        """Take a series; return what status, file and `penstock check` say, and remove it."""
        path = self.receiver.root / "x.h5"
        before = self.receiver.client.status().series
        done = subprocess.run(
            [
                "penstock", "generate", "--endpoint", self.endpoint, "--json", "--filename", str(path),
                "--frames", str(FRAMES), "--shape", ",".join(map(str, SHAPE)), "--seed", "5", *options,
            ],
            stdout=subprocess.PIPE, text=True, timeout=3 * DEADLINE, check=False,
        )  # fmt: skip
        assert done.returncode == 0
        status = self.receiver.wait(
            lambda status: (
                status.series is not None
                and not status.series.active
                and (before is None or status.series.id != before.id)
            )
        )
        assert status.series is not None
        (path,) = (each for each in self.receiver.root.glob("*.h5") if "_part" not in each.name)
        counts = asdict(status.counts)
        counts.pop("flushed")
        check = subprocess.run(
            ["penstock", "check", "--json", str(path)], capture_output=True, text=True, check=False
        )
        judged = json.loads(check.stdout)
        with h5py.File(path) as file:
            statuses = file["entry/instrument/sim_1/frame_status"][:].tolist()
            data = file["entry/data/data"]
            hashes = [hashlib.blake2b(frame.tobytes(), digest_size=8).hexdigest() for frame in data]
        parts = sorted(self.receiver.root.glob("*_part*.h5"))
        for each in (path, *parts):
            each.unlink()
        return {
            "state": status.state, "complete": status.series.complete,
            "reason": status.series.reason, "counts": counts, "statuses": statuses, "frames": hashes,
            "check": check.returncode, "findings": judged["files"][0]["findings"], "parts": len(parts),
        }  # fmt: skip


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, Pair]]:
    """A pair for each number of files, started when it is needed."""

    class Running(dict[int, Pair]):
        def __missing__(self, files: int) -> Pair:
            self[files] = Pair(folder / str(files), files)
            return self[files]

    running, folder = Running(), tmp_path_factory.mktemp("files")
    try:
        yield running
    finally:
        for pair in running.values():
            pair.receiver.close()


@pytest.mark.parametrize(
    ("fault", "several"),
    [
        ("some of all", (3,)),
        *(pytest.param(name, (2, 3, 5), marks=pytest.mark.slow, id=name) for name in FAULTS),
    ],
)
def test_the_account_is_that_of_one_file_and_every_pixel_is_the_same(
    fault: str, several: tuple[int, ...], pairs: dict[int, Pair]
) -> None:
    one = pairs[1].take(*FAULTS[fault])
    assert one.pop("parts") == 0
    is_stored = np.array(one["statuses"]) == FrameStatus.STORED
    assert np.count_nonzero(is_stored) == one["counts"]["stored"] >= 40
    nothing = np.full(SHAPE, fill_value("uint16"), "uint16")
    fill = hashlib.blake2b(nothing.tobytes(), digest_size=8).hexdigest()
    assert [found != fill for found in one["frames"]] == is_stored.tolist()
    for files in several:
        found = pairs[files].take(*FAULTS[fault])
        assert found.pop("parts") == files
        assert found == one, files
