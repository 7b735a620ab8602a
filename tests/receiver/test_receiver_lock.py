"""Of one name and data root one receiver runs; another one waits, and says for whom."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
import urllib3

from penstock.hosts.child import free_port
from penstock.receiver.client import NoAnswer, ReceiverRefused
from penstock.receiver.config import ReceiverConfig
from penstock.receiver.models import SeriesCheck
from penstock.receiver.process.supervisor.receiver_lock import ReceiverLock
from tests.receiver.processes import ReceiverProcess, bound_by_rights
from tests.receiver.test_deaths import gone, stream, wait_until
from tests.streams import Streamer

Start = Callable[..., ReceiverProcess]


def second(folder: Path, first: ReceiverProcess, streamer: Streamer, **keys: object) -> ReceiverProcess:
    """Another receiver of the same name and data root, which has to wait; once it answers."""
    http = f"127.0.0.1:{free_port()}"
    found = ReceiverProcess(
        folder, streamer.endpoint, http=http, waits=True, data_root=str(first.root), **keys
    )

    def answers() -> bool:
        try:
            return bool(found.client.status())
        except NoAnswer:
            return False

    wait_until(answers)
    return found


def test_the_second_one_waits_unconnected_refuses_and_starts_when_the_first_has_ended(
    receiver: ReceiverProcess, streamer: Streamer, tmp_path: Path
) -> None:
    other = second(tmp_path, receiver, streamer)
    status = other.client.status()
    assert (status.state, status.connections) == ("idle", [])
    pid, host = receiver.process.pid, socket.gethostname()
    assert f"waits for that of process {pid} on {host}, which runs since 20" in status.waits_for
    with pytest.raises(ReceiverRefused, match=f"waits for that of process {pid}") as refused:
        other.client.check(SeriesCheck(filename=str(receiver.root / "x.h5"), frames=1))
    assert refused.value.kind == "waiting"
    answers = [
        urllib3.request("GET", f"{other.client.url}{path}", timeout=5, retries=False)
        for path in ("/health", "/health/ready", "/health/started")
    ]
    assert [each.status for each in answers] == [200, 503, 503]
    assert str(pid) in answers[1].json()["message"]
    series = streamer.series_of(str(receiver.root / "x.h5"), 50)  # all to the first one
    assert receiver.ended(series).counts.stored == 50
    assert receiver.stop() == 0
    other.ready()
    other.connected()
    assert urllib3.request("GET", f"{other.client.url}/health/started", timeout=5).status == 200
    series = streamer.series_of(str(receiver.root / "y.h5"), 5)
    ended = other.ended(series)
    assert (ended.waits_for, ended.counts.stored) == ("", 5)
    other.close()


def test_that_of_another_user_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held, other = ReceiverLock("sim-1", config_of(tmp_path)), ReceiverLock("sim-1", config_of(tmp_path))
    assert held.take() == ""
    real = os.open

    def not_ours(path: Path, flags: int, *mode: int) -> int:
        if flags & os.O_RDWR:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return real(path, flags, *mode)

    monkeypatch.setattr(os, "open", not_ours)
    assert f"waits for that of process {os.getpid()}" in other.take()
    held.close()
    assert (other.take(), other.is_unwritable) == ("", True)
    assert "no file can be written" in other.unguarded
    other.close()


def test_one_that_may_not_write_is_not_ready_and_names_the_user(tmp_path: Path) -> None:
    root = tmp_path / "data"
    root.mkdir()
    root.chmod(0o555)
    streamer = Streamer()
    receiver = ReceiverProcess(tmp_path, streamer.endpoint, within=bound_by_rights(), data_root=str(root))
    try:
        said = urllib3.request("GET", f"{receiver.client.url}/health/started", timeout=5, retries=False)
        assert said.status == 503
        why = receiver.client.status().unguarded
        assert f"{root}/.penstock cannot be written by user {os.geteuid()}" in why
    finally:
        receiver.close()
        streamer.close()


@pytest.mark.slow
def test_of_two_that_are_started_at_once_one_takes_every_frame(streamer: Streamer, tmp_path: Path) -> None:
    root = tmp_path / "data"
    root.mkdir()
    both = [
        ReceiverProcess(
            tmp_path / name, streamer.endpoint, http=f"127.0.0.1:{free_port()}", waits=True,
            data_root=str(root),
        )
        for name in "ab"
    ]  # fmt: skip
    series = streamer.series_of(str(root / "x.h5"), 200)
    taken: list[int] = []

    def has_ended() -> bool:
        found = []
        for each in both:
            try:
                found.append(each.client.status())
            except NoAnswer:
                return False
        taken[:] = [
            each.counts.stored for each in found if each.series is not None and each.series.id == series
        ]
        return any(taken) and not any(each.state == "running" for each in found)

    wait_until(has_ended)
    assert taken == [200]
    assert sum(bool(each.client.status().waits_for) for each in both) == 1
    for each in both:
        each.close()


@pytest.mark.slow
def test_it_waits_for_the_data_process_of_a_killed_one_too_and_resumes_its_series(
    start_receiver: Start, streamer: Streamer, tmp_path: Path
) -> None:
    first = start_receiver()
    first.connected()
    series = stream(streamer, first.root / "x.h5", 20, planned=40)
    first.flushed(20)
    other = second(tmp_path, first, streamer)
    child = first.data_process()
    os.kill(child, signal.SIGSTOP)
    first.process.kill()
    first.process.wait()
    for _ in range(4):
        assert other.client.status(seen=-1, wait=0.5).waits_for
    os.kill(child, signal.SIGKILL)
    wait_until(lambda: gone(child))
    other.ready()
    other.connected()
    for number in range(20, 40):
        streamer.frame(number)
    streamer.end(reason="complete", triggered=40, sent=40)
    assert other.ended(series).counts.stored == 40
    other.close()


@pytest.mark.slow
def test_one_that_waits_can_be_ended(receiver: ReceiverProcess, streamer: Streamer, tmp_path: Path) -> None:
    other = second(tmp_path, receiver, streamer)
    assert other.stop() == 0
    assert receiver.client.status().state == "idle"
    other.close()


def config_of(root: Path, state: Path | None = None) -> ReceiverConfig:
    """An entry with this data root and state folder."""
    keys = {"source": {"endpoints": ["tcp://127.0.0.1:1"]}, "data_root": str(root)}
    return msgspec.convert(keys | ({} if state is None else {"state_folder": str(state)}), ReceiverConfig)


def test_the_lock_is_in_the_data_root_and_in_a_state_folder_elsewhere(tmp_path: Path) -> None:
    root, state, other = tmp_path / "data", tmp_path / "state", tmp_path / "other"
    first = ReceiverLock("a/b", config_of(root, state))
    assert first.take() == ""
    assert len(first.descriptors) == 2
    for config, same in (
        (config_of(root), f"data root ({root})"), (config_of(root, other), f"data root ({root})"),
        (config_of(other, state), f"state folder ({state})"),
    ):  # fmt: skip
        assert f"it has the same name and {same}. Stop that one" in ReceiverLock("a/b", config).take()
        with closing(ReceiverLock("a", config)) as another:
            assert another.take() == ""
    first.close()
    with closing(ReceiverLock("a/b", config_of(root))) as after:
        assert after.take() == ""


def test_a_file_system_without_locks_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_lock(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_lock)
    lock = ReceiverLock("sim-1", config_of(tmp_path))
    assert lock.take() == ""
    assert lock.unguarded.startswith(f"{tmp_path}/.penstock keeps no locks: nothing keeps another receiver")
    assert lock.descriptors == ()


def test_a_holder_who_could_not_write_himself_down_is_another_receiver(tmp_path: Path) -> None:
    path = tmp_path / ".penstock" / "sim-1.lock"
    path.parent.mkdir()
    with path.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert (
            ReceiverLock("sim-1", config_of(tmp_path))
            .take()
            .startswith("receiver sim-1 waits for another rec")
        )
