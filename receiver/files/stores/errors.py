"""Errors with the files of a series, besides those of the system."""

from __future__ import annotations


class FilesGoneError(OSError):
    """A file with frames was removed, moved or replaced."""


class OverLimitError(ValueError):
    """A series exceeds a configured limit; the sentence names the key and the remedy."""
