"""Sources: decoders of vendors' messages into STINS messages, without any I/O.

Every stream becomes STINS as it is received, so that one collector, one writer and one forwarder serve
every detector. To add a source, write a `Source` in a file here and give it a line in `KINDS`:
docs/how-to/add-a-source.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import NamedTuple, Protocol, TypeAlias

from penstock.receiver.sources.expected import ExpectedSeries
from penstock.stins.errors import StinsError
from penstock.stins.messages import Buffer, Message

Decoded: TypeAlias = Message | tuple[Message | StinsError, ...]
"""The result of decoding one multi-part message, normally one STINS message. A tuple if the message holds two
things (a first frame that also begins its series); empty if it is irrelevant for the account. An error in the
tuple is counted: it names the part of the message that was left out."""


class Source(Protocol):
    """The decoder of one stream. It may keep state of the series."""

    def decode(self, parts: Sequence[Buffer]) -> Decoded:
        """Decode one multi-part message; blobs are passed through unchanged if possible.

        Raises:
            RemoteError: the message is not what the protocol allows.
        """


class Kind(NamedTuple):
    """The properties of a kind of stream."""

    decoder: str
    """FILE:CLASS of its `Source` in this folder; imported on use: its libraries may not be installed."""
    published: bool = False
    """True: the peer binds PUB, and the receiver connects SUB sockets. False: PUSH and PULL."""
    numbered: bool = False
    """True: messages are numbered (`msg_number`), so that those of several sockets can be ordered."""
    modular: bool = False
    """True: start messages give the position of a module, so that several streams can form one image."""
    expects: bool = False
    """True: there is no start message, and the decoder takes file and plan from an `ExpectedSeries`."""


KINDS: Mapping[str, Kind] = {
    "stins": Kind("stins:StinsSource", numbered=True, modular=True),
    "dectris-v1": Kind("dectris_v1:DectrisV1Source"),
    "dectris-v2": Kind("dectris_v2:DectrisV2Source"),
    "sls": Kind("sls:SlsSource", published=True, modular=True, expects=True),
}
"""The kinds of stream, by `source.type`."""


def create(kind: str, expected: ExpectedSeries | None = None) -> Source:
    """Return a new decoder for a stream.

    Args:
        kind: one of `KINDS`.
        expected: entry of the receiver, for kinds without start messages.
    """
    module, _, name = KINDS[kind].decoder.partition(":")
    decoder = getattr(import_module(f"{__name__}.{module}"), name)
    source: Source = decoder(expected) if KINDS[kind].expects else decoder()
    return source
