"""What goes wrong with the files of a series, beside what the system says."""

from __future__ import annotations


class FilesGoneError(OSError):
    """Somebody has removed, moved or replaced a file with frames."""


class OverLimitError(ValueError):
    """A series has come to an end of what was configured; the sentence has the key and the remedy."""
