"""Checksums of blobs: the algorithms that a start message may announce, by name.

A value is the hexadecimal digest of the blob as it is sent, compressed or not, in lower case; upper case is
accepted. All of them release the interpreter lock on blobs of more than a few kB.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Mapping, Sequence

from penstock.stins.messages import Buffer


def _hexadecimal(function: Callable[[Buffer], int]) -> Callable[[Buffer], str]:
    return lambda blob: f"{function(blob):08x}"


ALGORITHMS: Mapping[str, Callable[[Buffer], str]] = {
    "crc32": _hexadecimal(zlib.crc32),
    "adler32": _hexadecimal(zlib.adler32),
    "md5": lambda blob: hashlib.md5(blob, usedforsecurity=False).hexdigest(),
    "sha256": lambda blob: hashlib.sha256(blob).hexdigest(),
    "blake2b": lambda blob: hashlib.blake2b(blob, digest_size=32).hexdigest(),
}
"""crc32 and adler32 as in zlib; blake2b with 256 bits, as `b2sum -l 256` prints it. They detect damage,
not malice: whoever can change a blob can change its checksum."""


def digits(algorithm: str) -> int:
    """Return the number of characters of a checksum."""
    return len(ALGORITHMS[algorithm](b""))


def checksums(algorithm: str, blobs: Sequence[Buffer]) -> tuple[str, ...]:
    """Return the values of a frame's blobs, in their order."""
    function = ALGORITHMS[algorithm]
    return tuple(function(blob) for blob in blobs)


def agree(found: Sequence[str], announced: Sequence[str]) -> bool:
    """Return whether the values of a frame's blobs are those that were announced.

    Args:
        found: values as `checksums` returns them.
        announced: values as the sender gives them, in lower or upper case.
    """
    return found == announced or tuple(found) == tuple(value.lower() for value in announced)
