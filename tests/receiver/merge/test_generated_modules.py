"""Seeded series of module streams through a receiver's process: account and file equal the generator's log.

The generator writes down, stream by stream, what it did; no receiver sees it.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401 (registers the filters)
import numpy as np
import pytest

from penstock.hosts.child import free_port
from penstock.receiver.models import FrameStatus, Status
from penstock.receiver.series.module_status import frame_status
from penstock.streamer.simulated.generator.pixels import pixels
from penstock.streamer.simulated.generator.plan import GAP as ROWS_BETWEEN
from penstock.streamer.simulated.generator.plan import Plan
from tests.receiver.processes import DEADLINE, ReceiverProcess

pytestmark = pytest.mark.slow

CASES = 20
"""Seeds, each a series of its own."""
QUICK = 2
"""Of these, those of every run of the tests."""
GAP, HEADERS = 0.3, 0.5
KINDS = ("drop", "duplicate", "reorder", "corrupt", "truncate", "wrong-type")
STORED, PARTIAL, MISSING, CORRUPT = (
    FrameStatus.STORED, FrameStatus.PARTIAL, FrameStatus.MISSING, FrameStatus.CORRUPT,
)  # fmt: skip


class Detector:
    """A receiver of so many modules, and the ports at which one generator after the other binds."""

    def __init__(self, folder: Path, modules: int, files: int = 1) -> None:
        self.modules = modules
        first = free_port(modules)
        self.endpoints = [f"tcp://127.0.0.1:{first + number}" for number in range(modules)]
        source = {"endpoints": self.endpoints, "join": "modules", "join_seconds": HEADERS}
        self.receiver = ReceiverProcess(
            folder, self.endpoints[0], source, gap={"seconds": GAP}, peer_gone=0.5, files=files
        )  # fmt: skip

    def generate(self, *options: str) -> dict[str, Any]:
        """One series; the generator's report."""
        done = subprocess.run(
            ["penstock", "generate", "--endpoint", self.endpoints[0], "--streams", str(self.modules),
             "--json", *options],
            capture_output=True, text=True, timeout=DEADLINE,
        )  # fmt: skip
        assert done.stdout, done.stderr
        report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return report


@pytest.fixture(scope="module", params=[1, 3], ids=["one-file", "a-file-each"])
def detector(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Detector]:
    running = Detector(tmp_path_factory.mktemp("modules"), 3, request.param)
    yield running
    running.receiver.close()


def options_of(seed: int, path: Path) -> list[str]:
    """A series drawn by its seed."""
    chance = random.Random(seed)
    frames = chance.randrange(5, 120)
    options = [
        "--filename", str(path), "--frames", str(frames), "--shape", "6,10", "--seed", str(seed),
        "--dtype", chance.choice(["uint8", "uint16", "int32", "float32"]), "--checksum", "crc32",
        "--compression", chance.choice(["none", "bslz4"]), "--lag", str(chance.choice([0, 0, 3, 20])),
    ]  # fmt: skip
    for kind in KINDS:
        options += [f"--{kind}", f"{chance.choice([0.0, 0.02, 0.1]):.2f}"]
    faulty = chance.sample(range(3), chance.randrange(1, 4))
    options += ["--faults-in", ",".join(map(str, faulty))]
    options += chance.choice(
        [[], [], ["--lose-end"], ["--stream-dies-at", str(chance.randrange(frames))]],
    )
    return options


