"""A series' file: shown in our own window or in silx', or checked, as far as this host sees the file."""

from __future__ import annotations

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path

from silx.gui import qt

from penstock.gui.elsewhere import COMMAND, start, start_viewer


def why_not_here(file: str) -> str:
    """Return why a file cannot be opened on this host, in a sentence; "" where it can."""
    path = Path(file)
    try:
        if path.is_file():
            return "" if os.access(path, os.R_OK) else f"{file} cannot be read by this user."
        there = path.parent.is_dir()
    except OSError as error:
        return f"{file} cannot be reached: {error.strerror}."
    if there:
        return f"{path.name} is not in {path.parent} any more."
    return (
        f"This host does not see {path.parent}; mount the data there, or open the file on a host that does."
    )


def why_not_open(file: str) -> str:
    """Return why `open_in_silx` would do nothing, in a sentence; "" where it can.

    Touches the file system: call it off the windows' thread where a mount may hang.
    """
    if find_spec("silx.app.view") is None:
        return "silx' viewer is not installed here: install penstock[gui]."
    return why_not_here(file)


IN_SILX = (
    "Show the whole tree of the file in silx view, which may draw row 0 at the bottom until it is told "
    "otherwise: Options, Default plot image y-axis orientation"
)
"""What the button for silx does."""


def open_in_view(file: str) -> str:
    """Start `penstock view` with the file, in a process that outlives this one; why not, or ""."""
    return why_not_here(file) or start_viewer(os.path.abspath(file))


def open_in_silx(file: str) -> str:
    """Start `silx view` with the file, in a process that outlives this one; why not, or ""."""
    return why_not_open(file) or start("-m", "silx", "view", file, called="silx view")


MOST_FINDINGS = 4


def verdict(output: str, errors: str) -> tuple[str, bool]:
    """Return what `penstock check --json` says of one file, in words, and whether it is clean."""
    try:
        answer = json.loads(output)
        (found,) = answer["files"]
    except (ValueError, KeyError, TypeError):
        last = errors.strip().splitlines()[-1:] or ["it said nothing"]
        return f"The check ended unexpectedly: {last[0]}", False
    if "error" in found:
        return str(found["error"]), False
    sentences = [str(finding["sentence"]) for finding in found.get("findings", [])]
    more = f" (and {len(sentences) - MOST_FINDINGS} more)" if len(sentences) > MOST_FINDINGS else ""
    words = "; ".join(sentences[:MOST_FINDINGS]) + more
    if answer["clean"]:
        return f"The file is clean.{' ' + words if words else ''}", True
    return f"The file is not clean: {words}", False


class CheckFile(qt.QObject):
    """Runs `penstock check` on one file at a time, in a process: a large file must not hold the windows."""

    said = qt.Signal(str, bool)
    """The verdict in words, and whether the file is clean."""

    def __init__(self, parent: qt.QObject | None = None) -> None:
        super().__init__(parent)
        self._process = qt.QProcess(self)
        self._process.finished.connect(self._ended)
        self._process.errorOccurred.connect(self._failed)

    def is_running(self) -> bool:
        """Return whether a file is being read."""
        return bool(self._process.state() != qt.QProcess.NotRunning)

    def begin(self, file: str) -> None:
        """Read a file; does nothing while another is being read."""
        if not self.is_running():
            self._process.start(sys.executable, ["-P", "-c", COMMAND, "check", "--json", file])

    def stop(self) -> None:
        """End what is under way, without a word."""
        self._process.blockSignals(True)
        self._process.kill()
        self._process.waitForFinished(1000)

    def _ended(self) -> None:
        output = bytes(self._process.readAllStandardOutput()).decode(errors="replace")
        errors = bytes(self._process.readAllStandardError()).decode(errors="replace")
        self.said.emit(*verdict(output, errors))

    def _failed(self, error: qt.QProcess.ProcessError) -> None:
        if error == qt.QProcess.FailedToStart:
            self.said.emit(f"the check could not be started: {self._process.errorString()}", False)
