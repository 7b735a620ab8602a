"""Faults of a simulated detector on request, each at a known frame."""

from __future__ import annotations

import math
import os
import signal
from threading import Event

import msgspec

from penstock.streamer.camera.contract import Acquisition
from penstock.streamer.camera.series import CAMERA_GRACE
from penstock.streamer.camera.unit import CameraError, Overrun

HANG_SECONDS = 20 * CAMERA_GRACE


class Faults(msgspec.Struct, frozen=True, kw_only=True):
    """The faults of one series; frames by index, `None` for never.

    Written as "die_at=5; drop=2,7; lose_end".
    """

    drop: frozenset[int] = frozenset()
    """Frames that are triggered, but that the hardware does not deliver."""
    die_at: int | None = None
    """SIGKILL to its own process instead of this frame."""
    fail_at: int | None = None
    """The hardware reports an error instead of this frame."""
    stall_at: int | None = None
    """No further frame, but Stop and Abort are obeyed."""
    hang_at: int | None = None
    """No further frame, and nothing is obeyed for 20 times the grace after Abort."""
    overrun_at: int | None = None
    """The hardware's own memory overruns instead of this frame."""
    lose_end: bool = False
    """No end message."""
    fail_prepare: bool = False
    """The hardware refuses the settings."""
    slow_arm: float = 0.0
    """Seconds that arming takes."""

    def commit(self, index: int, acquisition: Acquisition) -> bool:
        """Commit the fault of frame `index`, if any; return whether the frame is delivered all the same.

        Raises:
            CameraError: the hardware reports an error.
            Overrun: the hardware's memory is full.
        """
        if index == self.die_at:
            os.kill(os.getpid(), signal.SIGKILL)  # looks like a power cut to all others
        if index == self.fail_at:
            raise CameraError(f"the hardware failed at frame {index} (fault on request)")
        if index == self.overrun_at:
            raise Overrun(f"the memory of the hardware was full at frame {index} (fault on request)")
        if index == self.hang_at:
            Event().wait(HANG_SECONDS)
        if index == self.stall_at:
            acquisition.wait_until(math.inf)
        return index not in self.drop and index not in (self.hang_at, self.stall_at)


def parse(text: str) -> Faults:
    """Return the faults described by a text such as "die_at=5; drop=2,7; lose_end".

    Raises:
        CameraError: an unknown fault, or not a number.
    """
    given: dict[str, object] = {}
    for item in text.replace(" ", "").split(";"):
        name, _, value = item.partition("=")
        if name == "drop":
            given[name] = value.split(",")
        elif name:
            given[name] = value or True
    try:
        faults = msgspec.convert(given, Faults, strict=False)
    except msgspec.ValidationError as error:
        raise CameraError(f"Faults {text!r}: {error}; example: die_at=5; drop=2,7; lose_end") from error
    unknown = given.keys() - set(Faults.__struct_fields__)
    if unknown:
        known = ", ".join(Faults.__struct_fields__)
        raise CameraError(f"Faults {text!r}: {', '.join(sorted(unknown))} unknown; choose {known}")
    return faults
