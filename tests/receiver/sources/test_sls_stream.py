"""A detector receiver of the SLS software publishes, a running receiver takes it into files."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import h5py
import numpy as np
import pytest

from penstock.receiver.models import FrameStatus, Status
from tests.receiver.processes import ReceiverProcess
from tests.receiver.sources.sls import DUMMY, Port, message, pixels


@pytest.fixture
def port() -> Iterator[Port]:
    running = Port()
    yield running
    running.close()


@contextmanager
def started(folder: Path, port: Port) -> Iterator[ReceiverProcess]:
    """A receiver that takes what the port publishes."""
    running = ReceiverProcess(
        folder, port.endpoint, {"type": "sls"}, filename_template="{detector}_{series}.h5"
    )
    try:
        port.subscribed()
        running.connected()
        yield running
    finally:
        running.close()


@pytest.fixture
def receiver(tmp_path: Path, port: Port) -> Iterator[ReceiverProcess]:
    with started(tmp_path, port) as running:
        yield running


@pytest.fixture(scope="module")
def taking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ReceiverProcess, Port]]:
    """A receiver and its port that tests share; idle."""
    with closing(Port()) as port, started(tmp_path_factory.mktemp("sls"), port) as running:
        yield running, port


def over(series_before: str | None = None) -> Callable[[Status], bool]:
    return lambda status: (
        status.series is not None and not status.series.active and status.series.id != series_before
    )


def file(status: Status) -> Path:
    assert status.series is not None
    assert status.series.filename is not None
    return Path(status.series.filename)


def last(receiver: ReceiverProcess) -> str | None:
    """Id of the last series."""
    series = receiver.client.status().series
    return None if series is None else series.id


def test_acquisition_becomes_a_complete_file(taking: tuple[ReceiverProcess, Port]) -> None:
    receiver, port = taking
    before = last(receiver)
    port.acquisition(20)
    status = receiver.wait(over(before))
    assert status.series is not None
    assert status.series.complete
    assert (status.counts.planned, status.counts.stored, status.state) == (20, 20, "idle")
    with h5py.File(file(status)) as written:
        detector = written["entry/instrument/sim_1"]
        assert np.array_equal(detector["data"], [pixels(index) for index in range(20)])
        assert detector["description"].asstr()[()] == "JUNGFRAU"
        assert np.allclose(detector["timestamp_hw"], 2.0 + 1e-4 * np.arange(20))


def test_frames_that_publishing_lost_are_missing_at_their_index(
    taking: tuple[ReceiverProcess, Port],
) -> None:
    receiver, port = taking
    before = last(receiver)
    port.acquisition(10, leave_out=[0, 4, 5, 9])
    status = receiver.wait(over(before))
    assert (status.counts.planned, status.counts.stored, status.counts.missing) == (10, 6, 4)
    with h5py.File(file(status)) as written:
        detector = written["entry/instrument/sim_1"]
        assert np.flatnonzero(detector["frame_status"][:] == FrameStatus.MISSING).tolist() == [0, 4, 5]
        assert np.array_equal(detector["data"][6], pixels(6))


@pytest.mark.slow
def test_what_a_receiver_was_too_slow_for_is_missing_and_the_rest_is_at_its_index(
    receiver: ReceiverProcess, port: Port
) -> None:
    frames, rows, columns = 100, 512, 512
    big = {"shape": [columns, rows], "size": 2 * rows * columns, "frames": frames}

    def blob(index: int) -> bytes:
        return np.full((rows, columns), index, "<u2").tobytes()

    port.send(message(0, blob(0), **big))
    receiver.received(1)
    os.kill(receiver.data_process(), signal.SIGSTOP)
    for index in range(1, frames):
        port.send(message(index, blob(index), **big))
    os.kill(receiver.data_process(), signal.SIGCONT)

    def ended(status: Status) -> bool:
        port.send([DUMMY])  # it may be lost, too; so it is sent until it was heard
        return over()(status)

    status = receiver.wait(ended)
    counts = status.counts
    assert counts.missing > 0
    assert counts.stored + counts.missing == counts.planned == frames
    with h5py.File(file(status)) as written:
        detector = written["entry/instrument/sim_1"]
        stored = np.flatnonzero(detector["frame_status"][:] == FrameStatus.STORED)
        assert len(stored) == counts.stored
        assert all((detector["data"][index] == index).all() for index in stored)


@pytest.mark.slow
def test_file_is_where_the_sls_software_would_put_it_and_a_lost_end_costs_nothing(
    receiver: ReceiverProcess, port: Port
) -> None:
    fname = str(receiver.root / "visitors" / "scan")
    for index in range(3):
        port.send(message(index, frames=3, fname=fname, fileIndex=4))
    port.acquisition(2, fname=fname, fileIndex=5, first=4)
    status = receiver.wait(lambda status: over()(status) and status.counts.planned == 2)
    assert file(status) == receiver.root / "visitors" / "scan_5.h5"
    with h5py.File(receiver.root / "visitors" / "scan_4.h5") as written:
        assert len(written["entry/data/data"]) == 3


@pytest.mark.slow
def test_hostile_messages_are_counted_and_cost_no_frame(receiver: ReceiverProcess, port: Port) -> None:
    port.send([b"not JSON"])
    port.send(message(0, frames=4, bitmode=12))
    port.send(message(0, frames=4))
    port.send(message(1, frames=4, blob=bytes(47)))
    port.send(message(2, frames=4)[:1])
    port.send(message(2, frames=4))
    port.send(message(3, frames=4))
    port.send([DUMMY])
    status = receiver.wait(over())
    assert (status.counts.stored, status.counts.corrupt, status.counts.missing) == (3, 1, 0)
    assert status.errors == {"not_json": 1, "unknown_type": 1, "blob_length": 1, "wrong_parts": 1}


def test_frame_of_which_packets_were_lost_is_stored_and_marked_partial(
    taking: tuple[ReceiverProcess, Port],
) -> None:
    receiver, port = taking
    before, known = last(receiver), receiver.client.status().errors.get("partial", 0)
    for index in range(3):
        port.send(message(index, frames=3, completeImage=int(index != 1), packetNumber=97))
    port.send([DUMMY])
    status = receiver.wait(over(before))
    assert status.series is not None
    assert not status.series.complete
    assert (status.counts.stored, status.counts.partial) == (2, 1)
    assert status.errors["partial"] == known + 1
    assert "only 97 of its packets" in status.last_error
    with h5py.File(file(status)) as written:
        detector = written["entry/instrument/sim_1"]
        assert detector["frame_status"][:].tolist() == [1, FrameStatus.PARTIAL, 1]
        assert np.array_equal(detector["data"][1], pixels(1))


@pytest.mark.slow
def test_detector_receiver_that_dies_ends_its_series(receiver: ReceiverProcess, port: Port) -> None:
    port.send(message(0, frames=4))
    receiver.received(1)
    port.close()
    status = receiver.wait(over())
    assert status.series is not None
    assert "is gone" in status.series.reason
    assert (status.counts.stored, status.counts.missing) == (1, 3)
