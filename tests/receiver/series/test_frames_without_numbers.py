"""A stream whose frames have no number: no sentence calls one of them None."""

from __future__ import annotations

import pytest

from penstock.receiver.models import FrameStatus
from penstock.receiver.series.account import Account
from penstock.receiver.series.running_series import ResumedSeries
from penstock.stins.messages import Frame
from tests.receiver.sample_series import Bench, end, start
from tests.streams import image, pixels

WHOLE = pixels(0).tobytes()
BAD = {
    "cut": (image(None, pixels(0)), [b"cut"]),
    "no pixels": (image(None, pixels(0)), []),
    "too many": (image(None, pixels(0)), [WHOLE, WHOLE]),
    "no codec": (image(None, pixels(0), compression="zip"), [WHOLE]),
    "short": (image(None, pixels(0), compression="bslz4"), [b"x"]),
    "partial": (image(None, pixels(0), partial="two rows are missing"), [WHOLE]),
    "another shape": (image(None, pixels(0, (2, 2))), [pixels(0, (2, 2)).tobytes()]),
}


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize(
    ("number", "said"), [(43, "the frame of msg_number 43"), (None, "the frame without a number")]
)
def test_a_frame_that_cannot_be_used_is_named_by_its_message(
    what: str, number: int | None, said: str
) -> None:
    head, blobs = BAD[what]
    keys = {name: getattr(head, name) for name in ("shape", "type", "compression", "partial")}
    bench = Bench()
    begins = start(None if number is None else 41, None, shape=(4, 6), type="uint16", compression="none")
    bench.say(begins, Frame(image(None, pixels(0), msg_number=None if number is None else 42), [WHOLE]))
    bench.say(Frame(head.__class__(msg_number=number, **keys), blobs), end(None, None))
    told = [*bench.sink.sentences, bench.sink.outcome.reason]
    assert len(told) == 2 and all(said in sentence and "None" not in sentence for sentence in told), told


def test_one_that_has_no_place_is_told_what_its_sender_can_do() -> None:
    bench = Bench()
    bench.say(start(41, None, frames=1), Frame(image(None, pixels(0), msg_number=43), [WHOLE]), end(44, None))
    remedy = "let its sender number the frames of a series (`frame`)"
    assert f"the frame of msg_number 43 is index 1 of 1 frame; {remedy}" in bench.sink.outcome.reason
    assert "frame_origin" not in bench.sink.outcome.reason


def test_after_a_kill_only_the_dead_receiver_knew_its_place() -> None:
    bench, account = Bench(), Account(None)
    account.take(0, FrameStatus.STORED)
    bench.collector.resume(start(None), ResumedSeries(account, (), "/x.h5", 0.0), bench.now)
    bench.say(Frame(image(None, pixels(0), series="a"), [WHOLE]), end())
    assert not bench.sink.outcome.complete
    assert (
        "1 frame was out of range (the frame without a number has no known place, since the receiver was "
        "killed in the series; let its sender number"
    ) in bench.sink.outcome.reason
