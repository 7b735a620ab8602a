"""Frames by reference: the memory that a receiver shares with a distributor on its machine, and its messages.

The memory is one file: a page that says whose it is, one byte per slot, and the slots. The receiver takes a
free slot, copies header and blobs of a frame into it one after the other, and sends a reference; the
distributor frees the slot when the frame's state is final. Start and end are STINS messages as for every
consumer; only an entry with `shared: true` sends references.

The first page has two records: the receiver writes the first, and with it a new nonce each time it takes all
slots back, so that whoever still reads old frames can tell; the distributor that holds the memory (`flock`)
writes the second, with a token of its own, so that the receiver notices when another one has taken its place.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import msgspec

from penstock.stins.errors import RemoteError
from penstock.stins.messages import Amount, Buffer, MessageNumber, Name, SharedMemory

MAGIC = b"PENSTOCK"
VERSION = 1
FREE, TAKEN = 0, 1
"""States of a slot: the receiver writes TAKEN, the distributor FREE."""
PAGE = 4096
LEAST_SLOT = 64
"""Slots begin at multiples of so many bytes."""
NONCE = 16
"""Bytes of the nonce."""
TOKEN = 8
"""Bytes of a holder's token."""
NOBODY = bytes(TOKEN)
"""The token while no distributor holds the memory."""
_HEAD = struct.Struct(f"<8sI{NONCE}s")
_HOLDER = struct.Struct(f"<{TOKEN}sI")
_HOLDER_AT = 1024
"""Offset of the holder's record: token, length, JSON."""
_NONCE_AT = _HEAD.size - NONCE


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """The distributor that holds the memory."""

    pid: int
    host: str
    user: str = ""


class Layout(msgspec.Struct, frozen=True):
    """The layout of the slots of the memory; the same for all frames of a series."""

    slots: int
    slot_bytes: int
    """A multiple of `LEAST_SLOT`."""

    @classmethod
    def within(cls, nbytes: int, frame_bytes: int) -> Layout:
        """Return the layout of memory of `nbytes` bytes for frames of `frame_bytes`, header included.

        There is no slot if not one frame fits.
        """
        slot_bytes = -(-max(frame_bytes, 1) // LEAST_SLOT) * LEAST_SLOT
        slots = max(0, (nbytes - 2 * PAGE) // (slot_bytes + 1))
        while slots and cls(slots, slot_bytes).nbytes > nbytes:
            slots -= 1
        return cls(slots, slot_bytes)

    @property
    def first(self) -> int:
        """Offset of the first slot; the states of the slots lie between `PAGE` and this, a byte each."""
        return PAGE + -(-self.slots // PAGE) * PAGE

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the layout takes."""
        return self.first + self.slots * self.slot_bytes

    def place(self, slot: int) -> int:
        """Return the offset of a slot.

        Raises:
            IndexError: there is no such slot.
        """
        if not 0 <= slot < self.slots:
            raise IndexError(f"there is no slot {slot}; there are {self.slots}")
        return self.first + slot * self.slot_bytes


class Reference(msgspec.Struct, frozen=True, array_like=True):
    """The place of a frame."""

    frame: Amount
    """Its index."""
    slot: Amount
    header_bytes: Amount
    """Bytes of the first part of its message, at the beginning of the slot; the blobs follow at once."""
    blob_bytes: tuple[Amount, ...]


class References(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="htype", tag="frames"
):
    """First part of a message of references; the second is a list of `Reference`."""

    msg_number: MessageNumber | None = None
    series: Name | None = None


_decoder = msgspec.json.Decoder(References)
_list_decoder = msgspec.json.Decoder(list[Reference])
_holder_decoder = msgspec.json.Decoder(Holder)
_encoder = msgspec.json.Encoder()


def head(nonce: bytes) -> bytes:
    """Return the beginning of the memory's first page."""
    return _HEAD.pack(MAGIC, VERSION, nonce)


def nonce_in(page: Buffer) -> bytes:
    """Return the nonce in the memory's first page.

    Raises:
        RemoteError: this is not such memory, or of another version.
    """
    if len(page) < _HEAD.size:
        raise RemoteError("not_shared_memory", f"{len(page)} bytes are no memory shared by a receiver")
    magic, version, nonce = _HEAD.unpack_from(page)
    if magic != MAGIC:
        raise RemoteError("not_shared_memory", "this is no memory shared by a receiver")
    if version != VERSION:
        raise RemoteError(
            "not_shared_memory",
            f"the shared memory has version {version}, and this Penstock knows {VERSION}: "
            "use the same release on both sides",
        )
    return bytes(nonce)


def has_nonce(memory: Buffer, nonce: bytes) -> bool:
    """Return whether the memory still has this nonce: slots that were filled under it hold what they held."""
    return bytes(memory[_NONCE_AT : _HEAD.size]) == nonce


def held_by(token: bytes, holder: Holder | None) -> tuple[int, bytes]:
    """Return where in the first page the record of a holder is written, and the record."""
    text = b"" if holder is None else _encoder.encode(holder)
    return _HOLDER_AT, _HOLDER.pack(token, len(text)) + text


def token_in(memory: Buffer) -> bytes:
    """Return the token of the memory's holder; `NOBODY` if there is none."""
    return bytes(memory[_HOLDER_AT : _HOLDER_AT + TOKEN])


def holder_in(memory: Buffer) -> Holder | None:
    """Return who has written the record of the holder last, if it did not let go of the memory."""
    token, length = _HOLDER.unpack_from(memory, _HOLDER_AT)
    begin = _HOLDER_AT + _HOLDER.size
    if token == NOBODY or length > PAGE - begin:
        return None
    try:
        return _holder_decoder.decode(bytes(memory[begin : begin + length]))
    except (msgspec.DecodeError, UnicodeDecodeError):  # it is being written at this moment
        return None


def encode(message: References, references: Sequence[Reference]) -> list[bytes]:
    """Return the parts of a message of references."""
    return [_encoder.encode(message), _encoder.encode(references)]


def decode(parts: Sequence[Buffer]) -> tuple[References, list[Reference]]:
    """Decode a message of references.

    Raises:
        RemoteError: it is something else.
    """
    try:
        first, second = parts
        return _decoder.decode(first), _list_decoder.decode(second)
    except (ValueError, msgspec.DecodeError) as error:
        raise RemoteError("bad_references", f"message of references cannot be decoded: {error}") from error


def is_references(part: Buffer) -> bool:
    """Return whether a first part is one of references; it is looked at before the message is decoded."""
    return bytes(part[:17]) == b'{"htype":"frames"'


__all__ = [
    "FREE", "LEAST_SLOT", "NOBODY", "NONCE", "PAGE", "TAKEN", "TOKEN", "Holder", "Layout", "Reference",
    "References", "SharedMemory", "decode", "encode", "has_nonce", "head", "held_by", "holder_in",
    "is_references", "nonce_in", "token_in",
]  # fmt: skip
