"""What a receiver can be told to expect: series of streams without start messages."""

from __future__ import annotations

import msgspec

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.sources import KINDS
from penstock.service.datagrams import LONGEST
from penstock.service.models import Refused
from penstock.stins.user_part import UserPart

MOST_BYTES = LONGEST // 2
"""Most bytes of a plan with its metadata: it goes to the data process in one message, with room to spare."""


def check(name: str, config: ReceiverConfig, part: UserPart) -> None:
    """Check that the series has to be announced, and can be.

    Raises:
        Refused: its stream has start messages, or its metadata is too long.
    """
    kind = config.source.type
    if not KINDS[kind].expects:
        without = ", ".join(name for name, each in KINDS.items() if each.expects)
        raise Refused(
            "not_expected",
            f"receiver {name} takes a stream of type {kind}, whose start messages announce each series; only "
            f"series of {without} are announced here",
        )
    nbytes = len(msgspec.json.encode(part))
    if nbytes > MOST_BYTES:
        raise Refused(
            "too_much_metadata",
            f"the plan of this series has {nbytes} bytes with its metadata, and receiver {name} takes "
            f"{MOST_BYTES} for a series without start message; shorten Metadata",
        )
