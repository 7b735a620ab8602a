"""The memory bound of a receiver's data process, from its configuration and the size of a frame.

Each queue has a limit of its own, ZeroMQ's in messages and the others in bytes; they are added up here and
compared with the budget `memory_mb`. The high-water mark cannot depend on the frames: libzmq reads it when it
connects. So a series that would not fit is refused, with the mark that would fit: at the check, or else at
the start message. If only the first frame tells the size, that frame is refused before it is unpacked.

The HTTP process is not on the frame path and not in the budget: it takes about three uncompressed frames per
answer.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import NamedTuple

from penstock.hosts.zmq_sockets import IN_SOCKET
from penstock.receiver.config import ReceiverConfig
from penstock.receiver.files.storage import MOST_SEGMENTS
from penstock.receiver.files.stores.parts.store import queue_bytes
from penstock.receiver.files.stores.parts.views import BLOCKS
from penstock.receiver.forward import copies
from penstock.receiver.regions.threads import BYTES as REGION_BYTES
from penstock.receiver.regions.threads import FRAMES_PER_THREAD as REGION_FRAMES
from penstock.receiver.transforms.frame_processor import LEAST_SUMMED, summing_threads
from penstock.receiver.transforms.prefetch import BYTES, FRAMES_PER_THREAD, SUMMED_BYTES
from penstock.stins.blobs import blob_layout
from penstock.stins.errors import BlobError, StinsError
from penstock.stins.messages import Header
from penstock.stins.texts import named, of_series

log = logging.getLogger(__name__)

BASE = 160_000_000
"""Python, its libraries, HDF5's caches, and the account of ten million frames; 71 MB when idle."""
AT_WORK = 5
"""Frames in the loop, handed over for the live view, and being copied; and two copies."""
MESSAGE = 1_000
"""Bytes of a message besides its blobs: header, and libzmq's overhead."""
SEGMENT = 40_000
"""Bytes that HDF5 keeps per segment of a virtual dataset; measured with h5py 3.16."""
VIEWS, PART_BLOCK = 2, 20_000
"""Views of several files of which HDF5 keeps something, and bytes that it keeps per block; measured with h5py
3.16."""
IN_HAND = 2
"""Messages of a socket outside its queue: one is being read from the network, one is handed out."""
SLACK = 1.1
"""Factor for fragmentation: freed memory is kept for later frames, and not all of it fits them."""


class Sizes(NamedTuple):
    """Sizes of one frame on its way through the receiver, in bytes."""

    sent: int
    """Bytes as received."""
    plain: int
    """Uncompressed."""
    given: int
    """Bytes behind the transforms, which may assemble it: as file, consumers and live view get it."""
    images: int = 0
    """Images in the metadata, once per series."""
    summed: bool = False
    """True if checksums are announced."""

    @classmethod
    def of(cls, frame_bytes: int) -> Sizes:
        """Return the sizes of a frame that is never compressed or transformed."""
        return cls(frame_bytes, frame_bytes, frame_bytes)

    @classmethod
    def announced(cls, header: Header, after: Header, images: int = 0) -> Sizes:
        """Return the sizes announced by a start message; 0 where unknown: only the frames themselves tell
        their compressed size.

        Args:
            header: header as sent.
            after: header behind the transforms.
            images: bytes of the images in the metadata.
        """
        plain = _unpacked(header)
        sent = max(header.frame_bytes or 0, plain if header.compression == "none" else 0)
        return cls(sent, plain, after.frame_bytes or _unpacked(after), images, bool(header.checksum))

    @property
    def at_most(self) -> Sizes:
        """The sizes with the uncompressed size as an upper bound for an unknown compressed size."""
        return self if self.sent else self._replace(sent=self.plain)


def _unpacked(header: Header) -> int:
    try:
        count, each = blob_layout(header.shape or (), header.type or "")
    except BlobError:
        return header.frame_bytes or 0
    return count * each


