"""Faults of a simulated camserver on request."""

from __future__ import annotations

import msgspec


class Faults(msgspec.Struct, forbid_unknown_fields=True):
    """Faults that last until they are changed; the fields are the keys of the command `faults`."""

    slow: float = 0.0
    """Additional seconds before each answer."""
    slow_trim: float = 0.0
    """Additional seconds that an energy or a threshold takes, as with a large detector."""
    refuse: dict[str, str] = {}
    """Words of the refusal by command, such as {"Exposure": "no high voltage"}."""
    disk_full: bool = False
    """No image can be written: the exposure ends with 7 ERR."""
    error: str = ""
    """Words with which an exposure fails in place of its next image: 7 ERR."""
    lost_files: tuple[int, ...] = ()
    """Numbers of images that are exposed, and whose file does not appear."""
    both_ends: bool = False
    """True if 7 ERR comes at once after a kill, and 7 OK when the exposure has ended, as from some
    versions."""
    slow_kill: float = 0.0
    """Seconds from a kill to the end of the exposure, during which camserver still exposes."""
    ignore_kills: int = 0
    """Number of the next K that are not taken."""
    silent_ends: bool = False
    """The end of an exposure is not said, as after a kill that was typed at the window of a real one."""
    hang: bool = False
    """Commands are read and not answered."""
