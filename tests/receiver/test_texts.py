"""What a peer says in words, of any length and with any characters, through a whole receiver."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import h5py

from penstock.receiver.series.running_series import MAX_REASON
from tests.receiver.conftest import Shared
from tests.receiver.processes import ReceiverProcess
from tests.receiver.sample_series import Bench, end, frame, start
from tests.streams import Streamer, pixels

FORGED = "2026-01-01 00:00:00,000 ERROR penstock.receiver.process.states: forged"


def test_an_end_message_of_any_length_ends_its_series_and_nothing_else(shared: Shared) -> None:
    receiver, streamer = shared
    process, logged = receiver.data_process(), len(receiver.log.read_bytes())
    for length in (5_000, 300_000, 1_100_000, 3_000_000):
        path = receiver.root / f"x{length}.h5"
        series = streamer.start(str(path), frames=3)
        for number in range(2):
            streamer.frame(number)
        streamer.end(reason="fault", message="x" * length, triggered=3, sent=2)
        status = receiver.ended(series)
        assert status.series is not None
        assert re.search(r"ended by fault: x+ …$", status.series.reason)
        assert len(status.series.reason) <= MAX_REASON
        with h5py.File(path) as file:
            assert file["entry/instrument/sim_1/series/reason"][()].decode() == status.series.reason
        assert receiver.ended(streamer.series_of(str(receiver.root / f"y{length}.h5"), 3)).counts.stored == 3
        assert (receiver.data_process(), receiver.client.status().stalled) == (process, 0)
    assert len(receiver.log.read_bytes()) - logged < 80_000


def test_no_word_of_a_peer_makes_a_line_of_the_log(shared: Shared) -> None:
    receiver, streamer = shared
    series = f"a\n{FORGED}"
    streamer.start(str(receiver.root / "x.h5"), frames=2, series=series, checksum=f"b\n{FORGED}")
    second = {"htype": "header", "filename": "", "series": series, "msg_number": 0}
    streamer.send([json.dumps(second).encode()])  # it is named in a warning
    head = {"htype": "image", "frame": 0, "shape": [4, 6], "series": series, "compression": "none"}
    streamer.send([json.dumps({**head, "type": f"c\n{FORGED}"}).encode(), pixels(0).tobytes()])
    streamer.frame(1, partial=f"d\n{FORGED}")
    streamer.end(reason="stop", message=f"e\n{FORGED}\x1b[31m", triggered=2, sent=2)
    status = receiver.ended(series)
    lines = receiver.log.read_text().splitlines()
    assert len([line for line in lines if "forged" in line]) >= 5
    assert not [line for line in lines if line.startswith("2026-01-01")]
    assert status.series is not None
    assert status.series.reason.isprintable() and "\\x1b[31m" in status.series.reason
    assert status.last_error.isprintable()


def test_the_cause_stays_when_the_senders_words_are_cut() -> None:
    bench = Bench()
    bench.say(start(frames=2), frame(0), end(reason="fault", message="the fan\nhas stopped " * 10**5))
    reason = bench.sink.outcome.reason
    assert reason.startswith("1 of 2 frames: 1 missing; ended by fault: the fan\\nhas stopped")
    assert len(reason) < MAX_REASON


def test_what_is_said_of_a_series_begins_with_its_file_and_ends_with_its_id(
    start_receiver: Callable[..., ReceiverProcess], streamer: Streamer
) -> None:
    receiver = start_receiver(memory_mb=300)
    receiver.connected()
    path = receiver.root / "x.h5"
    series = streamer.start(str(path), frames=2)
    streamer.frame(1)
    streamer.frame(7)
    streamer.end(triggered=2)
    receiver.ended(series)
    refused = streamer.start(str(path), frames=2, frame_bytes=3_000_000)
    streamer.end()
    status = receiver.wait(lambda status: bool(status.refused))
    assert status.refused.startswith(f"{path}: frames of ")
    assert status.series is not None and status.series.reason == f"not taken: {status.refused}", "said once"
    said = [line for line in receiver.log.read_text().splitlines() if series in line or refused in line]
    assert len(said) >= 4, "begun, a frame out of range, ended, refused"
    for line in said:
        assert line.index(str(path)) < line.index("(series "), line
        assert re.search(rf"\(series ({series}|{refused})\)$", line), line


def test_an_existing_file_is_said_with_the_file_first(shared: Shared) -> None:
    receiver, streamer = shared
    path = receiver.root / "x.h5"
    receiver.ended(streamer.series_of(str(path), 1))
    streamer.start(str(path), frames=1)
    assert receiver.wait(lambda status: bool(status.refused)).refused.startswith(str(path))
