"""What a scan's file says, read by plain h5py."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401  (for whoever compresses)
import numpy as np

from penstock.streamer.simulated.patterns import frame_number


class ScanFile:
    """The newest scan of a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def column(self, name: str) -> np.ndarray:
        """A column of the measurement."""
        with h5py.File(self.path, locking=False) as file:
            return np.asarray(file[self._entry(file)]["measurement"][name][()])

    def frame_numbers(self, channel: str) -> list[int | None]:
        """For each point the number that the simulator has put into its frame's pixels; `None`: no frame."""
        with h5py.File(self.path, locking=False) as file:
            measurement = file[self._entry(file)]["measurement"]
            images, status = measurement[channel], measurement[f"{channel}_status"][()]
            assert images.shape[0] == len(status)
            return [frame_number(images[point]) if fate == 1 else None for point, fate in enumerate(status)]

    def first_pixels(self, channel: str) -> list[int]:
        """For each point the first pixel of its frame."""
        return self.pixels(channel, 0, 0)

    def pixels(self, channel: str, row: int, column: int) -> list[int]:
        """For each point this pixel of its frame."""
        with h5py.File(self.path, locking=False) as file:
            return [int(image[row, column]) for image in file[self._entry(file)]["measurement"][channel]]

    def sources(self, channel: str) -> list[str]:
        """The detector's files of the images, in the order of the points, as the scan's file names them."""
        with h5py.File(self.path, locking=False) as file:
            files = file[self._entry(file)][f"files_{channel}"]
            return [files[name].virtual_sources()[0].file_name for name in sorted(files)]

    @staticmethod
    def _entry(file: h5py.File) -> str:
        entries = [name for name in file if name.startswith("entry")]
        return max(entries, key=lambda name: int(name.removeprefix("entry")))


def last_series(device: object) -> dict[str, object]:
    """LastSeries of a detector."""
    found: dict[str, object] = json.loads(device.LastSeries)  # type: ignore[attr-defined]
    return found
