"""Seeded series of the generator through a receiver's process: its account equals the generator's fault log.

Both are processes of their own, and the log is written by the generator alone. `make faults` runs 500 of
these cases, which takes half an hour on two busy cores; a run of all tests, the first of them.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from penstock.hosts.child import free_port
from penstock.receiver.models import FrameStatus, Status
from penstock.streamer.simulated.generator.faults import KINDS
from tests.receiver.processes import DEADLINE, ReceiverProcess

CASES = int(os.environ.get("PENSTOCK_FAULT_CASES", "20"))
"""Seeds, each a series of its own."""
SOCKETS = (1, 2)
"""PULL sockets of the receivers that take them in turn."""
GAP = 0.2
"""Seconds of the receiver's gap clock."""
DELAY = 2.0
"""Seconds of a delay: several times what the gap clock needs, so that each delayed frame is late."""


class Pair:
    """A receiver, and the port at which one generator after the other binds."""

    def __init__(self, folder: Path, sockets: int) -> None:
        self.endpoint = f"tcp://127.0.0.1:{free_port()}"
        self.receiver = ReceiverProcess(
            folder, self.endpoint, {"sockets": sockets}, gap={"seconds": GAP}, peer_gone=0.5
        )

    def generate(self, *options: str, interrupt: bool = False) -> dict[str, Any]:
        """One series; the generator's report. `interrupt` once the receiver has ended the series."""
        process = subprocess.Popen(
            ["penstock", "generate", "--endpoint", self.endpoint, "--json", *options],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            if interrupt:
                before = self.receiver.client.status().series
                known = None if before is None else before.id
                self.receiver.wait(
                    lambda status: (
                        status.series is not None and status.series.id != known and not status.series.active
                    )
                )
                process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=DEADLINE)
        finally:
            process.kill()
            process.communicate()
        report: dict[str, Any] = json.loads(out.splitlines()[-1])
        return report


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, Pair]]:
    """A pair for each number of sockets."""
    running: dict[int, Pair] = {}
    try:
        for sockets in SOCKETS:
            running[sockets] = Pair(tmp_path_factory.mktemp(f"generated-{sockets}"), sockets)
        yield running
    finally:
        for pair in running.values():
            pair.receiver.close()


def options_of(seed: int, path: Path) -> tuple[list[str], str]:
    """A series drawn by its seed, and how it ends: "end", "lost", "never" or "death"."""
    chance = random.Random(seed)
    frames = chance.randrange(20, 400)
    ending = chance.choice(["end", "end", "end", "lost", "never", "death"])
    shape = chance.choice(["4,6", "16,32", "2,8,8"])
    options = [
        "--filename", str(path), "--frames", str(frames), "--shape", shape, "--seed", str(seed),
        "--dtype", chance.choice(["uint8", "uint16", "uint32", "float32"]),
        "--compression", chance.choice(["none", "bslz4"]), "--checksum", chance.choice(["crc32", "blake2b"]),
        "--window", str(chance.randrange(1, 9)), "--delay-seconds", str(DELAY),
    ]  # fmt: skip
    for kind in KINDS:
        if kind != "delay" or seed % 6 == 0:
            options += [f"--{kind.replace('_', '-')}", f"{chance.choice([0.0, 0.01, 0.05, 0.1]):.2f}"]
    options += {"lost": ["--lose-end"], "never": ["--never-end"]}.get(ending, [])
    if ending == "death":
        options += ["--die-at", str(chance.randrange(frames))]
    return options, ending


def expected(report: dict[str, Any]) -> tuple[dict[str, int], dict[int, FrameStatus]]:
    """Counts and statuses by the generator's own log."""
    (log,) = report["faults"]
    planned, sent = report["planned"], report["sent"]
    status = dict.fromkeys(range(sent), FrameStatus.STORED)
    status |= dict.fromkeys(range(sent, planned), FrameStatus.MISSING)
    status |= dict.fromkeys(log["drop"], FrameStatus.MISSING)
    for kind in ("corrupt", "truncate", "wrong_type"):
        status |= dict.fromkeys(log[kind], FrameStatus.CORRUPT)
    # The frame that no other has overtaken is not late, however long it waits.
    arrived = [index for index in range(sent) if status[index] is not FrameStatus.MISSING]
    prompt = [index for index in arrived if index not in log["delay"]]
    late = sum(index < max(prompt, default=-1) for index in log["delay"])
    of = list(status.values()).count
    counts = {
        "planned": planned, "received": len(arrived) + len(log["duplicate"]),
        "stored": of(FrameStatus.STORED),
        "corrupt": of(FrameStatus.CORRUPT), "missing": of(FrameStatus.MISSING),
        "duplicate": len(log["duplicate"]), "late": late, "out_of_range": 0, "stale": 0, "pending": 0,
        "partial": 0, "not_triggered": 0, "delivered": 0, "discarded": 0,
    }  # fmt: skip
    return counts, status


@pytest.mark.slow  # delayed frames have to be waited for
@pytest.mark.parametrize("seed", range(CASES))
def test_the_account_equals_the_generators_fault_log(seed: int, pairs: dict[int, Pair]) -> None:
    pair = pairs[SOCKETS[seed % len(SOCKETS)]]
    path = pair.receiver.root / f"{seed}.h5"
    options, ending = options_of(seed, path)
    report = pair.generate(*options, interrupt=ending == "never")
    status: Status = pair.receiver.ended(report["series"])
    counts, statuses = expected(report)
    found = {name: getattr(status.counts, name) for name in counts}
    assert found == counts, f"{' '.join(options)}\n{report}"
    assert status.state == "idle" and status.series is not None
    good = counts["stored"] == counts["planned"]
    assert status.series.complete == good, status.series.reason
    with h5py.File(path) as file:
        written = file["entry/instrument/sim_1/frame_status"][:]
    # The file ends with the last index that came; what is beyond never did.
    assert written.tolist() == [statuses[index] for index in range(len(written))]
    assert all(statuses[index] is FrameStatus.MISSING for index in range(len(written), len(statuses)))
    stored = np.flatnonzero(written == FrameStatus.STORED)
    verify = subprocess.run(["penstock", "verify", str(path)], capture_output=True, text=True, check=False)
    assert f"{len(stored)} of {len(stored)} stored frames" in verify.stdout or not len(stored), verify.stdout
    path.unlink()
