"""Schemathesis asks running receivers for what their OpenAPI document allows, and what not: `make contract`.

Generated from a seed, so that a run can be repeated; the number of requests is bounded, not the time.
"""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SEED = 20
EXAMPLES = 40
"""Requests that are made up for each call, beside those at the limits of each value."""
SECONDS = 240.0
"""For one run, on a machine that has much else to do; alone it takes some 10."""
OPENAPI = Path(__file__).resolve().parents[3] / "resources" / "openapi.json"
CALLS = {path: len(calls) for path, calls in json.loads(OPENAPI.read_text())["paths"].items()}


def schemathesis(receiver: ReceiverProcess, folder: Path, *without: str) -> None:
    """Every check that there is, but the run of states, which needs links between calls; of every path but
    some."""
    excluded = [word for path in without for word in ("--exclude-path", path)]
    run = subprocess.run(
        ["schemathesis", "run", f"{receiver.client.url}/openapi.json", "--checks", "all",
         "--phases", "examples,coverage,fuzzing", "--seed", str(SEED), "--max-examples", str(EXAMPLES),
         "--request-timeout", "20", "--continue-on-failure", "--no-color", *excluded],
        cwd=folder, capture_output=True, text=True, timeout=SECONDS,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    tried = re.search(r"Tested: +(\d+)", run.stdout)
    calls = sum(count for path, count in CALLS.items() if path not in without)
    assert tried is not None and int(tried[1]) == calls, "every call of the document was tried"
    log = receiver.log.read_text()
    assert "Traceback" not in log, log
    assert receiver.client.status().state in ("idle", "running"), "nothing that was asked brought it down"


def test_a_receiver_that_has_had_no_series_answers_as_its_document_says(tmp_path: Path) -> None:
    receiver = ReceiverProcess(tmp_path, "tcp://127.0.0.1:1")
    try:
        schemathesis(receiver, tmp_path)
    finally:
        receiver.close()


def test_behind_a_series_and_its_file_it_answers_as_its_document_says(
    receiver: ReceiverProcess, streamer: Streamer, tmp_path: Path
) -> None:
    status = receiver.ended(streamer.series_of(str(receiver.root / "a.h5"), 5))
    assert status.counts.stored == 5
    schemathesis(receiver, tmp_path)
    assert receiver.client.frame(4).frame == 4


def test_while_series_run_it_answers_as_its_document_says(
    receiver: ReceiverProcess, streamer: Streamer, tmp_path: Path
) -> None:
    with series_after_series(streamer, receiver.root) as begun:
        receiver.wait(lambda status: status.counts.stored > 0)
        schemathesis(receiver, tmp_path, "/drain")  # which would let no series begin
    assert len(begun) > 1, "what was asked has stopped series, and others have begun"


@contextmanager
def series_after_series(streamer: Streamer, root: Path) -> Iterator[list[str]]:
    """Series of 100 frames, each with a file, one behind the other; somebody may stop any of them."""
    over, begun = threading.Event(), []

    def send() -> None:
        while not over.is_set():
            begun.append(streamer.start(str(root / f"{len(begun)}.h5"), frames=100))
            for number in range(100):
                streamer.frame(number)
                if over.wait(0.02):
                    break
            streamer.end()

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield begun
    finally:
        over.set()
        thread.join()
