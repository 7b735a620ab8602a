"""The check that the images of a series fit on the RAM disk: camserver refuses one that does not, as a whole.

Source: maxiv-science/contrast `contrast/detectors/Pilatus.py` line 343 (seen at MAX IV).
"""

from __future__ import annotations

from penstock.devices._camserver.modes import Plan
from penstock.streamer.camera.unit import CameraError

MARGIN = 1.1
"""How much larger than the largest image so far the next one may be."""
HEAD = 8192
"""Bytes of a CBF file beside its pixels: header and padding."""


class Space:
    """What images have taken so far.

    Args:
        bytes_per_pixel: what they take as long as there was none.
    """

    def __init__(self, bytes_per_pixel: float) -> None:
        self._bytes_per_pixel = bytes_per_pixel
        self._largest = 0

    def see(self, largest: int) -> None:
        """Take the bytes of the largest image that the light streamer has seen."""
        self._largest = max(self._largest, largest)

    def frame_bytes(self, shape: tuple[int, int]) -> int:
        """Return the bytes that an image of this shape is taken to need."""
        if self._largest:
            return int(MARGIN * self._largest) + HEAD
        rows, columns = shape
        return int(self._bytes_per_pixel * rows * columns) + HEAD

    def fitting(self, free: int, shape: tuple[int, int]) -> int:
        """Return how many images fit into so many bytes."""
        return free // self.frame_bytes(shape)

    def refuse(self, plan: Plan, free: int, shape: tuple[int, int], address: str) -> None:
        """Refuse a series that does not fit.

        Raises:
            CameraError: the sentence says how many images do.
        """
        fit = self.fitting(free, shape)
        if plan.images > fit:
            known = "the largest so far, and a tenth" if self._largest else "property BytesPerPixel"
            raise CameraError(
                f"{plan.images} images of {self.frame_bytes(shape) / 1e6:.3g} MB ({known}) do not fit on the "
                f"RAM disk of {address}, which has {free / 1e6:.3g} MB free: at most {fit} do; take fewer, "
                "or make room: Reset removes what earlier series have left there"
            )
