"""The corpus of hostile input against a running receiver: each item is counted by its kind, nothing that was
written is lost, and the next series is taken as if nothing had been."""

from __future__ import annotations

import itertools
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from penstock.receiver.client import ReceiverRefused
from penstock.receiver.models import SeriesCheck, Status
from penstock.stins.messages import Header, SeriesEnd
from tests import hostile
from tests.receiver.processes import DEADLINE, ReceiverProcess
from tests.streams import Streamer, pixels, text

REMEDY = re.compile("choose (another|a shorter|a file)|add a file name|give a path")

NUMBERS = itertools.count()


class Pair:
    """A streamer and the one receiver that all of these tests torment."""

    def __init__(self, folder: Path) -> None:
        self.streamer = Streamer()
        self.receiver = ReceiverProcess(folder, self.streamer.endpoint, min_free_mb=1)

    def name(self) -> str:
        """A file that is not there yet."""
        return str(self.receiver.root / f"series-{next(NUMBERS)}.h5")

    def errors(self, kind: str) -> int:
        """How many of a kind have been counted."""
        return self.receiver.client.status().errors.get(kind, 0)

    def sound_series(self) -> None:
        """A series like any other; fails if the receiver has suffered."""
        name = self.name()
        status = self.receiver.ended(self.streamer.series_of(name, 2))
        assert (status.state, status.counts.stored) == ("idle", 2), status
        holds(name, [0, 1])


def holds(name: str, indices: list[int]) -> None:
    """The file opens plainly and has these frames."""
    with h5py.File(name) as file:
        found = file["entry/data/data"]
        for index in indices:
            np.testing.assert_array_equal(found[index], pixels(index))


def sums_up(status: Status) -> bool:
    counts = status.counts
    settled = counts.stored + counts.delivered + counts.discarded + counts.corrupt
    return settled + counts.missing + counts.not_triggered + counts.pending == counts.planned


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    made = Pair(tmp_path_factory.mktemp("hostile"))
    yield made
    alive = made.receiver.alive()
    made.receiver.close()
    made.streamer.close()
    assert alive, "the process has lived through all of it"


@pytest.mark.parametrize("message", hostile.MESSAGES, ids=lambda item: item.name)
def test_a_hostile_message_in_a_series_is_counted_and_its_neighbours_are_stored(
    message: hostile.Message, pair: Pair
) -> None:
    before, name = pair.errors(message.kind), pair.name()
    series = pair.streamer.start(name, frames=2)
    pair.streamer.frame(0)
    pair.streamer.send(message.parts)
    pair.streamer.frame(1)
    pair.streamer.end()
    status = pair.receiver.ended(series)
    assert status.errors.get(message.kind, 0) == before + 1, status.last_error
    assert status.last_error.startswith(f"{message.kind}: ")
    counts, ended = status.counts, status.series
    assert (status.state, counts.stored) == ("idle", 2)
    holds(name, [0, 1])
    # A frame whose number can be read is replaced by the sound one.
    assert (counts.undecodable, ended.complete) in ((1, False), (0, True))
    if counts.undecodable:
        assert f"1 message could not be read ({message.kind}: " in ended.reason
        with h5py.File(name) as file:
            record = file["entry/instrument/sim_1/series"]
            assert (record["undecodable"][()], record["state"].asstr()[()]) == (1, "incomplete")
            assert record["reason"].asstr()[()] == ended.reason


@pytest.mark.parametrize("bad", [*hostile.FRAMES, *hostile.CHANGES], ids=lambda item: item.name)
def test_a_hostile_frame_is_corrupt_at_its_index_and_its_neighbours_are_stored(
    bad: hostile.BadFrame, pair: Pair
) -> None:
    before, name = pair.errors(bad.kind), pair.name()
    series = pair.streamer.start(name, frames=3)
    pair.streamer.frame(0)
    pair.streamer.send(bad.parts(series=series))
    pair.streamer.frame(2)
    pair.streamer.end(triggered=3)
    status = pair.receiver.ended(series)
    assert status.errors.get(bad.kind, 0) == before + 1, status.last_error
    assert "corrupt at index 1: " in status.series.reason
    assert (status.counts.stored, status.counts.corrupt, status.counts.missing) == (2, 1, 0)
    assert sums_up(status)
    holds(name, [0, 2])
    with h5py.File(name) as file:
        assert file["entry/instrument/sim_1/frame_status"][()].tolist() == [1, 4, 1]


def test_a_wrong_checksum_is_counted(pair: Pair) -> None:
    before = pair.errors("checksum")
    series = pair.streamer.start("", frames=2, checksum="crc32")
    pair.streamer.send(hostile.CHECKSUMS.parts(series=series))
    pair.streamer.frame(0)
    pair.streamer.end()
    status = pair.receiver.ended(series)
    assert status.errors["checksum"] == before + 1
    assert (status.counts.delivered, status.counts.corrupt) == (1, 1)


