"""A limit to the size of a file (`ulimit -f`): said before a series where it can be, and at the frame that it
has no room for."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from penstock.receiver.client import ReceiverRefused
from penstock.receiver.files.storage import LEAST_BYTES
from penstock.receiver.models import SeriesCheck
from tests.breadth import breadth
from tests.receiver.conftest import Shared
from tests.receiver.processes import ReceiverProcess
from tests.receiver.test_failed_writes import FRAMES, KINDS, Kind, check_file, send
from tests.streams import Streamer

FRAME_BYTES = 40 * 60 * 2
NAMES = {name: name for name in ("plain", "packed", "swmr", "two files, packed")}
LIMIT = LEAST_BYTES + 400 * FRAME_BYTES


def limit(receiver: ReceiverProcess, size: int) -> None:
    """To what a file of this receiver may have from now on, whichever of its processes writes it."""
    for pid in (receiver.process.pid, receiver.data_process()):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@pytest.fixture
def limited(shared: Shared) -> Iterator[Callable[[int], None]]:
    """Limits the files of the shared receiver; afterwards they may be of any size."""
    yield partial(limit, shared.receiver)
    limit(shared.receiver, resource.RLIM_INFINITY)


@pytest.mark.slow
@pytest.mark.parametrize("name", breadth(NAMES, often=("plain",)))
def test_a_series_of_unknown_length_ends_at_the_limit_with_all_that_is_in_its_file(
    name: str, start_receiver: Callable[..., ReceiverProcess], streamer: Streamer
) -> None:
    kind = Kind(announced=False, packed=KINDS[name].packed, keys=KINDS[name].keys)
    receiver = start_receiver(**kind.keys)
    receiver.connected()
    limit(receiver, LEAST_BYTES)
    path = receiver.root / "x.h5"
    send(streamer, path, kind, 900)
    status = receiver.wait(lambda status: status.state == "error")
    for words in ("File too large", "ulimit -f", "LimitFSIZE", str(path)):
        assert words in status.error
    assert status.series is not None
    assert "none missing" not in status.series.reason
    assert 0 < status.counts.stored < (status.counts.planned or 0)
    check_file(path, status)
    checked = subprocess.run(["penstock", "check", str(path)], capture_output=True, text=True, check=False)
    assert checked.returncode == 1
    assert "is incomplete" in checked.stdout and "File too large" in checked.stdout
    receiver.client.reset()
    following = send(streamer, receiver.root / "y.h5", kind)
    status = receiver.ended(following)
    assert (status.state, status.counts.stored) == ("idle", FRAMES)
    check_file(receiver.root / "y.h5", status)


def test_a_series_that_is_announced_with_more_is_refused_before_it_begins(
    shared: Shared, limited: Callable[[int], None]
) -> None:
    receiver, streamer = shared
    limited(LIMIT)
    path = receiver.root / "x.h5"
    asked: dict[str, Any] = {"filename": str(path), "frame_bytes": FRAME_BYTES}
    with pytest.raises(
        ReceiverRefused, match=r"ulimit -f, or LimitFSIZE .* raise it, or write several files"
    ) as said:
        receiver.client.check(SeriesCheck(frames=401, **asked))
    assert said.value.kind == "over_limit"
    receiver.client.check(SeriesCheck(frames=400, **asked))
    streamer.start(str(path), frames=401, frame_bytes=FRAME_BYTES)
    status = receiver.wait(lambda status: status.state == "error")
    assert "ulimit -f" in status.error and not path.exists()


def test_a_limit_that_no_file_fits_in_is_one_sentence_at_the_check(
    shared: Shared, limited: Callable[[int], None]
) -> None:
    receiver = shared.receiver
    limited(LEAST_BYTES - 1)
    with pytest.raises(ReceiverRefused, match="ulimit -f"):
        receiver.client.check(SeriesCheck(filename=str(receiver.root / "x.h5")))


@pytest.mark.slow
def test_a_limit_that_no_receiver_can_start_under_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "receivers.yaml"
    file.write_text(
        f"receivers: {{r: {{source: {{endpoints: ['tcp://127.0.0.1:1']}}, data_root: '{tmp_path}'}}}}\n"
    )
    pid = os.getpid()
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (10**6, before[1]))
    try:
        done = subprocess.run(
            ["penstock", "receiver", "r", "--config", str(file), "--http", "127.0.0.1:0"],
            capture_output=True, text=True, timeout=20, check=False,
        )  # fmt: skip
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "ulimit -f, or LimitFSIZE of its service) is 1 MB" in done.stderr
