"""References, by which Sardana knows which frame belongs to a point of a scan.

`h5file:///data/scan_0007.h5::entry/instrument/sim_1/data[17]` is frame 17 of a dataset of that file.
Sardana's own recorders know the form up to the index (Sardana documentation, "Value referencing").
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_FORM = re.compile(r"h5file://(?P<file>/.+?)::(?P<dataset>[^\[\]]+)\[(?P<index>\d+)\]")


@dataclass(frozen=True)
class Reference:
    """One frame in a file."""

    file: str
    """Absolute path as the host of Sardana sees it."""
    dataset: str
    """Path of the frames inside the file, without a leading slash."""
    index: int
    """Index of the frame, from 0; there may be no such frame."""

    @property
    def text(self) -> str:
        """The form in which Sardana passes it on."""
        return f"h5file://{self.file}::{self.dataset}[{self.index}]"


def parse(text: str) -> Reference | None:
    """Return the reference in a text; `None` if the text is something else."""
    found = _FORM.fullmatch(text)
    return Reference(found["file"], found["dataset"].lstrip("/"), int(found["index"])) if found else None
