"""The checksums of blobs as a dataset of the file, beside the frames.

Nothing here imports h5py; the writer hands its objects in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from penstock.stins.checksums import digits

NAME = "checksum"
"""Dataset in the NXdetector group: text, (frames) or (frames, k) for k blobs; empty where nothing stands."""


def create(detector: Any, algorithm: str, blobs: int, *, rows: int, chunk_rows: int) -> Any:
    """The dataset, with one value a blob.

    Args:
        detector: NXdetector group.
        algorithm: one of `stins.checksums.ALGORITHMS`.
        blobs: of each frame.
        rows: frames that there is room for by now.
    """
    more = () if blobs == 1 else (blobs,)
    dataset = detector.create_dataset(
        NAME, (rows, *more), f"S{digits(algorithm)}", maxshape=(None, *more), chunks=(chunk_rows, *more)
    )
    dataset.attrs["algorithm"] = algorithm
    return dataset


def column(dataset: Any, frames: Iterable[Sequence[str]]) -> np.ndarray[Any, Any]:
    """The values of some frames as the dataset has them; a frame that came without has empty ones."""
    more = dataset.shape[1:]
    blank = ("",) * (more[0] if more else 1)
    return np.array([values or blank for values in frames], dataset.dtype).reshape(-1, *more)
