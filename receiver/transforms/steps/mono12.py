"""Unpacking of 12-bit pixels: the two layouts are in `penstock.codecs.mono12`.

Streamers mix up their names, so the configuration chooses the layout.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from penstock.codecs.mono12 import unpack_mono12p, unpack_mono12packed
from penstock.receiver.transforms.steps.format import Format, FormatError, Kernel, Step
from penstock.stins.messages import Buffer

TYPES = ("mono12p", "mono12packed", "uint16")
"""Types that streamers announce for such frames."""


class Mono12p(Step, frozen=True, kw_only=True, tag="mono12p"):
    """GenICam's Mono12p becomes plain uint16."""

    takes = frozenset({"plain"})

    def plan(self, format: Format) -> tuple[Format, Kernel]:
        return _plan(format, "mono12p", unpack_mono12p)


class Mono12Packed(Step, frozen=True, kw_only=True, tag="mono12packed"):
    """GigE Vision's Mono12Packed becomes plain uint16."""

    takes = frozenset({"plain"})

    def plan(self, format: Format) -> tuple[Format, Kernel]:
        return _plan(format, "mono12packed", unpack_mono12packed)


def _plan(format: Format, step: str, function: Callable[[Buffer, int], np.ndarray]) -> tuple[Format, Kernel]:
    if format.type.lower() not in TYPES or format.compression != "none":
        raise FormatError(f"{step} takes frames of type {', '.join(TYPES)}, plain, these are {format}")
    rows, cols = format.image_shape
    return format._replace(type="uint16"), lambda blob: function(blob, rows * cols).reshape(rows, cols)
