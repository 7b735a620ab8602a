"""What a trial of a file system has found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Verdict = Literal["good", "note", "bad"]


@dataclass(frozen=True)
class Finding:
    """The result of one trial."""

    name: str
    value: str
    verdict: Verdict
    """bad: Penstock's promises do not hold here; note: they do, and this is worth knowing."""
    meaning: str
    """What it means for Penstock."""

    def summary(self) -> dict[str, Any]:
        """Return everything in types that JSON has."""
        return asdict(self)
