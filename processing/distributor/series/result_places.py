"""The place of a series' results: a new file, that of an earlier distributor, or none."""

from __future__ import annotations

import logging
import time
from importlib.metadata import version
from pathlib import Path

from penstock.processing.channels.joining import Channel, Column, Joining
from penstock.processing.config.pipeline_config import PipelineConfig
from penstock.processing.distributor.frames.schedule import Schedule
from penstock.processing.distributor.link import Setup
from penstock.processing.distributor.receiver.events import Begun as SaidToBegin
from penstock.processing.distributor.series.answers import Answers
from penstock.processing.distributor.series.run import Phase, Run
from penstock.processing.distributor.series.store import Store
from penstock.processing.distributor.versions import Versions
from penstock.processing.results.contents import Begun
from penstock.processing.results.errors import ResultError
from penstock.processing.results.place import begun_of, path_for
from penstock.processing.results.read import Results
from penstock.processing.results.result_file import ResultFile

log = logging.getLogger(__name__)


def _channels(config: PipelineConfig) -> dict[str, dict[str, str | float]]:
    """Return what the file says of the channels."""
    found: dict[str, dict[str, str | float]] = {}
    for channel in map(Channel, config.channels):
        said: dict[str, str | float] = {"attribute": channel.config.attribute, "by": channel.config.by}
        if channel.rule is not None:
            said |= channel.rule._asdict()
        found[channel.name] = said
    return found


def _recorded_before(path: Path, begun: Begun) -> dict[str, Column]:
    """Return the values of channels that the older result file of a series has, which is processed from its
    file: nobody records them again. Of channels that are joined in another way now there are none.
    """
    older, found = Results(path), dict[str, Column]()
    try:
        known = older.channels() if older.origin()[1] == begun.series else {}
        for name, said in begun.channels.items():
            if known.get(name) == said:
                rows = len(older.states())
                values, matched = (older.rows(each, 0, rows) for each in (name, f"{name}_matched"))
                found[name] = Column(values.values, matched.values == 1)
    except ResultError as error:  # it is no result file
        log.warning("%s; there are no values of channels", error)
    return found


class ResultPlaces:
    """Opens result files.

    Args:
        setup: from the parent.
        schedule: has the frames.
        versions: of the parameters.
        answers: frees frames that were done before.
    """

    def __init__(self, setup: Setup, schedule: Schedule, versions: Versions, answers: Answers) -> None:
        self._setup = setup
        self._config = setup.config
        self._schedule = schedule
        self._versions = versions
        self._answers = answers

    def path(self, series: str, raw: str | None) -> Path | None:
        """Return the path of a result file; `None` if there is none.

        Args:
            series: its id.
            raw: its raw file; `None` without one.
        """
        return path_for(
            None if raw is None else Path(raw), self._config.name, self._config.results_root, series
        )

    def open(self, run: Run, said: SaidToBegin) -> None:
        """Open the result file of a series that begins: a new one, or one that is not complete. If an earlier
        distributor has completed it, the series is shown as it ended.

        Raises:
            ResultError: it cannot be made, or is another's.
        """
        path = self.path(run.name, said.file)
        if path is None:
            return
        try:
            file = self._resumed(path, run)
        except ResultError as error:
            if error.kind != "finished":
                raise
            self._show_finished(run, path)
            return
        if file is not None:
            run.was_resumed = True
            run.account.restore(file.states)
            if run.joining is not None:
                self._know(run.joining, file)
            # Frames that have come before it was known that they were done.
            for number in run.numbers:
                self._answers.release(number, self._schedule.forget_final(number))
        else:
            begun = Begun(
                series=run.name, planned=run.account.planned, pipeline=self._config.name,
                steps=self._setup.steps, version=version("penstock"),
                version_of_parameters=self._versions.version,
                parameters=self._versions.values, raw=None if said.file is None else Path(said.file),
                channels=_channels(self._config), units={} if run.joining is None else run.joining.units,
                detector=said.detector, started=said.started or time.time(),
            )  # fmt: skip
            if self._setup.file and run.joining is not None and path.exists():
                run.joining.earlier = _recorded_before(path, begun)
            file = ResultFile.create(path, begun, overwrite=self._config.overwrite)
        run.store = Store(file)
        if run.joining is not None:
            names = run.joining.unmatched
            run.store.channel_names = frozenset((*names, *(f"{name}_matched" for name in names)))

    def _resumed(self, path: Path, run: Run) -> ResultFile | None:
        """Return the file that an earlier distributor has left; `None` if a new one is to be made.

        Raises:
            ResultError: it is complete, or another's.
        """
        # Who processes a file anew wants nothing of an attempt with another class that was broken off.
        is_new = bool(self._setup.file) and self._setup.parameters is None
        if is_new or not path.exists():
            return None
        if self._config.overwrite and begun_of(path).exists():  # what was to be replaced is not resumed
            return None
        try:
            return ResultFile.resume(path, run.name, self._setup.steps)
        except ResultError as error:
            is_other = error.kind in ("name_taken", "not_a_result_file") or (
                error.kind == "other_class" and self._config.overwrite
            )
            if not is_other and not (error.kind == "finished" and self._setup.file):
                raise
        return None

    def _know(self, joining: Joining, file: ResultFile) -> None:
        """Take over what an earlier distributor has joined."""
        joined = file.joined(list(joining.unmatched))
        for name, (indices, unmatched) in joined.items():
            joining.know(indices)
            joining.unmatched[name] += unmatched

    def _show_finished(self, run: Run, path: Path) -> None:
        """Show what became of a series that an earlier distributor has processed up to its end."""
        run.phase, run.finished = Phase.OVER, str(path)
        try:
            found = Results(path)
            run.account.restore(*found.known())
            run.said = [reason] if (reason := found.account()["reason"]) else []
        except ResultError as error:  # it is moved away just now
            run.said.append(str(error))
