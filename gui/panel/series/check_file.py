"""`penstock check` in a process of its own, since a large file must not hold the windows; and its verdict."""

from __future__ import annotations

import json
import sys

from silx.gui import qt

from penstock.gui.elsewhere import COMMAND

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
    """Checks one file at a time."""

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
