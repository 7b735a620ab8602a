"""A series that cannot be begun: whose fault it is says the state, and it is the last series all the same."""

from __future__ import annotations

import os
from collections.abc import Callable

import cbor2
import pytest

from penstock.cli.main import main
from penstock.receiver.client import ReceiverRefused
from penstock.receiver.models import SeriesCheck, Status
from tests import hostile
from tests.receiver.conftest import Shared
from tests.receiver.disks import more_than_free
from tests.receiver.processes import ReceiverProcess, bound_by_rights
from tests.streams import Streamer, text

pytestmark = pytest.mark.slow

PLAIN = {"shape": [1, 2], "type": "uint16", "compression": "none"}


def series_is(name: str) -> Callable[[Status], bool]:
    """Whether the last series is this one, and has ended."""
    return lambda status: status.series is not None and status.series.id == name and not status.series.active


@pytest.mark.parametrize(
    "bad",
    [hostile.STARTS[0], *(pytest.param(bad, marks=pytest.mark.slow) for bad in hostile.STARTS[1:])],
    ids=lambda item: item.name,
)
def test_a_start_message_that_is_at_fault_is_refused_and_leaves_idle(
    bad: hostile.BadStart, shared: Shared
) -> None:
    receiver, streamer = shared
    before = receiver.ended(streamer.series_of(str(receiver.root / "first.h5"), 3)).drained
    refused = streamer.start(str(receiver.root / "x.h5"), frames=2, **bad.keys)
    for number in range(2):
        streamer.frame(number)
    streamer.end()
    status = receiver.wait(lambda status: status.drained == before + 3)
    assert (status.state, status.error) == ("idle", "")
    assert status.refused and status.series.reason == f"not taken: {status.refused}"
    assert (status.series.id, status.series.complete, status.series.filename) == (refused, False, None)
    assert not status.series.taken
    assert (status.counts.received, status.counts.stored, status.counts.planned) == (0, 0, 2)
    assert main(["status", receiver.client.url]) == 1
    taken = receiver.ended(streamer.series_of(str(receiver.root / "x.h5"), 2))
    assert (taken.state, taken.refused, taken.counts.stored) == ("idle", "", 2)


def test_a_file_that_cannot_be_begun_is_an_error_and_the_counts_are_not_those_of_the_series_before(
    shared: Shared,
) -> None:
    receiver, streamer = shared
    receiver.ended(streamer.series_of(str(receiver.root / "x.h5"), 3))
    too_much = more_than_free(receiver.root)
    refused = streamer.start(str(receiver.root / "y.h5"), **too_much)
    streamer.frame(0)
    status = receiver.wait(lambda status: status.state == "error")
    assert f"{receiver.root} has " in status.error and status.refused == ""
    assert status.error.endswith("free some space or choose another folder, then reset the receiver")
    assert (status.series.id, status.series.complete) == (refused, False)
    assert status.series.reason == f"not taken: {status.error}"
    assert (status.counts.received, status.counts.planned) == (0, too_much["frames"])


def test_a_taken_file_name_costs_its_own_series_only(shared: Shared) -> None:
    receiver, streamer = shared
    path = receiver.root / "x.h5"
    receiver.ended(streamer.series_of(str(path), 3))
    content = path.read_bytes()
    refused = streamer.series_of(str(path), 5)
    status = receiver.wait(series_is(refused))
    assert (status.state, status.error, status.series.taken) == ("idle", "", False)
    assert status.refused.startswith(f"{path} exists and is not overwritten; give another name")
    assert status.series.reason == f"not taken: {status.refused}"
    status = receiver.wait(lambda status: status.counts.dropped == 5)
    assert (status.counts.planned, status.counts.received) == (5, 0)
    others = [streamer.series_of(str(receiver.root / f"{name}.h5"), 2) for name in "abc"]
    assert receiver.ended(others[-1]).refused == ""
    assert path.read_bytes() == content
    past = receiver.client.history(5)
    verdicts = [(each.series.id, each.verdict, each.counts.dropped) for each in past[:4]]
    assert verdicts == [*((series, "complete", 0) for series in others[::-1]), (refused, "not taken", 5)]
    assert past[3].why == f"{status.refused}; 5 of its frames were dropped"


