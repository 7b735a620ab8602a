"""A series that is written into one file, for tests of the writer."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the filters)

from penstock.codecs import bslz4
from penstock.stins.messages import Frame, Start
from tests.receiver.files.stores.written import DETECTOR, Written
from tests.streams import image, pixels


def write(path: Path, opening: Start, frames: Iterable[Frame], **keys: Any) -> None:
    written = Written(path, opening)
    written.add(*frames)
    written.close(**keys)


def record(file: h5py.File) -> dict[str, Any]:
    group = file[f"{DETECTOR}/series"]
    return {
        name: item.asstr()[()] if h5py.check_string_dtype(item.dtype) else int(item[()])
        for name, item in group.items()
    }


def packed(number: int) -> Frame:
    array = pixels(number)
    return Frame(image(number, array, compression="bslz4", series="a"), [bslz4.compress(array)])