def parts(config: ReceiverConfig, sizes: Sizes) -> dict[str, int]:
    """Return upper bounds in bytes by purpose; each names the configuration keys on which it depends."""
    frame_bytes, plain_bytes = sizes.sent, max(sizes.plain, sizes.given)
    source = config.source
    endpoints = len(source.endpoints)
    sockets = endpoints * source.sockets
    message = (frame_bytes // endpoints if source.join else frame_bytes) + MESSAGE
    found = {
        "Python and its libraries": BASE,
        "ZeroMQ's queues (source.high_water_mark, source.sockets)": (
            sockets * (source.high_water_mark + IN_HAND) * message
        ),
        "frames at work and for the live view": AT_WORK * max(frame_bytes, sizes.given),
    }
    if sizes.images:
        found["images in the metadata (pixel_mask, flatfield)"] = sizes.images
    if sockets > 1:
        found["messages that wait for others (hold_mb)"] = int(config.hold_mb * 1e6)
    if config.transforms:
        each = frame_bytes + plain_bytes
        waiting = min(BYTES, config.workers * FRAMES_PER_THREAD * each) if config.workers > 1 else 0
        found["transforms (workers)"] = waiting + each
    if sizes.summed and not source.join and frame_bytes >= LEAST_SUMMED:
        waiting = summing_threads() * FRAMES_PER_THREAD * frame_bytes
        found["announced checksums"] = min(SUMMED_BYTES + frame_bytes, waiting)
    if config.rois:
        # A frame compressed by the transforms keeps its pixels until its values are computed.
        each = max(frame_bytes, sizes.given) + (plain_bytes if config.transforms else 0)
        waiting = min(REGION_BYTES, config.workers * REGION_FRAMES * each)
        found["regions of interest (rois)"] = waiting + config.workers * plain_bytes
    if config.files > 1:
        views = VIEWS * BLOCKS * PART_BLOCK
        each = plain_bytes // config.files if config.keeps_modules else plain_bytes
        found["several files (files)"] = config.files * queue_bytes(each) + views
    if config.frames_per_file:
        found["segments (frames_per_file)"] = MOST_SEGMENTS * SEGMENT
    if config.forward:
        queues = sum(int(consumer.queue_mb * 1e6) for consumer in config.forward)
        in_sockets = len(config.forward) * (IN_SOCKET + 1)
        found["consumers (forward, queue_mb)"] = queues + in_sockets * max(frame_bytes, sizes.given)
    if shares := [consumer.queue_mb for consumer in config.forward if consumer.shared]:
        # Beside the queue, which takes frames that fit no slot.
        found["memory shared with consumers (forward, queue_mb)"] = int(sum(shares) * 1e6)
        if sizes.given >= copies.LEAST_BYTES:
            found["copies into it"] = len(shares) * max(copies.MOST_BYTES, sizes.given)
    return found


def bound(found: Mapping[str, int]) -> int:
    """Return the sum, with the allowance for fragmentation."""
    return math.ceil(SLACK * sum(found.values()))


def objection(name: str, config: ReceiverConfig, sizes: Sizes) -> str | None:
    """Return why frames of this size do not fit into the budget, and the remedy; `None` if they fit."""
    found = parts(config, sizes)
    total, budget = bound(found), config.memory_mb * 1e6
    if total <= budget:
        return None
    greatest = max(found, key=lambda part: found[part])
    behind = f", {_text(sizes.given)} behind the transforms," if sizes.given > sizes.sent else ""
    return (
        f"frames of {_text(sizes.sent)}{behind} may take up to {total / 1e6:,.0f} MB of memory in "
        f"receiver {name}, {found[greatest] / 1e6:,.0f} MB of it {greatest}; "
        f"its memory_mb allows {config.memory_mb:,.0f}. "
        f"{_remedy(config, found, budget)}"
    )


def check(name: str, config: ReceiverConfig) -> None:
    """Check that the configuration leaves memory for frames at all.

    Raises:
        ValueError: no series could be taken; the sentence says what to change.
    """
    found = parts(config, Sizes.of(0))
    total = bound(found)
    if total <= config.memory_mb * 1e6:
        return
    greatest = max(found, key=lambda part: found[part])
    remedy = _remedy(config, parts(config, Sizes.of(10**6)), config.memory_mb * 1e6)
    raise ValueError(
        f"memory_mb of receiver {name} is {config.memory_mb:,.10g}, and without any frame it may take "
        f"{math.ceil(total / 1e6):,} MB, {found[greatest] / 1e6:,.0f} MB of it {greatest}: no series could "
        f"be taken. {remedy} (for frames of 1 MB)"
    )


class Budget:
    """The memory budget for the series of one receiver.

    Args:
        name: name of the receiver.
        config: configuration of the receiver.
    """

    def __init__(self, name: str, config: ReceiverConfig) -> None:
        self._name = name
        self.config = config
        """Configuration in use; its regions of interest may change."""

    def unpack(self, plain_bytes: int, given_bytes: int) -> None:
        """Check frames whose size was not announced before they are unpacked and assembled.

        Args:
            plain_bytes: size of an uncompressed frame.
            given_bytes: size of a frame behind the transforms.

        Raises:
            BlobError: even a few frames exceed the budget; the sentence says what to change.
        """
        needed = SLACK * (plain_bytes + AT_WORK * given_bytes)
        if needed > self.config.memory_mb * 1e6:
            raise BlobError(
                "over_memory",
                f"frames of {_text(plain_bytes)} unpacked, {_text(given_bytes)} behind the transforms, "
                f"take up to {needed / 1e6:,.0f} MB of memory in receiver {self._name}; its memory_mb "
                f"allows {self.config.memory_mb:,.0f}. Raise it, or send smaller frames",
            )

    def begin(self, header: Header, after: Header, images: int = 0) -> None:
        """Check a series that begins, by its start message; see `Sizes.announced`.

        The compressed size of frames may be unknown until they arrive. If they could be too large, that is
        logged.

        Raises:
            StinsError: the series could exceed the budget; the sentence says what to change.
        """
        sizes = Sizes.announced(header, after, images)
        if over := objection(self._name, self.config, sizes):
            name = named(header.filename)
            raise StinsError("over_memory", f"{name}: {over}{of_series(header.series)}")
        if over := objection(self._name, self.config, sizes.at_most):
            log.warning("compressed size unknown: %s", over)


def announced(config: ReceiverConfig, header: Header, after: Header) -> int | None:
    """Return the bound for a series that begins; `None` if its start message has no size."""
    sizes = Sizes.announced(header, after).at_most
    return bound(parts(config, sizes)) if sizes.sent else None


def _text(nbytes: int) -> str:
    return f"{nbytes / 1e6:,.4g} MB" if nbytes >= 1e5 else f"{nbytes:,} bytes"


def _remedy(config: ReceiverConfig, found: Mapping[str, int], budget: float) -> str:
    """Return the remedy: a high-water mark that fits, if there is one, or more memory."""
    queues = next(value for part, value in found.items() if part.startswith("ZeroMQ"))
    one = queues // (config.source.high_water_mark + IN_HAND)
    fits = int((budget / SLACK - (sum(found.values()) - queues)) // one) - IN_HAND
    needed = f"raise memory_mb to {math.ceil(bound(found) / 1e6)}"
    if fits >= 1:
        return f"Set source.high_water_mark to {fits} or less, or {needed}"
    sockets = len(config.source.endpoints) * config.source.sockets
    lower = {
        "source.sockets": config.source.sockets > 1,
        "hold_mb": sockets > 1,
        "workers": bool(config.transforms) and config.workers > 1,
        "files": config.files > 1,
        "frames_per_file, which 0 turns off": config.frames_per_file > 0,
        "queue_mb of the consumers": bool(config.forward),
        "the number of workers, or remove the regions of interest": bool(config.rois),
    }
    keys = ", ".join(key for key, counts in lower.items() if counts)
    return f"R{needed[1:]}" + (f", or lower {keys}" if keys else "")
