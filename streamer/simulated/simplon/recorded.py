"""A recording of a real control unit, as a simulated one uses it: pixels and settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from penstock.streamer.simulated.simplon.key import Key
from penstock.streamer.simulated.simplon.pixels import Picture, Pictures

ONE_IMAGE = ("threshold/2/mode", "threshold/difference/mode")
"""Keys that stay disabled: a recorded frame has one image."""

SAME = {"incident_energy": "photon_energy", "threshold/1/energy": "threshold_energy"}
"""Newer keys, and those of recordings that have the same value."""


class Recorded(msgspec.Struct, frozen=True):
    """A series of a real control unit; its frames repeat in turn."""

    shape: tuple[int, int]
    """(rows, cols)."""
    dtype: str
    compression: str
    frames: Sequence[bytes]
    """Blobs as sent."""
    config: Mapping[str, Any]
    """Values of `detector/config` by SIMPLON's keys."""
    tables: Mapping[str, np.ndarray]
    """The tables "flatfield" and "pixel_mask", if the start message had them."""

    @property
    def bits(self) -> int:
        """Bits per pixel."""
        return np.dtype(self.dtype).itemsize * 8

    def prepare(self, dtype: str, compression: str, channels: int, frames: int) -> Pictures:
        """Return the pictures of a series; type and compression are those of the recording."""
        return Pictures(
            lambda n: Picture(self.shape, self.dtype, self.compression, (self.frames[n],)), len(self.frames)
        )

    def apply_to(self, config: dict[str, Key]) -> None:
        """Replace the defaults by the recorded settings, and fix those that the frames cannot follow."""
        for name, value in self.config.items():
            key = config.get(name)
            # An EIGER has the roi_mode "", which an EIGER2 does not allow.
            if key is not None and (key.allowed is None or value in key.allowed):
                key.value = value
        for name, same in SAME.items():
            if name in config:
                config[name].value = config[same].value
        fixed = {"compression": self.compression} | dict.fromkeys(ONE_IMAGE, "disabled")
        for name, only in fixed.items():
            if name in config:
                config[name].value, config[name].allowed = only, (only,)
        config["bit_depth_image"].value = self.bits
