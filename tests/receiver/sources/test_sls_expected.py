"""A series that is announced over HTTP and then published by an SLS detector receiver."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest

from penstock.receiver.client import ReceiverRefused
from penstock.stins.user_part import UserPart
from tests.receiver.processes import ReceiverProcess
from tests.receiver.sources.sls import DUMMY, Port, message, pixels
from tests.streams import Streamer

OURS, NEXT = "0123456789abcdef", "fedcba9876543210"


@pytest.fixture(scope="module")
def port() -> Iterator[Port]:
    running = Port()
    yield running
    running.close()


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory, port: Port) -> Iterator[ReceiverProcess]:
    running = ReceiverProcess(tmp_path_factory.mktemp("sls"), port.endpoint, {"type": "sls"})
    try:
        port.subscribed()
        running.connected()
        yield running
    finally:
        running.close()


def part(receiver: ReceiverProcess, name: str, arm: str = OURS, **values: object) -> UserPart:
    return UserPart(arm=arm, filename=str(receiver.root / name), **values)  # type: ignore[arg-type]


def publish(port: Port, frames: int, arm: str, first: int = 1, **keys: object) -> None:
    for index in range(frames):
        port.send(message(index, addJsonHeader={"arm": arm}, first=first, **keys))
    port.send([DUMMY])


def test_it_is_written_as_it_was_announced(receiver: ReceiverProcess, port: Port) -> None:
    found = receiver.client.expect(part(receiver, "plan.h5", frames=4, frames_per_trigger=2))
    assert found.filename == str(receiver.root / "plan.h5")
    assert receiver.wait(lambda status: status.expected == OURS).state == "idle"
    publish(port, 4, OURS)
    status = receiver.wait(lambda status: status.series is not None and status.series.id == OURS)
    status = receiver.wait(lambda status: status.state == "idle")
    assert status.series is not None and status.series.complete and status.expected == ""
    with h5py.File(receiver.root / "plan.h5") as written:
        detector = written["entry/instrument/sim_1"]
        assert np.array_equal(detector["data"], [pixels(index) for index in range(4)])
        assert detector["trigger"][:].tolist() == [0, 0, 1, 1]


def test_what_would_fail_is_refused_before_anything_is_armed(receiver: ReceiverProcess) -> None:
    (receiver.root / "there.h5").touch()
    with pytest.raises(ReceiverRefused, match="there.h5"):
        receiver.client.expect(part(receiver, "there.h5", frames=1))
    with pytest.raises(ReceiverRefused, match="outside"):
        receiver.client.expect(UserPart(arm=OURS, filename="/elsewhere/x.h5"))
    with pytest.raises(ReceiverRefused, match="shorten Metadata") as refused:
        receiver.client.expect(part(receiver, "long.h5", metadata={"notes": "x" * 2**16}))
    assert refused.value.kind == "too_much_metadata"
    assert receiver.client.status().expected == ""


def test_a_plan_of_many_kilobytes_arrives(receiver: ReceiverProcess, port: Port) -> None:
    receiver.client.expect(part(receiver, "notes.h5", frames=1, metadata={"notes": "x" * 60_000}))
    publish(port, 1, OURS, first=50)
    receiver.wait(lambda status: status.counts.stored == 1 and status.state == "idle")
    with h5py.File(receiver.root / "notes.h5") as written:
        assert len(written["entry/instrument/sim_1/notes"].asstr()[()]) == 60_000


def test_a_withdrawn_series_is_taken_as_somebody_elses_and_its_file_left_alone(
    receiver: ReceiverProcess, port: Port
) -> None:
    receiver.client.expect(part(receiver, "withdrawn.h5", frames=2))
    assert receiver.client.forget(OURS).expected == ""
    publish(port, 2, OURS, first=70, fname=str(receiver.root / "withdrawn.h5"))
    status = receiver.wait(lambda status: status.errors.get("stale_arm", 0) == 1 and status.state == "idle")
    assert status.series is not None and status.series.filename is None and status.series.id != OURS
    assert OURS in status.last_error and "somebody else" in status.last_error
    assert not (receiver.root / "withdrawn.h5").exists()


def test_two_armings_of_one_file_name_and_one_foreign_start_between_them(
    receiver: ReceiverProcess, port: Port
) -> None:
    name = {"fname": str(receiver.root / "same.h5")}
    receiver.client.expect(part(receiver, "same.h5", frames=2))
    publish(port, 2, OURS, first=100, **name)
    receiver.ended(OURS)
    publish(port, 3, OURS, first=102, **name)  # whoever else starts it leaves our settings as they are
    foreign = receiver.wait(lambda status: status.counts.received == 3 and status.state == "idle").series
    receiver.client.expect(part(receiver, "same.h5", NEXT, frames=4, overwrite=True))
    publish(port, 4, NEXT, first=105, **name)
    receiver.ended(NEXT)
    last = [past.series for past in receiver.client.history(3)]
    assert foreign is not None and foreign.filename is None
    assert [series.id for series in last] == [NEXT, foreign.id, OURS]
    with h5py.File(receiver.root / "same.h5") as written:
        assert len(written["entry/data/data"]) == 4


@pytest.mark.slow
def test_an_entry_dies_with_its_receiver(tmp_path: Path) -> None:
    port = Port()
    receiver = ReceiverProcess(tmp_path, port.endpoint, {"type": "sls"})
    try:
        receiver.client.expect(part(receiver, "x.h5", frames=1))
        assert receiver.client.status().expected == OURS
        os.kill(receiver.data_process(), signal.SIGKILL)
        assert receiver.wait(lambda status: status.expected == "").state == "idle"
    finally:
        receiver.close()
        port.close()


def test_an_entry_whose_time_is_up_is_gone(receiver: ReceiverProcess) -> None:
    receiver.client.expect(part(receiver, "late.h5", frames=1), 0.05)
    receiver.wait(lambda status: status.expected == "")


def test_a_stream_with_start_messages_expects_nothing(tmp_path: Path, streamer: Streamer) -> None:
    receiver = ReceiverProcess(tmp_path, streamer.endpoint)
    try:
        with pytest.raises(ReceiverRefused, match="only series of sls are announced here") as refused:
            receiver.client.expect(part(receiver, "x.h5"))
        assert refused.value.kind == "not_expected"
    finally:
        receiver.close()
