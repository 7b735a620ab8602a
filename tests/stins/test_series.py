"""The states of a sender, and the numbers of its messages."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from penstock.stins import codec
from penstock.stins.errors import LocalError
from penstock.stins.messages import Frame, Header, SeriesEnd
from penstock.stins.series import TABLE, SeriesEncoder, SeriesEvent, SeriesState
from tests.streams import image, pixels

IMAGE = image(0, pixels(0), series="a")
SAY: dict[SeriesEvent, Callable[[SeriesEncoder], object]] = {
    SeriesEvent.START: lambda encoder: encoder.start(Header(filename="", series="a")),
    SeriesEvent.IMAGE: lambda encoder: encoder.image(IMAGE),
    SeriesEvent.END: lambda encoder: encoder.end(SeriesEnd()),
}


def in_state(state: SeriesState) -> SeriesEncoder:
    encoder = SeriesEncoder()
    if state is SeriesState.OPEN:
        SAY[SeriesEvent.START](encoder)
    return encoder


@pytest.mark.parametrize("state", SeriesState)
@pytest.mark.parametrize("event", SeriesEvent)
def test_only_what_the_table_allows_is_encoded(state: SeriesState, event: SeriesEvent) -> None:
    encoder = in_state(state)
    number = encoder.msg_number
    if (state, event) in TABLE:
        SAY[event](encoder)
        assert (encoder.state, encoder.msg_number) == (TABLE[state, event], number + 1)
    else:
        with pytest.raises(LocalError) as caught:
            SAY[event](encoder)
        assert caught.value.kind == "illegal_event"
        assert (encoder.state, encoder.msg_number) == (state, number), "an illegal event changes nothing"


def test_message_numbers_run_on_across_series_without_a_gap() -> None:
    encoder = SeriesEncoder()
    parts = []
    for _ in range(2):
        parts += [encoder.start(Header(filename="", series="a"))[0], encoder.image(IMAGE)]
        parts += encoder.end(SeriesEnd())
    assert [msgspec.json.decode(part)["msg_number"] for part in parts] == list(range(6))


def test_the_end_carries_the_id_of_its_series() -> None:
    encoder = in_state(SeriesState.OPEN)
    end = codec.decode(encoder.end(SeriesEnd(reason="stop")))
    assert end == SeriesEnd(msg_number=1, series="a", reason="stop")


def test_a_header_that_cannot_be_sent_leaves_the_sender_as_it_was() -> None:
    encoder = SeriesEncoder()
    with pytest.raises(LocalError):
        encoder.start(Header(filename=None))
    assert (encoder.state, encoder.msg_number) == (SeriesState.IDLE, 0)


def test_an_image_keeps_all_but_its_message_number() -> None:
    encoder = in_state(SeriesState.OPEN)
    sent = codec.decode([encoder.image(IMAGE)])
    assert isinstance(sent, Frame)
    assert sent.image == msgspec.structs.replace(IMAGE, msg_number=1)