def test_checksums_of_an_unknown_algorithm_are_said_in_status_and_file(pair: Pair) -> None:
    name, before = pair.name(), pair.errors("unknown_checksum")
    series = pair.streamer.series_of(name, 2, checksum="md4")
    status = pair.receiver.ended(series)
    assert status.errors["unknown_checksum"] == before + 1
    assert status.series is not None and status.series.checksum == "unchecked: md4"
    with h5py.File(name) as file:
        assert file["entry/instrument/sim_1/series/checksum"].asstr()[()] == "unchecked: md4"


@pytest.mark.parametrize("number", hostile.NUMBERS)
def test_a_frame_number_out_of_range_is_counted_and_nothing_is_lost(number: int, pair: Pair) -> None:
    before, name = pair.errors("frame_out_of_range"), pair.name()
    series = pair.streamer.start(name, frames=5)
    pair.streamer.frame(number, pixels(0))
    for index in range(5):
        pair.streamer.frame(index)
    pair.streamer.end()
    status = pair.receiver.ended(series)
    assert status.errors["frame_out_of_range"] == before + 1
    assert (status.counts.out_of_range, status.counts.stored) == (1, 5)
    holds(name, list(range(5)))


@pytest.mark.parametrize("bad", hostile.STARTS + hostile.LARGE_STARTS, ids=lambda item: item.name)
def test_a_start_that_announces_what_cannot_be_is_counted_and_creates_nothing(
    bad: hostile.BadStart, pair: Pair
) -> None:
    before, name = pair.errors(bad.kind), pair.name()
    pair.streamer.start(name, frames=1, **bad.keys)
    pair.streamer.frame(0)
    pair.streamer.end()
    status = pair.receiver.wait(lambda status: status.errors.get(bad.kind, 0) > before)
    assert status.state == "idle"
    assert not Path(name).exists()
    pair.sound_series()


@pytest.mark.parametrize("bad", hostile.NAMES, ids=lambda item: item.name)
def test_a_hostile_file_name_costs_its_own_series_only_as_the_check_says_beforehand(
    bad: hostile.BadName, pair: Pair
) -> None:
    before, name = pair.errors(bad.kind), bad.make(pair.receiver.root)
    with pytest.raises(ReceiverRefused) as checked:
        pair.receiver.client.check(SeriesCheck(filename=name, frames=1))
    series = pair.streamer.series_of(name, 1)
    status = pair.receiver.wait(lambda status: status.counts.dropped == 1)
    assert (status.state, status.series.id, status.series.taken) == ("idle", series, False)
    assert status.errors[bad.kind] == before + 1
    assert status.refused == f"{checked.value} (series {series})"
    assert checked.value.kind == bad.kind
    assert REMEDY.search(status.refused), status.refused
    pair.sound_series()


@pytest.mark.parametrize("name", hostile.METADATA)
def test_odd_metadata_do_not_break_the_series(name: str, pair: Pair) -> None:
    file = pair.name()
    series = pair.streamer.start(file, hostile.METADATA[name], frames=2)
    for index in range(2):
        pair.streamer.frame(index)
    pair.streamer.end()
    status = pair.receiver.ended(series)
    assert (status.state, status.series.complete) == ("idle", True), status
    holds(file, [0, 1])


def test_an_existing_file_is_not_touched_and_stops_nothing(pair: Pair) -> None:
    before, name = pair.errors("file_exists"), Path(pair.name())
    name.write_bytes(b"precious")
    pair.streamer.series_of(str(name), 1)
    status = pair.receiver.wait(lambda status: status.errors.get("file_exists", 0) == before + 1)
    assert (status.state, f"{name} exists" in status.refused) == ("idle", True)
    assert name.read_bytes() == b"precious"
    pair.sound_series()


def test_a_header_in_mid_series_ends_it_with_what_came(pair: Pair) -> None:
    first, second = pair.name(), pair.name()
    old = pair.streamer.start(first, frames=3)
    pair.streamer.frame(0)
    # A streamer that was restarted.
    pair.streamer.encoder = type(pair.streamer.encoder)()
    new = pair.streamer.series_of(second, 1)
    status = pair.receiver.ended(new)
    assert status.series.complete
    holds(first, [0])
    holds(second, [0])
    with h5py.File(first) as file:
        reason = file["entry/instrument/sim_1/series/reason"].asstr()[()]
        assert file["entry/instrument/sim_1/series/id"].asstr()[()] == old
    assert "end message was lost" in reason


def test_an_end_without_a_header_and_frames_of_nothing_are_drained(pair: Pair) -> None:
    before = pair.receiver.client.status().drained
    pair.streamer.send([text(htype="series_end", msg_number=10**6)])
    pair.streamer.send([text(**hostile.IMAGE), bytes(hostile.NBYTES)])
    status = pair.receiver.wait(lambda status: status.drained >= before + 2)
    assert status.state == "idle"
    pair.sound_series()


