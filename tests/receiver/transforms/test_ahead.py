"""Frames that threads transform ahead of their turn."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
import pytest

from penstock.receiver.transforms import Transform, ahead
from penstock.receiver.transforms.ahead import FRAMES_PER_THREAD, Ahead
from penstock.receiver.transforms.chain import Chain
from penstock.receiver.worker import Worker
from penstock.stins.errors import BlobError
from penstock.stins.messages import Frame, Header, Message, SeriesEnd, Start
from tests.receiver.pixels import pixels as unpacked
from tests.receiver.transforms.references import cbf_encode
from tests.streams import image, pixels

THREADS = 3


@pytest.fixture
def worker() -> Iterator[Worker]:
    steps = [{"type": "cbf"}, {"type": "bslz4"}]
    made = Worker(Chain(msgspec.convert(steps, list[Transform])), THREADS)
    yield made
    made.close()


def cbf(number: int) -> Frame:
    array = pixels(number, dtype="int32")
    return Frame(image(number, array, compression="cbf"), [cbf_encode(array)])


START = Start(Header(filename=""), {})


def test_messages_keep_their_order_and_every_frame_is_transformed(worker: Worker) -> None:
    waiting = Ahead(worker, THREADS)
    sent: list[Message] = [START, *(cbf(number) for number in range(50)), SeriesEnd()]
    came = [ready for message in sent for ready in waiting.push(message, running=False)]
    assert len(came) == len(sent) - THREADS * FRAMES_PER_THREAD
    came += waiting.drain()
    assert all(one is other for one, other in zip(came, sent, strict=True))
    for message in came:
        if isinstance(message, Frame):
            assert message.image.frame is not None
            np.testing.assert_array_equal(
                unpacked(worker.process(message)), pixels(message.image.frame, dtype="int32")
            )


def test_what_waits_is_bounded_in_bytes(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "BYTES", 1)
    waiting = Ahead(worker, THREADS)
    assert list(waiting.push(first := cbf(0), running=True)) == []
    assert list(waiting.push(cbf(1), running=True)) == [first]


def test_frames_of_no_series_cost_no_thread_time(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    transformed: list[Frame] = []
    monkeypatch.setattr(worker, "ahead", transformed.append)
    waiting = Ahead(worker, THREADS)
    list(waiting.push(cbf(0), running=False))
    assert transformed == []
    list(waiting.push(START, running=False))
    list(waiting.push(mine := cbf(1), running=False))
    assert transformed == [mine]


def test_a_broken_frame_is_refused_when_its_turn_comes(worker: Worker) -> None:
    bad = Frame(cbf(5).image, [b"cut"])
    worker.ahead(bad)
    with pytest.raises(BlobError, match="frame 5: a CBF blob of 3 bytes"):
        worker.process(bad)


def test_a_frame_whose_turn_has_passed_is_forgotten(worker: Worker) -> None:
    frame = cbf(0)
    worker.ahead(frame)
    worker.forget(frame)
    worker.forget(frame)
    np.testing.assert_array_equal(unpacked(worker.process(frame)), pixels(0, dtype="int32"))


def test_without_a_chain_or_with_one_thread_nothing_runs_ahead() -> None:
    assert not Worker().parallel
    assert not Worker(Chain([]), 1).parallel


def test_a_broken_first_frame_does_not_settle_the_format(worker: Worker) -> None:
    worker.begin(Header(filename=""))
    with pytest.raises(BlobError):
        worker.process(Frame(image(0, pixels(0, (2, 2), "int32"), compression="cbf"), [b""]))
    worker.process(cbf(1))
