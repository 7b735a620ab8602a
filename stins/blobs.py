"""The layout of a frame's blobs, and their check.

A bslz4 blob is a chunk of HDF5 filter 32008: 8 bytes big-endian uncompressed size, 4 bytes
big-endian block size in bytes, then bitshuffle/LZ4 blocks. An lz4 blob is one of filter 32004, with the same
header and LZ4 blocks. Both can be stored untouched.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from math import prod

from penstock.stins.errors import BlobError
from penstock.stins.messages import Buffer, Frame, Image
from penstock.stins.texts import plural

MAX_FRAME_BYTES = 2**31
"""Most bytes of a frame; an absurd shape must not lead to an absurd allocation."""

COLOURS = 3
"""Length of the last axis of a colour image."""
SHAPES = "[n] (a spectrum), [rows, cols], [rows, cols, 3] in one blob, or [k, rows, cols] in k blobs"
"""What a frame can be, for errors."""

TYPE_NAMES = {
    "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4,
    "int64": 8, "uint64": 8, "float16": 2, "float32": 4, "float64": 8, "bool": 1,
}  # fmt: skip
"""Bytes of one pixel by NumPy name, little endian; the names that errors list."""


def _type_strings() -> tuple[dict[str, int], dict[str, str]]:
    """Return the bytes per big-endian type string, and the names of all other type strings."""
    big, plain = {}, {"?": "bool"}
    for name, size in TYPE_NAMES.items():
        code = f"{'b' if name == 'bool' else name[0]}{size}"
        plain |= {f"{order}{code}": name for order in ("<", "=", "|", "")}
        if size == 1:
            plain[f">{code}"] = name
        else:
            big[f">{code}"] = size
    return big, plain


_BIG_ENDIAN, _STRINGS = _type_strings()
ITEM_BYTES = TYPE_NAMES | _BIG_ENDIAN
"""Bytes of one pixel by type: NumPy's name if it is little endian, its type string (">u2") if big endian."""

COMPRESSIONS = ("none", "bslz4", "lz4")
"""Compressions in which a blob can be stored. "cbf" and "mono12p" need a transform first."""

BSLZ4_HEADER_BYTES = 12
LZ4_HEADER = struct.Struct(">QI")
"""Unpacked size and block size of an lz4 blob, in bytes."""
_BLOCK_LENGTH = struct.Struct(">I")


def type_name(given: str) -> str:
    """Return the type of pixels as in `ITEM_BYTES`, from NumPy's name or type string ("<u2" is uint16).

    An unknown type is returned unchanged.
    """
    return _STRINGS.get(given, given)


def has_colours(shape: tuple[int, ...], parts: int) -> bool:
    """Return whether a frame of this shape and so many blobs is [rows, cols, 3] in one blob: a colour image.

    The number of blobs tells it from k images of three columns.
    """
    return parts == 1 and len(shape) == 3 and shape[2] == COLOURS and shape[0] != 1


def announced_blobs(shape: tuple[int, ...], channels: Sequence[str]) -> int:
    """Return how many blobs frames of this shape will have, from a start message."""
    if len(shape) != 3 or (has_colours(shape, 1) and len(channels) != shape[0]):
        return 1
    return shape[0]


@lru_cache(maxsize=256)
def blob_layout(shape: tuple[int, ...], dtype: str, parts: int | None = None) -> tuple[int, int]:
    """Return the number of blobs of a frame, and the unpacked size of each in bytes.

    Args:
        shape: shape in its header.
        dtype: type in its header.
        parts: number of its blobs, which tells a colour image from k images; without it, it is k images.

    Raises:
        BlobError: frames of this shape are not taken, a length is not positive, the type is unknown, or the
            frame is larger than `MAX_FRAME_BYTES`.
    """
    if not 1 <= len(shape) <= 3 or min(shape) < 1:
        remedy = "; send each image as a frame of its own" if len(shape) > 3 else ""
        raise BlobError(
            "bad_shape", f"shape {list(shape)}; a frame is {SHAPES}, each length at least 1{remedy}"
        )
    if dtype not in ITEM_BYTES:
        remedy = ""
        if dtype.startswith("complex") or dtype.lstrip("<>=|").startswith("c"):
            remedy = "; send real and imaginary part, or modulus and phase, as two blobs of [2, rows, cols]"
        raise BlobError(
            "unknown_type",
            f'type "{dtype}"; known are {", ".join(TYPE_NAMES)}, and type strings (<u2, >u2){remedy}',
        )
    total = prod(shape) * ITEM_BYTES[dtype]
    if total > MAX_FRAME_BYTES:
        raise BlobError(
            "too_large",
            f"frame {list(shape)} {dtype} has {plural(total, 'byte')}; the limit is {MAX_FRAME_BYTES}",
        )
    count = shape[0] if len(shape) == 3 and not (parts == 1 and has_colours(shape, 1)) else 1
    return count, total // count


