"""Decompression of CBF byte-offset blobs, as Pilatus streamers send them: see `penstock.codecs.cbf`."""

from __future__ import annotations

from penstock.codecs.cbf import decode
from penstock.receiver.transforms.steps.format import Format, FormatError, Kernel, Step


class Cbf(Step, frozen=True, kw_only=True, tag="cbf"):
    """CBF byte-offset blobs become plain int32. Plain frames pass unchanged."""

    takes = frozenset({"cbf", "plain"})

    def plan(self, format: Format) -> tuple[Format, Kernel | None]:
        if format.type not in ("int32", "uint32"):
            raise FormatError(f"cbf gives 32-bit pixels, the stream says {format.type}")
        after = format._replace(compression="none")
        if format.compression == "none":
            return after, None
        if format.compression not in ("cbf", ""):
            raise FormatError(f'cbf takes blobs of compression "cbf" (or ""), these are {format.compression}')
        rows, cols = format.image_shape
        return after, lambda blob: decode(blob, rows * cols).view(format.dtype).reshape(rows, cols)
