"""A worker on another machine: a network of its own, and no memory that it could share with the receiver."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from penstock.processing.wire import keys
from tests.network import Switch, unavailable
from tests.processing.distributor.pipelines import column, entry, frames_in, pipeline, results
from tests.processing.distributor.test_distributor_faults import WAITS, expected, has_processed, sending
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer

Start = Callable[..., ReceiverProcess]
MACHINE = "worker's machine"


@pytest.fixture(scope="module")
def switch() -> Iterator[Switch]:
    if why := unavailable():
        pytest.skip(why)
    with Switch(MACHINE) as switch:
        yield switch


def start(switch: Switch, hidden: Path, address: str, name: str, key: Path) -> subprocess.Popen[bytes]:
    """Start a worker there; a folder of this machine is another one there."""
    hide = ["unshare", "--mount", "sh", "-ec", f'mount -t tmpfs none {hidden}; exec "$@"', "sh"]
    worker = [sys.executable, "-P", "-m", "penstock.processing.worker.worker", address, name, str(key)]
    return subprocess.Popen([*switch.on(MACHINE), *hide, *worker])


def connections(process: subprocess.Popen[bytes]) -> int:
    """TCP connections of its network that are established; see proc_pid_net(5)."""
    lines = Path(f"/proc/{process.pid}/net/tcp").read_text().splitlines()[1:]
    return sum(line.split()[3] == "01" for line in lines)


@pytest.mark.slow
def test_a_worker_elsewhere_needs_one_connection_and_the_key_and_may_be_cut_off(
    switch: Switch, start_receiver: Start, streamer: Streamer, tmp_path: Path
) -> None:
    receiver = start_receiver(forward=[entry(tmp_path)])
    receiver.connected()
    for name in ("key", "other"):
        keys.make(tmp_path / name)
    here = f"{switch.address(MACHINE).rpartition('.')[0]}.1"
    with pipeline(WAITS, receiver, listen=f"tcp://{here}:*", key=str(tmp_path / "key")) as made:
        stranger = start(switch, tmp_path / "memory", made.status.listen, "stranger", tmp_path / "other")
        assert stranger.wait(30) == 1
        made.wait(lambda status: status.refused_connections == 1)
        assert not made.status.workers

        far = start(switch, tmp_path / "memory", made.status.listen, "far", tmp_path / "key")
        made.workers.append(far)
        made.wait(lambda status: [worker.state for worker in status.workers] == ["ready"])
        assert connections(far) == 1 and not made.status.workers[0].shares
        with sending(streamer, str(receiver.root / "a.h5"), 100, 1000) as name:
            series = made.over(name)
        assert series.counts.done == 100 and made.status.workers[0].frames == 100

        made.work(1)
        try:
            with sending(streamer, str(receiver.root / "b.h5"), 1000, 1000) as name:
                made.wait(partial(has_processed, name, 200))
                switch.cut(MACHINE)
                series = made.over(name)
        finally:
            switch.mend(MACHINE)
        assert series.counts.done == 1000 and made.status.deaths == 1
        with results(series) as file:
            assert column(file, "number").tolist() == expected(1000)
            assert frames_in(file, "sum") == 1000
        made.wait(lambda status: "far" in [worker.name for worker in status.workers])
