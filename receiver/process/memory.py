"""How much memory the data process of a receiver may take: from its configuration and the size of a frame.

Each queue is bounded by itself, ZeroMQ's in messages and the others in bytes; here they are added up, and
compared with the budget `memory_mb`. The high-water mark cannot follow the frames: libzmq takes it at the
connect. So what would not fit is refused, with the mark that would: at the check, and where nobody asked, at
the start message. What only the first frame tells is refused with the frame, before it is unpacked.

The HTTP process is not on the path of the frames and not in the budget: it takes about three frames, plain,
for each answer that is under way.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import NamedTuple

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.files.storage import MOST_SEGMENTS
from penstock.receiver.forward.forwarder import IN_SOCKET
from penstock.receiver.processing.prefetch import BYTES, FRAMES_PER_THREAD
from penstock.receiver.regions.threads import BYTES as REGION_BYTES
from penstock.receiver.regions.threads import FRAMES_PER_THREAD as REGION_FRAMES
from penstock.stins.blobs import blob_layout
from penstock.stins.errors import BlobError, StinsError
from penstock.stins.messages import Header
from penstock.stins.texts import named, of_series

log = logging.getLogger(__name__)

BASE = 160_000_000
"""Python, its libraries, HDF5's caches, and what comes with a series of ten million frames; 71 MB at rest."""
AT_WORK = 5
"""Frames under way through the loop, handed over for the live view, being copied; and two copies."""
MESSAGE = 1_000
"""Bytes of a message beside its blobs: header, and libzmq's own."""
SEGMENT = 40_000
"""Of what HDF5 keeps of a segment that a virtual dataset names; measured with h5py 3.16."""
IN_HAND = 2
"""Messages of a socket that are in no queue: one is being read from the network, one is given out."""
SLACK = 1.1
"""Freed memory is kept for the next frame, and not all of it fits that."""


class Sizes(NamedTuple):
    """Bytes of one frame on its way through the receiver."""

    sent: int
    """As it comes."""
    plain: int
    """Unpacked."""
    given: int
    """As file, consumers and live view get it: behind the transforms, which may assemble it."""
    images: int = 0
    """Of the images in the metadata, once per series."""

    @classmethod
    def of(cls, frame_bytes: int) -> Sizes:
        """A frame that is sent plain, and stays so."""
        return cls(frame_bytes, frame_bytes, frame_bytes)

    @classmethod
    def announced(cls, header: Header, after: Header, images: int = 0) -> Sizes:
        """As a start message says; 0 where it does not: nothing but the frames themselves tells how far they
        are packed.

        Args:
            header: as it was sent.
            after: as it is behind the transforms.
            images: bytes of the images in the metadata.
        """
        plain = _unpacked(header)
        sent = max(header.frame_bytes or 0, plain if header.compression == "none" else 0)
        return cls(sent, plain, after.frame_bytes or _unpacked(after), images)

    @property
    def at_most(self) -> Sizes:
        """The same, with frames that are sent as large as they are unpacked where nothing else is known."""
        return self if self.sent else self._replace(sent=self.plain)


def _unpacked(header: Header) -> int:
    try:
        count, each = blob_layout(header.shape or (), header.type or "")
    except BlobError:
        return header.frame_bytes or 0
    return count * each


def parts(config: ReceiverConfig, sizes: Sizes) -> dict[str, int]:
    """Upper bounds in bytes, by what takes them, with the keys of the configuration that they hang on."""
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
    if config.rois:
        # A frame that the transforms have packed keeps its pixels until its values are there.
        each = max(frame_bytes, sizes.given) + (plain_bytes if config.transforms else 0)
        waiting = min(REGION_BYTES, config.workers * REGION_FRAMES * each)
        found["regions of interest (rois)"] = waiting + config.workers * plain_bytes
    if config.writers > 1:
        queue = max(int(config.write_queue_mb * 1e6), plain_bytes)  # any one frame is taken
        found["several writers (writers, write_queue_mb)"] = queue
    if config.frames_per_file:
        found["segments (frames_per_file)"] = MOST_SEGMENTS * SEGMENT
    if config.forward:
        queues = sum(int(consumer.queue_mb * 1e6) for consumer in config.forward)
        in_sockets = len(config.forward) * (IN_SOCKET + 1)
        found["consumers (forward, queue_mb)"] = queues + in_sockets * max(frame_bytes, sizes.given)
    return found


def bound(found: Mapping[str, int]) -> int:
    """The sum, with what the allocator cannot use again."""
    return math.ceil(SLACK * sum(found.values()))


def objection(name: str, config: ReceiverConfig, sizes: Sizes) -> str | None:
    """Why frames of this size do not fit into the budget, and what to change; `None` where they do."""
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
        ValueError: no series could ever be taken; the sentence says what to change.
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
    """What the series of one receiver may take.

    Args:
        name: of the receiver.
        config: its configuration.
    """

    def __init__(self, name: str, config: ReceiverConfig) -> None:
        self._name = name
        self.config = config
        """As it is in use now: regions of interest come and go."""

    def unpack(self, plain_bytes: int, given_bytes: int) -> None:
        """Let frames be unpacked and assembled whose size no start message has told.

        Args:
            plain_bytes: of one frame, unpacked.
            given_bytes: of what the transforms make of it.

        Raises:
            BlobError: already a few of them take more than is allowed; the sentence says what to change.
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
        """Let a series begin that nobody has asked for; see `Sizes.announced`.

        How far packed frames are packed may stay unknown until they come. Where they could be too large, the
        log says so.

        Raises:
            StinsError: it could take more than is allowed; the sentence says what to change.
        """
        sizes = Sizes.announced(header, after, images)
        if over := objection(self._name, self.config, sizes):
            name = named(header.filename)
            raise StinsError("over_memory", f"{name}: {over}{of_series(header.series)}")
        if over := objection(self._name, self.config, sizes.at_most):
            log.warning("packed, not known how far: %s", over)


def announced(config: ReceiverConfig, header: Header, after: Header) -> int | None:
    """The bound for a series that begins; `None` where its start message has no size."""
    sizes = Sizes.announced(header, after).at_most
    return bound(parts(config, sizes)) if sizes.sent else None


def _text(nbytes: int) -> str:
    return f"{nbytes / 1e6:,.4g} MB" if nbytes >= 1e5 else f"{nbytes:,} bytes"


def _remedy(config: ReceiverConfig, found: Mapping[str, int], budget: float) -> str:
    """The high-water mark that would fit, if there is one."""
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
        "writers": config.writers > 1,
        "write_queue_mb": config.writers > 1,
        "frames_per_file, which 0 turns off": config.frames_per_file > 0,
        "queue_mb of the consumers": bool(config.forward),
        "the number of workers, or remove the regions of interest": bool(config.rois),
    }
    keys = ", ".join(key for key, counts in lower.items() if counts)
    return f"R{needed[1:]}" + (f", or lower {keys}" if keys else "")
