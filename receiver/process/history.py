"""The last thousand series of a receiver, in one file, so that they survive restarts and crashes.

One JSON line per series, next to the journal; see docs/explanation/decisions/0035-a-history-of-series.md. The
file is read and written by a thread of its own: a full or hanging disk does not delay any series.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Iterable
from itertools import islice
from urllib.parse import quote

import msgspec

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.files.recovery.journal import state_folder
from penstock.receiver.models import PastSeries

log = logging.getLogger(__name__)

KEPT = 1_000
"""Number of series kept; the file has at most twice as many lines."""
LOAD_SECONDS = 1.0
"""Longest time in seconds that a request waits for the file to be read; normally it was read long ago."""
CLOSE_SECONDS = 2.0
"""Time in seconds for unwritten series when the receiver ends."""


class History:
    """The past series of one receiver.

    Args:
        name: name of the receiver.
        config: configuration, which has the folder of the file.
    """

    def __init__(self, name: str, config: ReceiverConfig) -> None:
        self.path = state_folder(config) / f"{quote(name, safe='')}.series.jsonl"
        self._name = name
        self._lock = threading.Lock()
        # By id and start time: a later entry replaces an earlier one of the same series, for instance when
        # its file could be closed only at the next start.
        self._series: dict[tuple[str, float], PastSeries] = {}
        self._loaded = threading.Event()
        self._unwritten: deque[PastSeries] = deque(maxlen=KEPT)
        self._wake = threading.Event()
        self._ends = False
        self._lines = 0
        self._rewrite = False
        self._warned = False
        self._thread = threading.Thread(target=self._run, name="history", daemon=True)

    def start(self) -> None:
        """Start the thread, which reads the file."""
        self._thread.start()

    def add(self, past: PastSeries) -> None:
        """Add a series that has ended. Never waits, and never fails."""
        with self._lock:
            self._put([past])
        self._unwritten.append(past)
        self._wake.set()

    def last(self, limit: int) -> list[PastSeries]:
        """Return the last series, newest first."""
        self._loaded.wait(LOAD_SECONDS)
        with self._lock:
            return list(islice(reversed(self._series.values()), limit))

    def find(self, series: str) -> PastSeries | None:
        """Return the last series with this id; `None` if none of those kept has it."""
        self._loaded.wait(LOAD_SECONDS)
        with self._lock:
            return next((each for each in reversed(self._series.values()) if each.series.id == series), None)

    def close(self) -> None:
        """Write what is not written yet, within `CLOSE_SECONDS`."""
        self._ends = True
        self._wake.set()
        self._thread.join(CLOSE_SECONDS)

    def _put(self, series: Iterable[PastSeries]) -> None:
        for past in series:
            key = past.series.id, past.series.started
            self._series.pop(key, None)
            self._series[key] = past
        while len(self._series) > KEPT:
            del self._series[next(iter(self._series))]

    # -- the thread ----------------------------------------------------------------------------

    def _run(self) -> None:
        found = self._read()
        with self._lock:
            since, self._series = self._series, {}
            self._put([*found, *since.values()])
        self._loaded.set()
        if self._rewrite:
            self._write(None)
        ends = False
        while not ends:
            self._wake.wait()
            self._wake.clear()
            ends = self._ends
            while self._unwritten:
                self._write(self._unwritten.popleft())

    def _read(self) -> list[PastSeries]:
        try:
            lines = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        except OSError as error:
            self._warn(error)
            return []
        torn = lines.pop()  # after the last newline: empty unless a line was cut short
        found, damaged = [], int(bool(torn))
        for line in lines:
            try:
                found.append(msgspec.json.decode(line, type=PastSeries))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                damaged += 1
        self._lines, self._rewrite = len(lines), bool(damaged)
        if damaged:
            aside = self.path.with_suffix(".damaged")
            log.error(
                "%s: %d of the lines of %s are damaged and left out; the file is kept as %s",
                self._name, damaged, self.path, aside,
            )  # fmt: skip
            with contextlib.suppress(OSError):
                self.path.rename(aside)
        return found

    def _write(self, past: PastSeries | None) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if past is None or self._rewrite or self._lines >= 2 * KEPT:
                self._write_all()
            else:
                with self.path.open("ab") as file:
                    file.write(_line(past))
                self._lines += 1
        except OSError as error:
            self._rewrite = True  # missing series are written as soon as possible
            self._warn(error)
        else:
            self._warned = False

    def _write_all(self) -> None:
        with self._lock:
            series = list(self._series.values())
        draft = self.path.with_suffix(".draft")
        try:
            draft.write_bytes(b"".join(map(_line, series)))
            draft.rename(self.path)
        except OSError:
            with contextlib.suppress(OSError):
                draft.unlink()
            raise
        self._lines, self._rewrite = len(series), False

    def _warn(self, error: OSError) -> None:
        if not self._warned:
            self._warned = True
            log.warning(
                "%s keeps its past series in memory only, since %s: %s; fix that, or set state_folder to a "
                "folder that it may write to",
                self._name, self.path, error.strerror,
            )  # fmt: skip


def _line(past: PastSeries) -> bytes:
    return msgspec.json.encode(past) + b"\n"