def expected(report: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Status of each module of each frame, by the generator's own log."""
    status = np.full((report["planned"], len(report["faults"])), STORED, np.uint8)
    for module, log in enumerate(report["faults"]):
        status[log["drop"], module] = MISSING
        for kind in ("corrupt", "truncate", "wrong_type"):
            status[log[kind], module] = CORRUPT
        if log["died_at"] is not None:
            status[log["died_at"] :, module] = MISSING
    return status


@pytest.mark.parametrize(
    "seed",
    [seed if seed < QUICK else pytest.param(seed, marks=pytest.mark.slow) for seed in range(CASES)],
)
def test_the_account_and_each_modules_status_equal_the_generators_log(seed: int, detector: Detector) -> None:
    path = detector.receiver.root / f"{seed}.h5"
    options = options_of(seed, path)
    report = detector.generate(*options)
    status: Status = detector.receiver.ended(report["series"])
    modules = expected(report)
    frames = np.array([frame_status(row) for row in modules.tolist()], np.uint8)
    counts = {
        "planned": report["planned"], "stored": int((frames == STORED).sum()),
        "partial": int((frames == PARTIAL).sum()), "corrupt": int((frames == CORRUPT).sum()),
        "missing": int((frames == MISSING).sum()),
        "duplicate": sum(len(log["duplicate"]) for log in report["faults"]),
        "out_of_range": 0, "stale": 0, "pending": 0, "not_triggered": 0, "delivered": 0, "discarded": 0,
    }  # fmt: skip
    found = {name: getattr(status.counts, name) for name in counts}
    assert found == counts, f"{' '.join(options)}\n{report}\n{status}"
    assert status.state == "idle" and status.series is not None
    assert status.series.complete == (counts["stored"] == counts["planned"]), status.series.reason
    check_file(path, modules, frames, Plan(frames=report["planned"], shape=(6, 10), streams=3,
               dtype=options[options.index("--dtype") + 1]))  # fmt: skip
    if (modules == STORED).any():
        verified = subprocess.run(
            ["penstock", "verify", str(path)], capture_output=True, text=True, check=False
        )
        assert verified.returncode == 0, verified.stdout + verified.stderr


def check_file(
    path: Path, modules: np.ndarray[Any, Any], frames: np.ndarray[Any, Any], plan: Plan
) -> None:  # fmt: skip
    """Statuses, blobs and assembled image are what was sent; what did not come is the fill value."""
    with h5py.File(path) as file:
        group = file["entry/instrument/sim_1"]
        length = len(group["frame_status"])
        assert group["module_status"][:].tolist() == modules[:length].tolist()
        assert group["frame_status"][:].tolist() == frames[:length].tolist()
        assert not (modules[length:] == STORED).any()
        blobs, whole = group["modules"][:], file["entry/data/data"][:]
        fill = group["modules"].fillvalue
    for index in range(length):
        image = np.full((3 * (6 + ROWS_BETWEEN) - ROWS_BETWEEN, 10), fill, plan.dtype)
        for module in range(3):
            sent = pixels(plan, index, module)
            if modules[index, module] != STORED:
                sent = np.full_like(sent, fill)
            np.testing.assert_array_equal(blobs[index, module], sent)
            image[module * (6 + ROWS_BETWEEN) :][:6] = sent
        np.testing.assert_array_equal(whole[index], image)


def test_a_lost_start_message_is_named_and_the_next_series_is_taken(detector: Detector) -> None:
    before = detector.receiver.client.status()
    path = detector.receiver.root / "lost-start.h5"
    options = ("--filename", str(path), "--frames", "5", "--shape", "6,10")
    report = detector.generate(*options, "--lose-start", "--faults-in", "2")
    assert [log["start_sent"] for log in report["faults"]] == [True, True, False]
    status = detector.receiver.wait(lambda status: "no_module_header" in status.errors)
    assert f"no start message from {detector.endpoints[2]}" in status.last_error
    status = detector.receiver.wait(lambda status: status.drained - before.drained == 20)
    assert status.state == "idle" and not path.exists()
    report = detector.generate(*options)
    assert detector.receiver.ended(report["series"]).counts.stored == 5


def test_while_a_start_message_is_missing_the_status_says_whose(tmp_path: Path) -> None:
    detector = Detector(tmp_path, 2)
    try:
        with subprocess.Popen(
            ["penstock", "generate", "--endpoint", detector.endpoints[0], "--frames", "5", "--shape", "6,10"],
            stderr=subprocess.DEVNULL,
        ) as first:
            status = detector.receiver.wait(lambda status: bool(status.waits_for))
            assert status.waits_for == (
                f"1 of 2 modules have begun a series; waits for {detector.endpoints[1]}"
            )
            first.wait(DEADLINE)
    finally:
        detector.receiver.close()
