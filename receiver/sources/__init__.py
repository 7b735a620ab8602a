"""Sources: from a vendor's messages to STINS messages, without any I/O.

Everything becomes STINS at the door, so that one collector, one writer and one forwarder serve
every detector. To add one, write a `Source` in a file here and name it in `create`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from penstock.stins.messages import Buffer, Message


class Source(Protocol):
    """A decoder of one stream. It may remember what the start message said."""

    ordered_by_message: bool
    """Whether `msg_number` orders all messages; needed for more than one socket, unless every
    message names its series."""

    def decode(self, parts: Sequence[Buffer]) -> Message | None:
        """One multi-part message; `None` when it carries nothing for the account.

        Blobs are passed through untouched.

        Raises:
            RemoteError: the message is not what the protocol allows.
        """


def create(kind: str) -> Source:
    """A new decoder for a stream of this type: "stins", "dectris-v1" or "dectris-v2"."""
    # Imported here so that a STINS receiver does not need cbor2.
    match kind:
        case "stins":
            from penstock.receiver.sources.stins import StinsSource

            return StinsSource()
        case "dectris-v1":
            from penstock.receiver.sources.dectris_v1 import DectrisV1Source

            return DectrisV1Source()
        case "dectris-v2":
            from penstock.receiver.sources.dectris_v2 import DectrisV2Source

            return DectrisV2Source()
    raise ValueError(f"no source of type {kind!r}")