def test_a_foreign_stream_as_in_the_format_s_description_is_written(pair: Pair) -> None:
    name, array = pair.name(), pixels(0, (2160, 2560))
    header: dict[str, Any] = {"htype": "header", "msg_number": 41, "filename": name}
    pair.streamer.send([text(**header), b'{"exptime":0.01,"label":"s1","nproj":1,"save_raw":true}'])
    pair.streamer.send(
        [
            b'{"htype":"image","msg_number":42,"frame":0,"shape":[2160,2560],"type":"uint16","compression":"none"}',
            array.tobytes(),
        ]
    )
    pair.streamer.send([b'{"htype":"series_end","msg_number":43}'])
    status = pair.receiver.wait(
        lambda status: (
            status.series is not None and status.series.filename == name and not status.series.active
        )
    )
    assert (status.series.complete, status.counts.planned, status.counts.stored) == (True, 1, 1)
    with h5py.File(name) as file:
        np.testing.assert_array_equal(file["entry/data/data"][0], array)
        assert file["entry/instrument/sim_1/exptime"][()] == 0.01
        assert file["entry/instrument/sim_1/exptime"].attrs["units"] == "s"


def test_an_old_foreign_stream_without_message_numbers_is_written(pair: Pair) -> None:
    name = pair.name()
    pair.streamer.send([text(htype="header", filename=name)])
    for index in range(3):
        head = text(htype="image", frame=index, shape=[4, 6], type="uint16", compression="none")
        pair.streamer.send([head, pixels(index).tobytes()])
    pair.streamer.send([text(htype="series_end")])
    status = pair.receiver.wait(
        lambda status: (
            status.series is not None and status.series.filename == name and not status.series.active
        )
    )
    assert (status.series.complete, status.counts.stored) == (True, 3)
    holds(name, [0, 1, 2])


def test_a_foreign_stream_without_a_name_is_shown_and_not_written(pair: Pair) -> None:
    before = sorted(pair.receiver.root.iterdir())
    pair.streamer.send([json.dumps({"htype": "header", "filename": "", "msg_number": 7}).encode()])
    head = text(htype="image", msg_number=8, frame=0, shape=[4, 6], type="uint16", compression="none")
    pair.streamer.send([head, pixels(0).tobytes()])
    pair.streamer.send([text(htype="series_end", msg_number=9)])
    status = pair.receiver.wait(lambda status: status.counts.delivered == 1)
    assert status.series.filename is None
    assert sorted(pair.receiver.root.iterdir()) == before


@pytest.mark.slow
def test_a_message_over_the_size_limit_is_counted_and_the_connection_comes_back(tmp_path: Path) -> None:
    streamer = Streamer()
    receiver = ReceiverProcess(tmp_path, streamer.endpoint, source={"max_message_mb": 1.0})
    try:
        series = streamer.start(str(receiver.root / "x.h5"), frames=3)
        streamer.frame(0)
        receiver.flushed(1)
        streamer.frame(1, pixels(1, (1000, 1000)))
        status = receiver.wait(lambda status: bool(status.errors.get("message_refused")))
        assert "source.max_message_mb (1 MB)" in status.last_error
        receiver.connected()
        streamer.frame(2)
        streamer.end(triggered=3)
        status = receiver.ended(series)
        assert (status.state, status.counts.stored, status.counts.missing) == ("idle", 2, 1)
        holds(str(receiver.root / "x.h5"), [0, 2])
        status = receiver.ended(streamer.series_of(str(receiver.root / "y.h5"), 2))
        assert (status.state, status.series.complete) == ("idle", True)
    finally:
        receiver.close()
        streamer.close()


def test_a_peer_that_does_not_speak_zeromq_is_told_and_a_streamer_in_its_place_is_found(
    tmp_path: Path,
) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(DEADLINE)
    endpoint = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
    receiver = ReceiverProcess(tmp_path, endpoint)
    try:
        with listener.accept()[0] as peer:
            peer.sendall(b"\xff" * 100)
            status = receiver.wait(lambda status: bool(status.errors.get("message_refused")))
        assert f"the connection to {endpoint} was closed" in status.last_error
        listener.close()
        streamer = Streamer(endpoint)
        try:
            receiver.connected()
            assert receiver.ended(streamer.series_of(str(receiver.root / "x.h5"), 2)).series.complete
        finally:
            streamer.close()
    finally:
        receiver.close()
        listener.close()


def test_several_sockets_refuse_a_stream_without_order_with_the_remedy(tmp_path: Path) -> None:
    streamer = Streamer()
    receiver = ReceiverProcess(tmp_path, streamer.endpoint, source={"sockets": 2})
    try:
        receiver.connected()
        streamer.send([text(htype="header", filename="")])
        status = receiver.wait(lambda status: bool(status.errors.get("no_order_key")))
        assert "source.sockets to 1" in status.last_error
        streamer.send(streamer.encoder.start(Header(filename="", series="a", frames=0)))
        streamer.send(streamer.encoder.end(SeriesEnd()))
        receiver.ended("a")
    finally:
        receiver.close()
        streamer.close()
