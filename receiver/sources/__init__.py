"""Sources: from a vendor's messages to STINS messages, without any I/O.

Everything becomes STINS at the door, so that one collector, one writer and one forwarder serve
every detector. To add one, write a `Source` in a file here and give it a line in `KINDS`:
docs/how-to/add-a-source.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import NamedTuple, Protocol, TypeAlias

from penstock.stins.errors import StinsError
from penstock.stins.messages import Buffer, Message

Decoded: TypeAlias = Message | tuple[Message | StinsError, ...]
"""What one multi-part message becomes: as a rule one STINS message. A tuple where a protocol says two things
at once (a first frame that also begins its series), an empty one where it says nothing for the account. An
error in it is to be counted: it says what of the message was left out."""


class Source(Protocol):
    """A decoder of one stream. It may remember what it has seen of the series."""

    def decode(self, parts: Sequence[Buffer]) -> Decoded:
        """One multi-part message; blobs are passed through untouched where that is possible.

        Raises:
            RemoteError: the message is not what the protocol allows.
        """


class Kind(NamedTuple):
    """A kind of stream."""

    decoder: str
    """FILE:CLASS of its `Source` in this folder, imported when it is used: its libraries may not be there."""
    published: bool = False
    """Its peer binds PUB, so SUB sockets are connected to it. Otherwise it binds PUSH, and they are PULL."""
    numbered: bool = False
    """Its messages count on (`msg_number`), so that those of several sockets can be put in order."""
    modular: bool = False
    """Its start messages can say where a module sits, so that several streams can be joined to one image."""


KINDS: Mapping[str, Kind] = {
    "stins": Kind("stins:StinsSource", numbered=True, modular=True),
    "dectris-v1": Kind("dectris_v1:DectrisV1Source"),
    "dectris-v2": Kind("dectris_v2:DectrisV2Source"),
    "sls": Kind("sls:SlsSource", published=True, modular=True),
}
"""What `source.type` can be."""


def create(kind: str) -> Source:
    """A new decoder for a stream of this kind, one of `KINDS`."""
    module, _, name = KINDS[kind].decoder.partition(":")
    source: Source = getattr(import_module(f"{__name__}.{module}"), name)()
    return source
