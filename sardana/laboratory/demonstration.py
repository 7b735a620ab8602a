"""What `penstock sardana-demo` shows: a laboratory with one detector that is nice to look at."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from penstock.beamline.demonstrated import Demonstrated
from penstock.sardana.door import Door
from penstock.sardana.laboratory import spock
from penstock.sardana.laboratory.laboratory import FLY_GROUP, GROUP, Laboratory, LaboratoryFailed, Unit

DETECTOR = "sim"
SIZE = (256, 512)
"""Rows, columns: small enough for a file that opens at once."""


class SardanaDemonstration(Demonstrated):
    """The laboratory and its files; a context manager.

    Args:
        folder: for the files; created if it is missing; nothing in it is overwritten.
        progress: called with each step.

    Raises:
        DemonstrationFailed: a folder, a process, or an element of Sardana failed; from `__enter__`.
    """

    failures = (*Demonstrated.failures, LaboratoryFailed)

    def __init__(self, folder: Path, progress: Callable[[str], None] = lambda text: None) -> None:
        super().__init__(folder, progress)
        self._laboratory: Laboratory
        self._scratch: Path
        self._before: set[Path] = set()

    @property
    def door(self) -> Door:
        """The Door at which macros run."""
        return self._laboratory.door

    @property
    def receiver_url(self) -> str:
        """URL of the detector's receiver."""
        return self._laboratory.receiver_urls[DETECTOR]

    @property
    def scan_file(self) -> Path:
        """Sardana's file of this run; it exists after the first scan."""
        return self._laboratory.scan_file

    def image_files(self) -> list[Path]:
        """Return the detector's files of this run, oldest first."""
        there = set(self.folder.glob("*.h5")) - self._before - {self.scan_file}
        return sorted(there, key=lambda file: (file.stat().st_mtime, file.name))

    def run_spock(self) -> int:
        """Hand the terminal to spock until the user exits; return its exit status."""
        return spock.run(self._scratch / "ipython", self._laboratory.tango_host)

    def _start(self) -> None:
        self._before = set(self.folder.glob("*.h5"))
        name = tempfile.TemporaryDirectory(prefix="penstock-sardana-demo-")
        self._scratch = Path(self._stack.enter_context(name))
        rows, columns = SIZE
        unit = Unit(DETECTOR, {"SensorWidth": columns, "SensorHeight": rows})
        self._laboratory = Laboratory(
            self._scratch, [unit], data=self.folder, scan_file=self._free_name(), progress=self._progress
        )
        self._stack.enter_context(self._laboratory)
        self._laboratory.detector().Pattern = "powder"
        for group in (GROUP, FLY_GROUP):  # references are too long for a column of spock's table
            self._laboratory.define("set_meas_conf", "Output", "False", "[", DETECTOR, "]", group)

    def _free_name(self) -> str:
        number = 1
        while any(file.name.startswith(f"demo-{number:04d}") for file in self._before):
            number += 1
        return f"demo-{number:04d}.h5"
