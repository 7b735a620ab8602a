"""Frames that threads transform ahead of their turn."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from penstock.receiver.transforms import frame_processor, prefetch
from penstock.receiver.transforms.frame_processor import FrameProcessor
from penstock.receiver.transforms.prefetch import FRAMES_PER_THREAD, Prefetch
from penstock.receiver.transforms.steps import Transform
from penstock.receiver.transforms.steps.chain import Chain
from penstock.stins.checksums import checksums
from penstock.stins.errors import BlobError
from penstock.stins.messages import Buffer, Frame, Header, Message, SeriesEnd, Start
from tests.receiver.pixels import pixels as unpacked
from tests.receiver.transforms.steps.references import cbf_encode
from tests.streams import image, pixels

THREADS = 3


@pytest.fixture
def processor() -> Iterator[FrameProcessor]:
    steps = [{"type": "cbf"}, {"type": "bslz4"}]
    made = FrameProcessor(Chain(msgspec.convert(steps, list[Transform])), THREADS)
    yield made
    made.close()


def cbf(number: int) -> Frame:
    array = pixels(number, dtype="int32")
    return Frame(image(number, array, compression="cbf"), [cbf_encode(array)])


START = Start(Header(filename=""), {})


def test_messages_keep_their_order_and_every_frame_is_transformed(processor: FrameProcessor) -> None:
    waiting = Prefetch(processor, THREADS)
    sent: list[Message] = [START, *(cbf(number) for number in range(50)), SeriesEnd()]
    came = [ready for message in sent for ready in waiting.push(message, running=False)]
    assert len(came) == len(sent) - THREADS * FRAMES_PER_THREAD
    came += waiting.drain()
    assert all(ready.message is other for ready, other in zip(came, sent, strict=True))
    for message, result, _ in came:
        if isinstance(message, Frame):
            assert message.image.frame is not None and result is not None
            np.testing.assert_array_equal(
                unpacked(processor.process(message, result)), pixels(message.image.frame, dtype="int32")
            )


def test_what_waits_is_bounded_in_bytes(processor: FrameProcessor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefetch, "BYTES", 1)
    waiting = Prefetch(processor, THREADS)
    assert list(waiting.push(first := cbf(0), running=True)) == []
    assert [ready.message for ready in waiting.push(cbf(1), running=True)] == [first]


def test_frames_of_no_series_cost_no_thread_time(
    processor: FrameProcessor, monkeypatch: pytest.MonkeyPatch
) -> None:
    transformed: list[Frame] = []
    monkeypatch.setattr(processor, "submit", transformed.append)
    waiting = Prefetch(processor, THREADS)
    list(waiting.push(cbf(0), running=False))
    assert transformed == []
    list(waiting.push(START, running=False))
    list(waiting.push(mine := cbf(1), running=False))
    assert transformed == [mine]


def test_a_broken_frame_is_refused_when_its_turn_comes(processor: FrameProcessor) -> None:
    bad = Frame(cbf(5).image, [b"cut"])
    result = processor.submit(bad)
    with pytest.raises(BlobError, match="frame 5: a CBF blob of 3 bytes"):
        processor.process(bad, result)


def test_without_a_chain_or_with_one_thread_nothing_runs_ahead() -> None:
    assert not FrameProcessor().parallel
    assert not FrameProcessor(Chain([]), 1).parallel


def test_a_broken_first_frame_does_not_settle_the_format(processor: FrameProcessor) -> None:
    processor.begin(Start(Header(filename=""), {}))
    with pytest.raises(BlobError):
        processor.process(Frame(image(0, pixels(0, (2, 2), "int32"), compression="cbf"), [b""]))
    processor.process(cbf(1))


SERIES = {"a": {"underload_value": 0}, "b": {"saturation_value": 50}, "resumed": {"underload_value": 5}}
"""Metadata of three series."""
LEFT = {"a": [[-6, np.nan, 90]], "b": [[-6, -11, np.nan]], "resumed": [[np.nan, np.nan, 90]]}
"""What is left of their pixels (4, -1, 100) behind a dark of 10."""


@pytest.mark.parametrize("threads", [1, THREADS])
def test_pixels_count_by_the_rule_of_their_own_series(tmp_path: Path, threads: int) -> None:
    """Frames of the second are transformed while the first runs, and a resumed one has no start message."""
    np.save(tmp_path / "dark.npy", np.full((1, 3), 10, "float32"))
    steps = msgspec.convert([{"type": "dark_flat", "dark": str(tmp_path / "dark.npy")}], list[Transform])
    chain = Chain(steps)
    made = FrameProcessor(chain, threads)
    array = np.array([[4, -1, 100]], "int32")

    def frames(series: str) -> list[Message]:
        return [Frame(image(number, array, series=series), [array.tobytes()]) for number in range(2)]

    starts = {name: Start(Header(filename="", series=name), facts) for name, facts in SERIES.items()}
    waiting = Prefetch(made, threads)
    sent = [starts["a"], *frames("a"), starts["b"], *frames("b")]
    came = [*(ready for message in sent for ready in waiting.push(message, running=True)), *waiting.drain()]
    for message, result, _ in came:
        if isinstance(message, Start):
            made.begin(message)
        elif isinstance(message, Frame):
            name = message.image.series or ""
            assert (result is None) == (threads == 1)
            assert result is None or result.rule == chain.rule(SERIES[name]), "it has to be done again"
            found = unpacked(made.process(message, result))
            np.testing.assert_array_equal(found, np.array(LEFT[name], "float32"))
    made.begin(starts["resumed"], admitted=True)
    for message in frames("resumed"):
        assert isinstance(message, Frame)
        found = unpacked(made.process(message, made.submit(message)))
        np.testing.assert_array_equal(found, np.array(LEFT["resumed"], "float32"))
    made.close()


def test_frames_of_a_resumed_series_are_transformed_twice_only_at_first(tmp_path: Path) -> None:
    np.save(tmp_path / "dark.npy", np.full((4, 6), 10, "float32"))
    steps = msgspec.convert([{"type": "dark_flat", "dark": str(tmp_path / "dark.npy")}], list[Transform])
    made = FrameProcessor(Chain(steps), THREADS)
    made.begin(Start(Header(filename=""), {"underload_value": 0}), admitted=True)
    results = []
    for number in range(2):
        frame = Frame(image(number, pixels(number)), [pixels(number).tobytes()])
        results.append(made.submit(frame))
        made.process(frame, results[-1])
    assert [result.rule.underload for result in results if result is not None] == [None, 0]
    made.close()


WIDE = (256, 256)
"""128 KiB: the smallest frame of 16 bits whose checksum a thread computes."""


def summed(number: int, shape: tuple[int, ...] = WIDE, sums: tuple[str, ...] | None = None) -> Frame:
    """A frame with its announced checksum, or another one."""
    array = pixels(number, shape)
    return Frame(
        image(number, array, checksums=sums or checksums("crc32", [array.tobytes()])), [array.tobytes()]
    )


def announces(checksum: str | None = "crc32", **keys: Any) -> Start:
    return Start(Header(filename="", checksum=checksum, **keys), {})


@pytest.mark.parametrize(
    ("start", "ahead"),
    [
        (announces(), True),
        (announces(shape=WIDE, type="uint16"), True),
        (announces(shape=(256, 255), type="uint16"), False),
        (announces(frame_bytes=2**17), True),
        (announces(frame_bytes=2**17 - 1, shape=WIDE, type="uint16"), False),
        (announces(checksum="rot13"), False),
        (announces(checksum=None), False),
    ],
)
def test_checksums_of_large_frames_are_computed_ahead(start: Start, ahead: bool) -> None:
    made = FrameProcessor()
    waiting = Prefetch(made, 1)
    assert waiting.takes(start) is ahead
    assert waiting.takes(summed(0)) is ahead
    result = made.submit(summed(0))
    assert (result is not None) is ahead
    made.expect(announces())
    assert made.submit(summed(0, (256, 255))) is None, "a smaller one is checked in its turn"
    made.close()


def test_a_wrong_checksum_is_found_by_a_thread_and_refused_in_its_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[str] = []

    def noted(algorithm: str, blobs: Sequence[Buffer]) -> tuple[str, ...]:
        threads.append(threading.current_thread().name)
        return checksums(algorithm, blobs)

    monkeypatch.setattr(frame_processor, "checksums", noted)
    made = FrameProcessor()
    waiting = Prefetch(made, 1)
    wrong = summed(1, sums=("00000000",))
    sent: list[Message] = [announces(), summed(0), wrong, summed(2), SeriesEnd()]
    came = [ready for message in sent for ready in waiting.push(message, running=False)]
    came += waiting.drain()
    assert [ready.message for ready in came] == sent
    made.begin(announces())
    (found,) = checksums("crc32", wrong.blobs)
    for message, result, _ in came[1:-1]:
        assert isinstance(message, Frame)
        if message is wrong:
            with pytest.raises(BlobError) as refused:
                made.process(message, result)
            said = f"checksum {found}, announced was 00000000"
            assert str(refused.value) == f"frame 1: {said}; the data were damaged on the way"
        else:
            assert made.process(message, result) is message
    assert len(threads) == 3 and all(name.startswith("checksum") for name in threads)
    made.close()


def test_of_a_resumed_series_and_of_another_algorithm_the_checksums_are_right_too() -> None:
    made = FrameProcessor()
    made.begin(announces(), admitted=True)
    assert made.submit(summed(0)) is not None
    made.expect(announces(checksum="adler32"))  # the next one is under way
    ahead = made.submit(summed(0))
    made.begin(announces())
    made.process(summed(0), ahead)
    made.close()


def test_what_waits_for_its_checksum_is_bounded_as_received(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefetch, "SUMMED_BYTES", 2 * 2**17)
    made = FrameProcessor()
    waiting = Prefetch(made, 1)
    list(waiting.push(announces(), running=False))
    assert [ready.message for number in (0, 1) for ready in waiting.push(summed(number), running=True)] == []
    assert waiting.nbytes == 2 * 2**17
    assert len(list(waiting.push(summed(2), running=True))) == 2, "the start message, and the first frame"
    made.close()