def test_frames_that_name_no_series_are_counted_for_the_one_that_was_not_taken(shared: Shared) -> None:
    receiver, streamer = shared
    path = receiver.root / "x.h5"
    receiver.ended(streamer.series_of(str(path), 1))
    streamer.send([text(htype="header", filename=str(path), frames=4)])
    for number in range(4):
        streamer.send([text(htype="image", frame=number, **PLAIN), bytes(4)])
    receiver.wait(lambda status: status.counts.dropped == 4)
    streamer.send([text(htype="series_end")])
    receiver.ended(streamer.series_of("", 1))
    assert [each.counts.dropped for each in receiver.client.history(2)] == [0, 4]


def test_frames_without_a_name_whose_start_message_was_lost_are_refused(shared: Shared) -> None:
    receiver, streamer = shared
    path = receiver.root / "x.h5"
    receiver.ended(streamer.series_of("", 1))
    before, drained = receiver.client.status().errors.get("no_header", 0), receiver.client.status().drained
    whole = [[text(htype="image", frame=n, **PLAIN), bytes(4)] for n in range(2)] + [
        [text(htype="series_end")]
    ]
    for message in [[text(htype="header", filename=str(path), frames=2)], *whole, *whole]:
        streamer.send(message)
    status = receiver.wait(lambda status: status.drained == drained + 3)
    assert (status.state, status.counts.stored, status.series.complete) == ("idle", 2, True)
    assert status.errors["no_header"] == before + 1
    assert status.refused.startswith("frames of a series whose start message was not received are dropped")
    assert f"no_header: {status.refused}" in receiver.log.read_text()
    assert receiver.ended(streamer.series_of("", 1)).refused == ""


@pytest.mark.parametrize("named", [True, False], ids=["named", "without a name"])
@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ({"filename": None}, 'header: `filename` is null; send a path, or "" for live view only'),
        ({"filename": "", "channels": 7}, "header: Expected `array | null`, got `int` - at `$.channels`"),
        ({"filename": "", "type": "complex512", "shape": [1, 2]}, 'type "complex512"; known are'),
    ],
    ids=["it cannot be read", "nor can this", "it announces what cannot be"],
)
def test_the_first_sentence_of_a_refusal_stays_whatever_comes_of_that_series(
    bad: dict[str, object], why: str, named: bool, shared: Shared
) -> None:
    receiver, streamer = shared
    before = receiver.ended(streamer.series_of("", 1))
    series = {"series": "refused"} if named else {}
    for message in (
        [text(htype="header", **bad, **series)],
        *([text(htype="image", frame=n, **PLAIN, **series), bytes(4)] for n in range(3)),
        [text(htype="series_end", **series)],
    ):
        streamer.send(message)
    status = receiver.wait(lambda status: status.drained == before.drained + 4)
    assert (status.state, status.series.id, status.series.taken) == ("idle", series.get("series", ""), False)
    assert status.refused.startswith(why)
    assert status.series.reason == f"not taken: {status.refused}"
    assert status.last_error.endswith(status.refused), "nothing else is said of it"
    assert status.errors.get("no_header", 0) == before.errors.get("no_header", 0)
    assert status.counts.dropped == 3
    streamer.send([text(htype="image", frame=0, series="other", **PLAIN), bytes(4)])
    status = receiver.wait(lambda status: status.drained == before.drained + 5)
    assert status.refused.startswith("frames of a series whose start message was not received are dropped")


def test_frames_after_a_reset_in_mid_series_are_refused(shared: Shared) -> None:
    receiver, streamer = shared
    before = receiver.client.status().errors.get("no_header", 0)
    streamer.start(str(receiver.root / "x.h5"), **more_than_free(receiver.root))
    streamer.frame(0)
    receiver.wait(lambda status: status.state == "error")
    receiver.client.reset()
    streamer.frame(1)
    streamer.frame(2)
    status = receiver.wait(lambda status: status.refused != "")
    assert (status.state, status.errors["no_header"]) == ("idle", before + 1)
    assert "was the receiver started or reset in the middle of the series" in status.refused


def test_a_taken_name_of_a_segment_is_refused_too_also_where_only_frames_say_their_shape(
    start_receiver: Callable[..., ReceiverProcess], streamer: Streamer
) -> None:
    receiver = start_receiver(frames_per_file=2)
    receiver.connected()
    other = receiver.root / "x_000007.h5"
    other.write_bytes(b"precious")
    path = receiver.root / "x.h5"
    with pytest.raises(ReceiverRefused, match=f"{other} exists"):
        receiver.client.check(SeriesCheck(filename=str(path)))
    refused = streamer.series_of(str(path), 2)
    status = receiver.wait(series_is(refused))
    assert (status.state, path.exists(), other.read_bytes()) == ("idle", False, b"precious")
    assert status.refused.startswith(f"{other} exists")


