"""A recording beside the file that it became."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from penstock.cli._recordings.recording import read
from penstock.receiver.sources import create
from penstock.stins.messages import Frame
from tests.receiver.pixels import pixels
from tests.recordings.programs import Replayed


@dataclass(frozen=True)
class Series:
    """One recording and its file."""

    capture: Path
    kind: str
    replayed: Replayed
    file: Path

    def recorded(self) -> Iterator[np.ndarray[Any, Any]]:
        """Images of the recording."""
        source = create(self.kind)
        for parts in read(self.capture):
            message = source.decode(parts)
            if isinstance(message, Frame):
                yield pixels(message)
