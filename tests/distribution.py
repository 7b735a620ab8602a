"""Which files `pytest -n` gives to its processes first, and which of them to the same one.

By itself, `--dist loadfile` begins with the files of most tests: quick ones. A file that starts one beamline
after the other would come last, and all other processes would wait for it.
"""

from __future__ import annotations

import pytest
from xdist.scheduler import LoadFileScheduling

LONG = (
    "tests/sardana/", "tests/test_pages.py", "tests/system/", "tests/cli/", "tests/processing/",
    "tests/receiver/", "tests/devices/test_genicam",
)  # fmt: skip
"""Beginnings of the names of files that start many processes: first these, in this order."""
LABORATORY = {
    f"tests/sardana/test_{name}.py"
    for name in ("detector_step_scans", "hooks", "macros", "region_scans", "triggers")
}
"""Files that share a laboratory, which takes ten seconds of processor time to start."""
FAKE_CAMERA = "genicam"
"""Files with this in their name use the fake GigE Vision camera, of which a computer has one."""


class Distribution(LoadFileScheduling):
    """Files as a whole, those of one laboratory together, in the order in which they were collected."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        if FAKE_CAMERA in file:
            return "the fake camera"
        return "the laboratory" if file in LABORATORY else file


def place(item: pytest.Item) -> tuple[int, bool]:
    """Sort key of a test."""
    file = item.nodeid.partition("::")[0]
    long = (place for place, beginning in enumerate(LONG) if file.startswith(beginning))
    return next(long, len(LONG)), file not in LABORATORY