def check(frame: Frame) -> None:
    """Check that the blobs of a frame match its header, without unpacking them.

    Raises:
        BlobError: wrong number of blobs, wrong length, unknown compression, a compressed blob whose
            own header disagrees (a decompression bomb is caught here, before anything is allocated).
    """
    image = frame.image
    parts = frame.blobs
    number = len(parts)
    count, nbytes = blob_layout(image.shape, image.type, number)
    if number != count:
        raise _wrong_number(image, number, count)
    if image.compression == "none":
        for blob in parts:
            if len(blob) != nbytes:
                raise BlobError(
                    "blob_length",
                    f"{image.said}: blob of {plural(len(blob), 'byte')}, {nbytes} expected",
                )
    elif image.compression == "bslz4":
        for blob in frame.blobs:
            _check_bslz4(image, blob, nbytes)
    elif image.compression == "lz4":
        for blob in frame.blobs:
            _check_lz4(image, blob, nbytes)
    else:
        raise BlobError(
            "unknown_compression",
            f'{image.said}: compression "{image.compression}"; known are {", ".join(COMPRESSIONS)}',
        )


def _wrong_number(image: Image, number: int, count: int) -> BlobError:
    if number == 1:
        return BlobError(
            "blob_count",
            f"{image.said}: {list(image.shape)} in one blob is a stack; a frame is {SHAPES}: send "
            f"each image as a frame of its own, or as one of {plural(count, 'blob')}",
        )
    return BlobError("blob_count", f"{image.said}: {plural(number, 'blob')}, {count} expected")


def _check_bslz4(image: Image, blob: Buffer, nbytes: int) -> None:
    if len(blob) < BSLZ4_HEADER_BYTES:
        raise BlobError("blob_length", f"{image.said}: bslz4 blob of only {plural(len(blob), 'byte')}")
    unpacked = int.from_bytes(blob[:8], "big")
    block = int.from_bytes(blob[8:12], "big")
    if unpacked != nbytes:
        raise BlobError(
            "blob_header",
            f"{image.said}: bslz4 blob of {plural(unpacked, 'byte')} unpacked, {nbytes} expected",
        )
    # Blocks hold a multiple of 8 pixels (bitshuffle's format); 0 is the library's own choice.
    item = ITEM_BYTES[image.type]
    if block % (8 * item):
        raise BlobError("blob_header", f"{image.said}: bslz4 block size of {plural(block, 'byte')}")
    _walk(image, blob, nbytes, block or max(8192 // (8 * item) * 8, 128) * item, 8 * item)


def _check_lz4(image: Image, blob: Buffer, nbytes: int) -> None:
    if len(blob) < LZ4_HEADER.size:
        raise BlobError("blob_length", f"{image.said}: lz4 blob of only {plural(len(blob), 'byte')}")
    unpacked, block = LZ4_HEADER.unpack_from(blob)
    if unpacked != nbytes or not 0 < block < MAX_FRAME_BYTES:
        raise BlobError(
            "blob_header",
            f"{image.said}: lz4 blob of {plural(unpacked, 'byte')} unpacked in blocks of {block}, "
            f"{nbytes} expected",
        )
    _walk(image, blob, nbytes, block, 1)


def _walk(image: Image, blob: Buffer, nbytes: int, block: int, unit: int) -> None:
    try:
        end_of_blocks(blob, BSLZ4_HEADER_BYTES, nbytes, block, unit)
    except ValueError as error:
        size = plural(len(blob), "byte")
        raise BlobError("blob_length", f"{image.said}: {image.compression} blob of {size} {error}") from None


def end_of_blocks(blob: Buffer, place: int, nbytes: int, block: int, unit: int) -> int:
    """Return where the data of a bslz4 or lz4 blob end, by the lengths of its blocks.

    It takes a few microseconds per megabyte, and detects a damaged blob before a reader leaves it: bitshuffle
    itself trusts these lengths.

    Args:
        blob: the blob.
        place: place of the first block.
        nbytes: unpacked bytes of all blocks.
        block: unpacked bytes of each block but the last.
        unit: the last block has a multiple of so many bytes; what remains is stored plain behind it.

    Raises:
        ValueError: the blob ends before, or a block is longer than LZ4 makes it (predicate of a sentence).
    """
    whole, rest = divmod(nbytes, block)
    plain = rest % unit
    last = rest - plain
    read, most = _BLOCK_LENGTH.unpack_from, lz4_bound(block)
    try:
        for _ in range(whole):
            length = read(blob, place)[0]
            if length > most:
                raise _too_long(length, block)
            place += 4 + length
        if last:
            length = read(blob, place)[0]
            if length > lz4_bound(last):
                raise _too_long(length, last)
            place += 4 + length
    except struct.error:
        place = len(blob)
        plain = 1
    if place + plain > len(blob):
        raise ValueError("ends within its data; it was cut")
    return place + plain


def lz4_bound(nbytes: int) -> int:
    """Return the most bytes that LZ4 makes of so many (`LZ4_COMPRESSBOUND` in its lz4.h)."""
    return nbytes + nbytes // 255 + 16


def _too_long(length: int, nbytes: int) -> ValueError:
    return ValueError(
        f"has a block of {length} bytes, but LZ4 packs its {nbytes} bytes into at most {lz4_bound(nbytes)}; "
        "it is damaged"
    )
