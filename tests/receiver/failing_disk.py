"""A disk whose writes fail when a test says so, for the processes that are started meanwhile."""

from __future__ import annotations

import functools
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("failing_writes.c")


@functools.cache
def _library() -> Path | None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    library = Path(tempfile.mkdtemp()) / "failing_writes.so"
    command = [
        compiler,
        "-O1",
        "-Wall",
        "-Werror",
        "-shared",
        "-fPIC",
        str(SOURCE),
        "-o",
        str(library),
        "-ldl",
    ]
    subprocess.run(command, check=True, timeout=60)
    return library


class FailingDisk:
    """What is written to files under a folder fails, while it is told to.

    Args:
        folder: for the control file.
        under: whose files are meant; it need not be there yet.
        monkeypatch: sets the environment of processes that are started from now on.
    """

    def __init__(self, folder: Path, under: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        library = _library()
        if library is None:
            pytest.skip("no C compiler, so that nothing lets writes fail")
        self._control = folder / "failing"
        self._control.write_bytes(bytes(16))
        monkeypatch.setenv("LD_PRELOAD", str(library))
        monkeypatch.setenv("PENSTOCK_FAILING_CONTROL", str(self._control))
        monkeypatch.setenv("PENSTOCK_FAILING_UNDER", f"{under}/")

    def fail(self, code: int, after: int = 0, times: int = 0) -> None:
        """From now on so many writes succeed still, then so many fail with this errno; 0: all do."""
        self._write(struct.pack("4i", after, code, times, 0))

    def mend(self) -> int:
        """Nothing fails any more; returns how many writes have failed."""
        failed: int = struct.unpack("4i", self._control.read_bytes())[3]
        self._write(bytes(16))
        return failed

    def _write(self, content: bytes) -> None:
        with self._control.open("r+b") as file:  # it is mapped: never truncated
            file.write(content)
