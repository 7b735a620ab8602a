"""Compression as bitshuffle-LZ4, which the file stores unchanged, and decompression of that and LZ4."""

from __future__ import annotations

import numpy as np

from penstock.codecs import bslz4 as codec
from penstock.codecs.packed import CODECS
from penstock.receiver.transforms.steps.format import Format, FormatError, Kernel, Step, plain
from penstock.stins.blobs import ITEM_BYTES
from penstock.stins.errors import BlobError
from penstock.stins.messages import Buffer


class Bslz4(Step, frozen=True, kw_only=True, tag="bslz4"):
    """Plain pixels become a bslz4 blob (HDF5 filter 32008). Frames that are bslz4 already pass unchanged."""

    takes = frozenset({"bslz4", "plain", "pixels"})
    gives = "bslz4"

    def plan(self, format: Format) -> tuple[Format, Kernel | None]:
        if format.compression == "bslz4":
            return format, None
        plain(format, "bslz4")
        return format._replace(compression="bslz4"), codec.compress


class Decompress(Step, frozen=True, kw_only=True, tag="decompress"):
    """bslz4 and lz4 blobs become plain pixels. Plain frames pass unchanged."""

    takes = frozenset({"bslz4", "lz4", "plain"})

    def plan(self, format: Format) -> tuple[Format, Kernel | None]:
        after = format._replace(compression="none")
        if format.compression == "none":
            return after, None
        if (packed := CODECS.get(format.compression)) is None or format.type not in ITEM_BYTES:
            raise FormatError(f"decompress takes bslz4 or lz4 blobs of known pixels, these are {format}")
        rows, cols = format.image_shape

        def unpack(blob: Buffer) -> np.ndarray:
            try:
                return packed.decompress(blob, rows * cols, format.dtype).reshape(rows, cols)
            except ValueError as error:
                raise BlobError("blob_length", str(error)) from error

        return after, unpack
