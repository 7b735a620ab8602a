"""The wire between a distributor and its workers.

One ROUTER, which the distributor binds, and one DEALER per worker: a worker needs one outgoing connection.
The first part of a message is JSON, tagged with `type`; arrays and frames follow as raw parts. Both ends
belong to the same release: `WIRE` is compared in `Hello`.

Series and bunches have numbers of the distributor's own, from 1: an id of a series comes twice when a
receiver was started again within it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.processing.wire.array import Array, WireError, arrays, of_total, parts_of
from penstock.processing.wire.messages import (
    WIRE,
    Begin,
    Bye,
    Configure,
    Done,
    End,
    Finish,
    Finished,
    FromDistributor,
    FromWorker,
    HandedOver,
    HandOver,
    Hello,
    MessageOfDistributor,
    MessageOfWorker,
    Parameter,
    Ready,
    Refused,
    Started,
    Step,
    Stop,
    StoredFile,
    StoredFrame,
    Use,
    Welcome,
    Work,
)
from penstock.stins.messages import Buffer

__all__ = [
    "Array",
    "Begin",
    "Bye",
    "CREDITS",
    "Configure",
    "Done",
    "End",
    "Finish",
    "Finished",
    "FromDistributor",
    "FromWorker",
    "HandOver",
    "HandedOver",
    "Hello",
    "MessageOfDistributor",
    "MessageOfWorker",
    "Parameter",
    "Ready",
    "Refused",
    "Started",
    "Step",
    "Stop",
    "StoredFile",
    "StoredFrame",
    "Use",
    "WIRE",
    "Welcome",
    "WireError",
    "Work",
    "arrays",
    "encode",
    "from_distributor",
    "from_worker",
    "of_total",
    "parts_of",
]

CREDITS = 2
"""Most bunches that a worker has at a time; it waits for no more frames of a batch once it has them."""

_encoder = msgspec.json.Encoder()
_of_worker = msgspec.json.Decoder(MessageOfWorker)
_of_distributor = msgspec.json.Decoder(MessageOfDistributor)


def encode(message: MessageOfWorker | MessageOfDistributor) -> bytes:
    """Return the first part of a message."""
    return _encoder.encode(message)


def from_worker(part: Buffer) -> MessageOfWorker:
    """Decode the first part of a worker's message.

    Raises:
        WireError: it is none.
    """
    message: MessageOfWorker = _decoded(_of_worker, part, "a worker")
    return message


def from_distributor(part: Buffer) -> MessageOfDistributor:
    """Decode the first part of a distributor's message.

    Raises:
        WireError: it is none.
    """
    message: MessageOfDistributor = _decoded(_of_distributor, part, "the distributor")
    return message


def _decoded(decoder: msgspec.json.Decoder[Any], part: Buffer, whose: str) -> Any:
    try:
        return decoder.decode(part)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise WireError(f"message of {whose} cannot be decoded: {error}") from error
