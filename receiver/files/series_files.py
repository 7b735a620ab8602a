"""The files of a receiver: path, journal entry and writer of each series, and how its file is closed.

The content of a file is the writer's. Its entry in the journal is made when the series begins, and removed
when the file is closed.
"""

from __future__ import annotations

import contextlib
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.files import names, refusals, storage, stores
from penstock.receiver.files.recovery import recover
from penstock.receiver.files.recovery.journal import Journal
from penstock.receiver.files.recovery.recover import Recovered, Resumable
from penstock.receiver.files.refusals import NameRefusedError, NameTakenError, StorageError
from penstock.receiver.files.writer import SeriesWriter, UnfinishedError, WriterError
from penstock.receiver.series.running_series import Outcome, ResumedSeries, RunningSeries
from penstock.stins.errors import StinsError
from penstock.stins.texts import of_series

MOST_RACES = 100
"""Most names of one series that other programs may take at the very moment before its file gets them."""


class Begun(NamedTuple):
    """A series has begun."""

    writer: SeriesWriter | None
    """Writer of its file; `None` if nothing is written."""
    path: Path | None
    started: float
    """Seconds since 1970 (UTC)."""


class SeriesFiles:
    """The files of one receiver, one open at a time.

    Args:
        name: of the receiver.
        config: its configuration.
    """

    def __init__(self, name: str, config: ReceiverConfig) -> None:
        self._config = config
        self._detector = config.detector or name
        self._writing = stores.Writing(
            files=config.files,
            frames_per_file=config.frames_per_file,
            swmr=config.swmr,
            late_seconds=config.gap.seconds,
            space_seconds=config.preallocate_seconds,
        )
        self._journal = Journal(name, config)
        self._resumable: Resumable | None = None

    def recover(self) -> Recovered:
        """Recover files that an earlier process left open; `finalize` comes after a series to be resumed."""
        recovered = recover.recover(self._journal, self._config)
        self._resumable = recovered.resumable
        return recovered

    def finalize(self, failed: str = "") -> Recovered:
        """Remove the old journal entry of the series that was to be resumed.

        Args:
            failed: why the series could not be resumed; its file is then marked as incomplete and returned.
        """
        if (resumable := self._resumable) is None:
            return Recovered()
        self._resumable = None
        if failed:
            resumable.reopened.close()
            return recover.finalize([resumable.left], failed)
        resumable.left.remove()
        return Recovered()

    def begin(self, series: RunningSeries) -> Begun:
        """Create the file of a series, or continue it; a series without a file name may get one by template.

        Raises:
            StinsError: the file's name is taken, or cannot be used, so the series is refused.
            StorageError: no file can be created there, or there is no space for it. That puts the receiver
                into Error, so the sentence ends with the remedy; the same check before Arm does not.
        """
        if series.resumed is not None:
            return self._begin_again(series, series.resumed)
        try:
            if series.header.filename is None and self._config.filename_template:
                return self._begin_by_template(series)
            return self._begin_new(series, series.header.filename)
        except NameRefusedError as error:
            raise StinsError(error.kind, f"{error}{of_series(series.id)}") from error
        except StorageError as error:
            raise StorageError(error.kind, f"{error}, then reset the receiver") from error

    def _begin_by_template(self, series: RunningSeries) -> Begun:
        """Create the file of a series without a name. A name that another receiver takes at this moment is
        noticed when the file gets it, and the next one is tried."""
        config, overwrite = self._config, series.header.overwrite
        for _ in range(MOST_RACES):
            path = names.free_path(config, self._detector, series.id, overwrite=overwrite)
            with contextlib.suppress(NameTakenError):
                return self._begin_new(series, str(path))
        raise refusals.exists(path)

    def _begin_new(self, series: RunningSeries, filename: str | None) -> Begun:
        header, config = series.header, self._config
        if filename:
            series.header = header = msgspec.structs.replace(header, filename=filename)
        started = time.time()
        if not (series.writes and filename):
            return Begun(None, None, started)
        path = storage.resolve(config, filename)
        names.check_free(path, overwrite=header.overwrite, further=names.further(config))
        # The frames come whatever their number is said to be: those that find space are stored.
        frames = storage.credible(path, header.frames, header.frame_bytes)
        nbytes = header.frame_bytes * frames if header.frame_bytes and frames else None
        min_free = int(config.min_free_mb * 1e6)
        storage.check(path, overwrite=header.overwrite, nbytes=nbytes, min_free=min_free)
        storage.check_limit(path, storage.in_one_file(config, frames, header.frame_bytes))
        source = f"{config.source.type} from {', '.join(config.source.endpoints)}"
        enter = partial(self._journal.enter, path, series, started)
        try:
            writer = SeriesWriter(path, self._detector, series, source, self._writing, begun=enter)
        except (WriterError, StorageError):
            self._journal.close()
            raise
        return Begun(writer, path, started)

    def _begin_again(self, series: RunningSeries, resumed: ResumedSeries) -> Begun:
        assert self._resumable is not None
        path = Path(resumed.filename)
        reopened = self._resumable.reopened
        writer = SeriesWriter(path, self._detector, series, "", self._writing, reopened=reopened)
        self._journal.enter(path, series, resumed.started)
        return Begun(writer, path, resumed.started)

    def end(self, writer: SeriesWriter, outcome: Outcome, failed: str) -> str:
        """Close the file of the series.

        Args:
            writer: writer of the file.
            outcome: outcome of the series.
            failed: why the series has failed; "" if it has not.

        Returns:
            `failed`, or why the file could not be closed if nothing had failed before.
        """
        config, stored = self._config, writer.stored
        try:
            writer.close(outcome, synced=config.durability == "synced")
        except WriterError as error:
            # Take the sentence with the counts of what can be read.
            if not failed or isinstance(error, UnfinishedError) or writer.stored != stored:
                failed = str(error)
            self._journal.keep(failed)
        self._journal.close()
        return failed

    def why_not_resumable(self) -> str:
        """Return why the next start could not resume the series whose file is open; "" if it could."""
        return self._journal.why_not_resumable(self._config)

    def leave(self) -> None:
        """Leave the series whose file is open to the next start."""
        self._journal.leave()
