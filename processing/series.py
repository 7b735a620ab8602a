"""A series as user code sees it, made from its start message."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any, Protocol

import numpy as np

from penstock.receiver import geometry
from penstock.receiver.geometry import Geometry
from penstock.receiver.validity.mask import mask_image
from penstock.receiver.validity.pixels import PixelRule, rule_of
from penstock.stins import metadata
from penstock.stins.messages import Buffer, Header

log = logging.getLogger(__name__)


class Frame(Protocol):
    """What is asked of a `processor.Frame` here."""

    @property
    def pixels(self) -> np.ndarray[Any, Any]: ...

    @property
    def partial(self) -> bool: ...

    @property
    def is_replaced(self) -> bool: ...


class Series:
    """The series whose frames are processed."""

    def __init__(
        self,
        header: Header,
        metadata: dict[str, Any],
        mask: np.ndarray[Any, Any] | None,
        geometry: Geometry | None,
    ) -> None:
        self.header = header
        """Header of the start message: file name, shape, type, …"""
        self.metadata = metadata
        """Metadata of the start message."""
        self.mask = mask
        """Pixel mask, (rows, cols), 0 = good; (k, rows, cols) if each of k channels has one; `None` if the
        detector has sent none."""
        self.geometry = geometry
        """Distance in m, beam centre in pixels, pixel size in m, wavelength in angstrom; `None` if distance,
        centre or pixel size is unknown."""
        self.rule = rule_of(metadata)
        """Rule by which values of pixels count, beside the mask: `receiver.validity.pixels.PixelRule`."""

    def rule_for(self, frame: Frame) -> PixelRule:
        """Return which values of a frame's pixels count: what the detector says holds for its own counts, and
        not for what a step has made of them, where NaN stands for what does not count."""
        return PixelRule() if frame.is_replaced else self.rule

    def good(self, frame: Frame) -> np.ndarray[Any, Any]:
        """Return which pixels of a frame count: they are not masked, have a value, and are not saturated.

        Returns:
            bool, of the shape of `frame.pixels`. A mask of another shape than the frames is not used.
        """
        pixels = frame.pixels
        masked = None
        if self.mask is not None and self.mask.shape in (pixels.shape, pixels.shape[-2:]):
            masked = np.asarray(self.mask != 0)
        found = self.rule_for(frame).good(pixels, masked, partial=frame.partial)
        return np.ones(pixels.shape, bool) if found is None else found

    @property
    def id(self) -> str:
        """Unique id of the series; "" if the sender has none."""
        return self.header.series or ""

    @property
    def frames(self) -> int | None:
        """Number of planned frames; `None` if it is unknown before the end."""
        return self.header.frames


def from_start(header: Header, parts: Sequence[Buffer]) -> Series:
    """Return the series of a start message.

    Args:
        header: its header.
        parts: its metadata as JSON; then, if the mask is not in them, the mask as an .npy file.

    Raises:
        ValueError: mask or metadata cannot be read.
    """
    found = metadata.read(parts[0]) if parts and len(parts[0]) else {}
    found = found if isinstance(found, dict) else {}
    if len(parts) > 1:
        mask = np.load(BytesIO(parts[1]), allow_pickle=False)
    else:
        mask = _mask(found, header.channels or ())
    return Series(header, found, mask, geometry.find(found))


def _mask(found: Mapping[str, Any], channels: tuple[str, ...]) -> Any:
    """Return the mask in the metadata; `None` if there is none, or it is no image."""
    try:
        masks = [mask_image(found, channel) for channel in channels or (None,)]
        if any(mask is None for mask in masks):
            return None
        alike = all(mask is masks[0] for mask in masks) or not isinstance(found["pixel_mask"], Mapping)
        return masks[0] if alike else np.stack([mask for mask in masks if mask is not None])
    except (TypeError, ValueError) as error:
        log.warning("the pixel_mask of the start message is no image: %s", error)
        return None
