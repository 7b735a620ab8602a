"""The CBF files of a simulated camserver: each image is encoded once, and then linked.

Encoding one takes longer than a detector's period; a hard link takes microseconds, and a file that appears by
a rename is what camserver does ([maxiv] `src/pilatus.c` line 424, `IN_MOVED_TO`). The layout of the file is
that of DECTRIS' own (fabio `cbfimage.py`; CBFlib manual, "Binary sections"); the lines of the header and
their order are those of PILATUS3 as camserver writes them ("PILATUS 1.2"). "(nil)" is what was not loaded.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import os
import shutil
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

from penstock.streamer.simulated import patterns
from penstock.streamer.simulated.camserver.settings import Settings

PATTERNS = {"gradient": "gradient", "diffraction": "spots", "powder": "powder"}
PHOTONS = 200.0
POOL, POOL_BYTES = 8, 64 * 2**20
"""Images that are kept and linked in turn: as many as fit in these bytes, but at least 8."""
HIDDEN = ".camserver"
"""Folder of the encoded images, below that of the links: on the same file system."""
MODULE, GAP = (195, 487), (17, 7)
"""Rows and columns of a module, and of the gap after it (pyFAI `detectors/_dectris.py`, class `Pilatus`)."""
MARK = b"\x0c\x1a\x04\xd5"
PADDING = 4095
MODELS = {
    "PILATUS3 100K": (195, 487), "PILATUS3 200K": (407, 487), "PILATUS3 300K": (619, 487),
    "PILATUS3 300K-W": (195, 1475), "PILATUS3 1M": (1043, 981), "PILATUS3 2M": (1679, 1475),
    "PILATUS3 6M": (2527, 2463),
}  # fmt: skip
"""Rows and columns by model (pyFAI, the same file)."""


class DiskFull(Exception):
    """There is no room for the file."""


def gaps(shape: tuple[int, int]) -> np.ndarray:
    """Return which pixels lie between modules."""
    rows, columns = (
        np.arange(length) % (module + gap) >= module
        for length, module, gap in zip(shape, MODULE, GAP, strict=True)
    )
    return rows[:, np.newaxis] | columns


def encode(pixels: np.ndarray, lines: Sequence[str] = ()) -> bytes:
    """Return the CBF file of an int32 image.

    Args:
        pixels: (rows, cols), int32.
        lines: of the header, below detector and date.
    """
    from fabio.ext.byte_offset import comp_cbf32

    rows, columns = pixels.shape
    data = bytes(comp_cbf32(np.ascontiguousarray(pixels, np.int32).ravel()))
    digest = base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()
    text = (
        "###CBF: VERSION 1.5, CBFlib v0.7.8 - PILATUS detectors", "", "data_image", "",
        '_array_data.header_convention "PILATUS_1.2"', "_array_data.header_contents", ";",
        "# Detector: PILATUS3, simulated", f"# {datetime.now().isoformat(timespec='milliseconds')}",
        *(f"# {line}" for line in lines), ";", "",
        "_array_data.data", ";", "--CIF-BINARY-FORMAT-SECTION--", "Content-Type: application/octet-stream;",
        '     conversions="x-CBF_BYTE_OFFSET"', "Content-Transfer-Encoding: BINARY",
        f"X-Binary-Size: {len(data)}", "X-Binary-ID: 1",
        'X-Binary-Element-Type: "signed 32-bit integer"', "X-Binary-Element-Byte-Order: LITTLE_ENDIAN",
        f"Content-MD5: {digest}", f"X-Binary-Number-of-Elements: {rows * columns}",
        f"X-Binary-Size-Fastest-Dimension: {columns}", f"X-Binary-Size-Second-Dimension: {rows}",
        f"X-Binary-Size-Padding: {PADDING}", "", "",
    )  # fmt: skip
    end = b"\r\n--CIF-BINARY-FORMAT-SECTION----\r\n;\r\n\r\n"
    return "\r\n".join(text).encode() + MARK + data + bytes(PADDING) + end


class Kind(NamedTuple):
    """What the encoded images have in common."""

    folder: Path
    gap_fill: int
    lines: tuple[str, ...] = ()
    """Lines of their headers."""


class Images:
    """The images of one detector."""

    def __init__(self, pattern: str, shape: tuple[int, int], capacity: int = 0) -> None:
        """See the module.

        Args:
            pattern: key of `PATTERNS`.
            shape: (rows, cols).
            capacity: bytes of the RAM disk; 0: what the file system has. Links take no space, so that it is
                counted as if each were a file.
        """
        self.pattern, self.shape, self.capacity = pattern, shape, capacity
        self._pool = np.zeros((0, *shape), np.int32)
        if pattern != "gradient":
            self._pool = patterns.pool(PATTERNS[pattern], shape, "int32", PHOTONS)
        self._gaps = gaps(shape)
        self._kind: Kind | None = None
        self._made: list[tuple[Path, int]] = []
        self._bytes = 0

    def prepare(self, kind: Kind) -> None:
        """Begin a series whose images are all written so; they are kept for the next one of the same kind."""
        if kind != self._kind or not all(path.exists() for path, _ in self._made):
            self.forget()
            self._kind = kind

    def free(self, folder: Path) -> int:
        """Return the free bytes of a folder's disk."""
        if not self.capacity:
            return shutil.disk_usage(folder).free
        taken = 0
        for entry in os.scandir(folder):
            try:
                taken += entry.stat().st_size if entry.is_file() else 0
            except FileNotFoundError:
                continue  # just sent
        return max(0, self.capacity - taken)

    def write(self, path: Path, number: int) -> int:
        """Let the file of image `number` appear; return its bytes.

        Raises:
            DiskFull: there is no room for it.
        """
        source, size = self._file(number)
        if self.capacity and self.free(path.parent) < size:
            raise DiskFull
        link = source.with_name(f"{path.name}.link")
        link.unlink(missing_ok=True)
        path.unlink(missing_ok=True)  # a rename onto a link of the same file would do nothing (rename(2))
        os.link(source, link)
        link.rename(path)
        return size

    def forget(self) -> None:
        """Remove the encoded files."""
        if self._kind is not None:
            shutil.rmtree(self._kind.folder / HIDDEN, ignore_errors=True)
        self._made, self._bytes, self._kind = [], 0, None

    def _file(self, number: int) -> tuple[Path, int]:
        kind = self._kind
        assert kind is not None
        while number >= len(self._made) and not self._full:
            made = len(self._made)
            image = self._image(made)
            image[self._gaps] = kind.gap_fill
            data = encode(image, kind.lines)
            path = kind.folder / HIDDEN / f"{made}.cbf"
            try:
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(data)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                raise DiskFull from error
            self._made.append((path, len(data)))
            self._bytes += len(data)
        return self._made[number % len(self._made)]

    def _image(self, number: int) -> np.ndarray:
        if self.pattern == "gradient":
            return patterns.gradient(self.shape, "int32", number)
        image: np.ndarray = self._pool[number % len(self._pool)].copy()
        return image

    @property
    def _full(self) -> bool:
        if self.pattern != "gradient" and len(self._made) >= len(self._pool):
            return True
        return self._bytes >= POOL_BYTES and len(self._made) >= POOL


SENSOR = "Silicon sensor, thickness 0.000450 m"
VRF = -0.2
"""Volt, of the gain."""


def header_lines(settings: Settings) -> tuple[str, ...]:
    """Return the lines that all images of an exposure have in common, without their first character."""
    threshold = settings.threshold or 0.0
    return (
        "Pixel_size 172e-6 m x 172e-6 m", SENSOR,
        f"Exposure_time {settings['ExpTime']:.7f} s", f"Exposure_period {settings['ExpPeriod']:.7f} s",
        f"Tau = {settings.tau:.4g} s", f"Count_cutoff {settings.cutoff} counts",
        f"Threshold_setting: {threshold:.0f} eV", f"Gain_setting: mid gain (vrf = {VRF:.3f})",
        "N_excluded_pixels = 0", "Excluded_pixels: (nil)", "Flat_field: (nil)",
        f"Trim_file: {settings.trim_file}", f"Image_path: {settings.folder}/",
        "Ratecorr_lut_directory: (nil)", f"Retrigger_mode: {settings['SetRetriggerMode']:.0f}",
        *([settings.header] if settings.header else []),
    )  # fmt: skip
