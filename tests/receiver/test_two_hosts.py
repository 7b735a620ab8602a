"""Two receivers of one entry on two hosts over one data root: one takes the series, the other takes over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import h5py
import pytest

from penstock.receiver.client import NoAnswer
from penstock.receiver.models import Status
from tests import network
from tests.network import Switch
from tests.receiver.processes import ReceiverProcess
from tests.receiver.test_deaths import stream, wait_until
from tests.streams import Streamer

HOSTS = "daq-1", "daq-2"
HTTP = 5000
pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


@pytest.fixture
def switch() -> Iterator[Switch]:
    """Two hosts, and the tests themselves as the control unit."""
    if why := network.unavailable():
        pytest.skip(why)
    with Switch(*HOSTS) as made:
        yield made


def start(switch: Switch, host: str, folder: Path, endpoint: str, root: Path) -> ReceiverProcess:
    """Start a receiver on a host: network, host name and processes are its own, the file system is not."""
    own = ["unshare", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
    named = ["sh", "-ec", f'echo {host} > /proc/sys/kernel/hostname; exec "$@"', "sh"]
    return ReceiverProcess(
        folder / host, endpoint, http=f"{switch.address(host)}:{HTTP}", waits=True, data_root=str(root),
        within=[*switch.on(host), *own, *named],
    )  # fmt: skip


def lose(receiver: ReceiverProcess) -> None:
    """Kill all processes of a host at once, as a power cut; with the first one of them, all end."""
    receiver.process.kill()
    receiver.process.wait()


def status_of(receiver: ReceiverProcess) -> Status | None:
    """Return its status; `None` if it does not answer yet."""
    try:
        return receiver.client.status()
    except NoAnswer:
        return None


def until(receivers: list[ReceiverProcess], condition: Callable[[list[Status]], bool]) -> list[Status]:
    """Wait until all answer and a condition holds; return what they have answered."""
    found: list[Status] = []

    def holds() -> bool:
        found[:] = [status for each in receivers if (status := status_of(each)) is not None]
        return len(found) == len(receivers) and condition(found)

    wait_until(holds)
    return found


def test_one_takes_every_frame_and_the_other_one_resumes_its_series_when_that_host_is_lost(
    switch: Switch, tmp_path: Path
) -> None:
    root = tmp_path / "data"
    root.mkdir()
    here = f"{switch.address(HOSTS[0]).rpartition('.')[0]}.1"
    with ExitStack() as stack:
        streamer = Streamer(f"tcp://{here}:*")
        stack.callback(streamer.close)
        both = [start(switch, host, tmp_path, streamer.endpoint, root) for host in HOSTS]
        for each in both:
            stack.callback(each.process.stdout.close)  # type: ignore[union-attr]
            stack.callback(lose, each)
        statuses = until(both, lambda found: sum(bool(each.waits_for) for each in found) == 1)
        second = next(number for number, status in enumerate(statuses) if status.waits_for)
        first, other = both[1 - second], both[second]
        # The process id is that of the other host, where the receiver is the first process.
        assert f"that of process 1 on {HOSTS[1 - second]}, which runs since 20" in statuses[second].waits_for
        first.connected()
        series = streamer.series_of(str(root / "x.h5"), 200)
        assert first.ended(series).counts.stored == 200
        status = other.client.status()
        assert (status.series, status.connections) == (None, [])
        with h5py.File(root / "x.h5") as file:
            assert len(file["entry/data/data"]) == 200
        series = stream(streamer, root / "y.h5", 30, planned=60)
        first.wait(lambda status: getattr(status.series, "id", "") == series and status.counts.flushed >= 30)
        lose(first)
        other.ready()
        other.connected()
        for number in range(30, 60):
            streamer.frame(number)
        streamer.end(reason="complete", triggered=60, sent=60)
        ended = other.ended(series)
        assert (ended.waits_for, ended.counts.stored) == ("", 60)
        with h5py.File(root / "y.h5") as file:
            assert file["entry/data/data"][:, 0, 0].tolist() == [number * 24 for number in range(60)]
        assert sorted(path.name for path in root.glob("*.h5")) == ["x.h5", "y.h5"]