def test_a_folder_without_the_rights_costs_its_own_series_only(
    start_receiver: Callable[..., ReceiverProcess], streamer: Streamer
) -> None:
    """It may not be entered, or not written, or nothing be made in it: EACCES of the kernel, no stand-in."""
    receiver = start_receiver(within=bound_by_rights())
    receiver.connected()
    (receiver.root / "shut").mkdir(mode=0o600)
    (receiver.root / "read").mkdir(mode=0o500)
    for number, name in enumerate(("shut/x.h5", "read/x.h5", "read/new/x.h5")):
        path = receiver.root / name
        for overwrite in (False, True):
            with pytest.raises(ReceiverRefused, match="may not write there: change the rights") as checked:
                receiver.client.check(SeriesCheck(filename=str(path), overwrite=overwrite))
            assert checked.value.kind == "not_writable"
            refused = streamer.series_of(str(path), 1, overwrite=overwrite)
            status = receiver.wait(series_is(refused))
            assert (status.state, status.error, status.series.taken) == ("idle", "", False)
            assert status.refused == f"{checked.value} (series {refused})"
            assert f"Permission denied. The receiver (user id {os.geteuid()})" in status.refused
        taken = receiver.ended(streamer.series_of(str(receiver.root / f"{number}.h5"), 1))
        assert (taken.refused, taken.series.complete) == ("", True)


@pytest.mark.parametrize("name", ["a/../../x", "a\nb", "x" * 252, "../x"])
def test_a_name_made_of_a_bad_id_is_refused_and_so_is_one_too_long_for_its_segments(
    name: str, start_receiver: Callable[..., ReceiverProcess], streamer: Streamer
) -> None:
    receiver = start_receiver(
        source={"type": "dectris-v2"}, filename_template="{series}.h5", frames_per_file=2
    )
    receiver.connected()
    with pytest.raises(ReceiverRefused) as checked:
        receiver.client.check(SeriesCheck(filename=None, series=name))
    streamer.send([cbor2.dumps({"type": "start", "series_unique_id": name})])
    status = receiver.wait(lambda status: bool(status.refused))
    assert (status.state, status.series.id, status.series.taken) == ("idle", name, False)
    assert status.refused.startswith(str(checked.value))
    streamer.send([cbor2.dumps({"type": "start", "series_unique_id": "x" * 240})])
    assert receiver.wait(lambda status: status.state == "running").refused == ""


def test_before_arm_an_existing_file_asks_for_no_reset(shared: Shared) -> None:
    receiver, streamer = shared
    path = str(receiver.root / "x.h5")
    receiver.ended(streamer.series_of(path, 3))
    with pytest.raises(ReceiverRefused, match=r"exists and is not overwritten; .* overwrite\)$"):
        receiver.client.check(SeriesCheck(filename=path))


def test_a_series_that_is_dropped_in_error_is_logged_once(shared: Shared) -> None:
    receiver, streamer = shared
    before, logged = receiver.client.status().drained, len(receiver.log.read_text())
    streamer.start(str(receiver.root / "x.h5"), **more_than_free(receiver.root))
    streamer.frame(0)
    streamer.end()
    receiver.wait(lambda status: status.state == "error" and status.drained == before + 2)
    dropped = [streamer.series_of(str(receiver.root / name), 20) for name in ("y.h5", "z.h5")]
    receiver.wait(lambda status: status.drained == before + 2 + 2 * 22)
    lines = [line for line in receiver.log.read_text()[logged:].splitlines() if "is dropped" in line]
    for line, name, series in zip(lines, ("y.h5", "z.h5"), dropped, strict=True):
        words = (
            f"sim-1: {receiver.root / name} is dropped: the receiver is in Error, reset it (series {series})"
        )
        assert line.endswith(words)


def test_a_series_of_nothing_but_corrupt_frames_has_a_file_that_says_so_and_leaves_idle(
    shared: Shared,
) -> None:
    receiver, streamer = shared
    series = streamer.start(str(receiver.root / "x.h5"), frames=2)
    for number in range(2):
        streamer.frame(number, blobs=[b"cut"])
    streamer.end()
    status = receiver.ended(series)
    assert (status.state, status.refused, status.series.complete) == ("idle", "", False)
    assert (status.counts.corrupt, status.counts.stored) == (2, 0)
