"""What the banner says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.gui.live.sources.follower import Snapshot
from penstock.gui.live.texts.sentences import message, no_answer_yet, progress
from penstock.gui.words import age
from penstock.receiver.models import Connection, Counts, Series, Status

URL = "http://127.0.0.1:5000"
FILE = "/data/visitors/20250001/raw/scan-0007_sim-1.h5"


def test_before_the_first_answer_it_names_the_address_it_asks() -> None:
    says = message(Snapshot(url=URL))

    assert (says.kind, says.title) == ("connecting", "CONNECTING")
    assert URL in says.text


def test_who_has_never_answered_is_named_with_what_to_look_at() -> None:
    assert no_answer_yet(Snapshot(url=URL)).startswith(
        f"nobody has answered yet at {URL}; is this the address"
    )
    assert no_answer_yet(Snapshot(url=URL, trouble="it is HTTP 404")).startswith(
        "it is HTTP 404; is this the"
    )
    assert (
        no_answer_yet(Snapshot(url=URL, trouble="it is not there; is it on?")) == "it is not there; is it on?"
    )


def test_the_viewers_own_fault_is_no_matter_of_the_address() -> None:
    assert no_answer_yet(Snapshot(url=URL, fault="the feed has ended")) == "the feed has ended"


def test_while_running_it_counts_the_frames_and_names_the_file() -> None:
    series = Series(id="1", filename=FILE, active=True)
    status = Status(state="running", series=series, counts=Counts(planned=1000, received=412))

    says = message(Snapshot(url=URL, status=status))

    assert (says.title, says.text) == ("RUNNING", "412 of 1,000 frames · writing scan-0007_sim-1.h5")


def test_an_interrupted_network_is_said_while_the_series_waits_for_it() -> None:
    connection = Connection(endpoint="tcp://camera:9999", connections=1, silent_seconds=9)
    series = Series(id="1", filename=FILE, active=True)
    status = Status(state="running", series=series, connections=[connection])

    says = message(Snapshot(url=URL, status=status))

    assert says.text.endswith(" · the streamer's host has not answered for 9 s")


def test_a_series_that_writes_nothing_is_said_to_write_nothing() -> None:
    status = Status(state="running", series=Series(id="1", filename=None, active=True))

    says = message(Snapshot(url=URL, status=status))

    assert "nothing is written" in says.text
    assert "total not announced" in says.text


def test_a_series_that_was_not_taken_is_no_live_series() -> None:
    reason = "not taken: frames of 72 MB would take 4 GB"
    series = Series(id="1", filename=None, active=False, complete=False, taken=False, reason=reason)

    says = message(Snapshot(url=URL, status=Status(state="idle", series=series, refused="…")))

    assert (says.kind, says.text) == ("notice", f"The last series was {reason}.")


def test_an_error_gives_its_cause_and_what_to_do() -> None:
    status = Status(state="error", error="the disk of /data is full")

    says = message(Snapshot(url=URL, status=status))

    assert (says.kind, says.title) == ("error", "ERROR")
    assert says.text.startswith("The disk of /data is full. To reset it: ")
    assert f"penstock reset {URL}" in says.text


def test_an_incomplete_last_series_is_told_with_its_reason() -> None:
    series = Series(id="1", filename=FILE, active=False, complete=False, reason="end message lost")

    says = message(Snapshot(url=URL, status=Status(state="idle", series=series, counts=Counts(planned=9))))

    assert says.kind == "notice"
    assert says.text == "scan-0007_sim-1.h5 is incomplete after 0 of 9 frames: end message lost."


def test_a_reason_that_begins_with_the_count_is_not_told_twice() -> None:
    series = Series(
        id="1", filename=FILE, active=False, complete=False, reason="3 of 9 frames: 6 missing; ended by stop"
    )
    counts = Counts(planned=9, received=3)

    says = message(Snapshot(url=URL, status=Status(state="idle", series=series, counts=counts)))

    assert says.text == "scan-0007_sim-1.h5 is incomplete: 3 of 9 frames: 6 missing; ended by stop."


def test_a_live_view_that_was_stopped_lacks_nothing() -> None:
    series = Series(
        id="1", filename=None, active=False, complete=False, reason="3 of 9 frames; ended by stop"
    )
    counts = Counts(planned=9, received=3, delivered=3, not_triggered=6)

    says = message(Snapshot(url=URL, status=Status(state="idle", series=series, counts=counts)))

    assert says.kind == "idle"
    assert says.text.endswith("Last: live series, ended: 3 of 9 frames; ended by stop.")


def test_an_idle_receiver_without_a_streamer_says_where_it_looks_for_one() -> None:
    status = Status(state="idle", connections=[Connection(endpoint="tcp://camera:9999", connections=0)])

    says = message(Snapshot(url=URL, status=status))

    assert "no streamer answers at tcp://camera:9999" in says.text
    series = Series(id="a", filename="/data/a.h5", active=False, complete=True, taken=True)
    says = message(Snapshot(url=URL, status=replace(status, series=series)))
    assert says.text.startswith("Ready for the next series, once the streamer at tcp://camera:9999 is back. ")


def test_an_absent_receiver_outweighs_its_last_state() -> None:
    status = Status(state="running")

    says = message(Snapshot(url=URL, status=status, away_since=0.0, trouble="nobody answers"))

    assert says.title == "AWAY"
    assert says.text.startswith("Receiver away since ")


def test_a_fault_of_the_viewer_outweighs_everything() -> None:
    says = message(Snapshot(url=URL, away_since=0.0, fault="the viewer's feed has ended (KeyError)"))

    assert says.title == "VIEWER FAULT"


def test_who_has_never_answered_is_not_said_to_have_gone() -> None:
    says = message(Snapshot(url=URL, away_since=0.0, trouble="nobody answers"))

    assert says.title == "AWAY"
    assert says.text.startswith("No receiver has answered since ")


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (Counts(planned=1, received=1), "1 of 1 frame"),
        (Counts(planned=2, received=1), "1 of 2 frames"),
        (Counts(received=1), "1 frame, total not announced"),
        (Counts(received=0), "0 frames, total not announced"),
    ],
)
def test_one_frame_is_one_frame(counts: Counts, words: str) -> None:
    assert progress(counts) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-0.2, "0 s"), (59.9, "59 s"), (61, "1 min 1 s"), (7200, "2 h 0 min"), (97_200, "1 d 3 h")],
)
def test_an_age_has_two_units(seconds: float, words: str) -> None:
    assert age(seconds) == words
