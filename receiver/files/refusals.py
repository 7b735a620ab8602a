"""Errors for files that cannot be had, each a sentence with its remedy; for some the series is refused."""

from __future__ import annotations

from pathlib import Path

from penstock.receiver.files.causes import cause_of, remedied
from penstock.stins.texts import quoted

MOST_SHOWN = 200
"""Most characters of a path in a sentence, whose remedy must not be cut off."""


class StorageError(Exception):
    """A file cannot be written there; `kind` is stable, the sentence says what to change."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class NameRefusedError(StorageError):
    """A file of this name cannot be created: nothing is wrong here, and the next series may have a better
    name."""


class NameTakenError(NameRefusedError):
    """The name belongs to another file."""


def unable(what: str, error: Exception, folder: Path) -> StorageError:
    """Return the error for a file that the system does not let this process find or create.

    Args:
        what: what cannot be done.
        error: the system's error.
        folder: folder of the file.

    Returns:
        A `NameRefusedError` if another name may do, by the table of `causes`.
    """
    cause = cause_of(error)
    kind = NameRefusedError if cause.of_name else StorageError
    return kind(cause.kind, f"{what}: {remedied(error, shown(folder))}")


def shown(path: Path | str) -> str:
    """Return a path on one line, and no longer than leaves room for the rest of a sentence."""
    return quoted(str(path), MOST_SHOWN)


def not_created(path: Path, error: Exception, folder: Path | None = None) -> StorageError:
    """Return the error for a file that cannot be created; see `unable`.

    Args:
        path: path of the file.
        error: the system's error, or HDF5's.
        folder: folder that is at fault, if it is not that of the file.
    """
    return unable(f"cannot create {shown(path)}", error, folder or path.parent)


def unusable(path: Path, error: OSError) -> StorageError:
    """Return the error for a file that cannot be looked for; see `unable`."""
    return unable(f"{shown(path)} cannot be used", error, path.parent)


def exists(path: Path) -> NameTakenError:
    """Return the error for a file that exists and may not be overwritten."""
    return NameTakenError(
        "file_exists",
        f"{shown(path)} exists and is not overwritten; give another name (DestinationFilename), move it "
        "away, or allow it (DestinationFileOverwritable, in the header: overwrite)",
    )


def of_another_series(path: Path) -> NameTakenError:
    """Return the error for a part or a segment, whose series would show the pixels of this one instead."""
    return NameTakenError(
        "file_exists",
        f"{shown(path)} holds frames of another series, so it is not replaced, overwrite or not; give "
        "another name (DestinationFilename), or remove that series first",
    )


def segment_exists(error: FileExistsError) -> NameTakenError:
    """Return the error for a file that has the name of a segment, from the error that says so."""
    return NameTakenError("file_exists", f"{error}; give another name (DestinationFilename), or move it away")


def being_written(path: Path) -> NameTakenError:
    """Return the error for a file that is being written, which is never replaced."""
    return NameTakenError(
        "being_written",
        f"a receiver is writing {shown(path)}, so it is not replaced, overwrite or not; give another name "
        "(DestinationFilename), or, if this receiver is the other's consumer, another data_root or path_map",
    )
