"""A disk that really gets full."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_file_system(place: Path, megabytes: int) -> Iterator[Path]:
    """A file system of this size, mounted on a folder that is made for it."""
    place.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("this account may not mount a tmpfs, so there is no small disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def more_than_free(folder: Path) -> dict[str, int]:
    """Keys of a start message whose frames the disk of this folder could hold only if it were empty."""
    disk = shutil.disk_usage(folder)
    return {"frame_bytes": 1000, "frames": (disk.free + disk.total) // 2 // 1000}
