"""What is asked of a distributor: new parameters, the end of series; and that it has carried it out."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.processing.config.classes import MOST_PARAMETERS
from penstock.processing.config.pipeline_config import PipelineConfig
from penstock.processing.distributor.link import Command, Snapshot
from penstock.processing.models import Changed, Status
from penstock.service.models import Refused
from penstock.service.parent import Parent

COMMAND_SECONDS = 10.0
"""Longest time in which the distributor carries a command out."""
PARAMETER_SECONDS = 120.0
"""Longest time for new parameters: every worker prepares them, which may take as long as its `configure`."""
STOP_SECONDS = 30.0
"""Longest time in which series end that are stopped: workers process the frames that they have."""


class Commands(Parent[Snapshot]):
    """The supervisor of a distributor, as far as it tells it what to do.

    Args:
        config: of the pipeline.
    """

    def __init__(self, config: PipelineConfig) -> None:
        super().__init__(Snapshot(status=Status(state="idle", pipeline=config.name), handled=0))
        self.config = config
        self.ending = False
        """True if no new series is taken."""

    async def change(self, parameters: Mapping[str, Any]) -> Changed:
        """Let all workers use other parameters.

        Args:
            parameters: those that change.

        Raises:
            Refused: they are too large, or the distributor does not answer.
        """
        values = {**self._snapshot.status.parameters.values, **parameters}
        if (nbytes := len(msgspec.json.encode(values))) > MOST_PARAMETERS:
            raise Refused(
                "bad_parameters",
                f"all parameters together would have {nbytes:,} bytes, and {MOST_PARAMETERS:,} can be sent: "
                "put large ones into a file that the class reads",
            )
        command = Command(number=0, action="parameters", parameters=dict(parameters))
        await self._command(command, PARAMETER_SECONDS)
        changed = self._snapshot.changed
        if changed is None:
            raise Refused(
                "no_answer", f"the distributor of {self.config.name} did not say what became of them"
            )
        return changed

    async def stop(self, reason: str, series: str = "") -> None:
        """End series now; return once they are over, or after `STOP_SECONDS`, as the status tells.

        Args:
            reason: in words.
            series: id of the series; "" for all that are not over.

        Raises:
            Refused: this series is not running, or the distributor does not answer.
        """
        running = self._running
        if series and series not in running:
            raise Refused("not_running", f"series {series} is not running; {_listed(running)}")
        await self._command(Command(number=0, action="stop", reason=reason, series=series), COMMAND_SECONDS)
        stopped = {series} if series else running
        await self._changes.wait_for(lambda: not stopped & self._running, STOP_SECONDS)

    async def drain(self, on: bool) -> None:
        """Take no new series, or some again; a restart of the pipeline undoes it, too.

        Args:
            on: whether to take none.

        Raises:
            Refused: the distributor does not answer.
        """
        await self._command(Command(number=0, action="drain", on=on), COMMAND_SECONDS)
        self.ending = on

    @property
    def _running(self) -> set[str]:
        """Ids of the series that are not over."""
        status = self._snapshot.status
        return {each.id for each in (status.series, *status.others) if each is not None and each.active}

    async def _command(self, command: Command, seconds: float) -> None:
        await self._revived()
        if not self.alive:
            raise Refused("in_error", self._snapshot.status.error)
        child = self._child
        with contextlib.suppress(OSError):  # it has just died, which will be noticed
            self._send(command)
        number = self._sent
        await self._changes.wait_for(
            lambda: self._child is not child or not self.alive or self._snapshot.handled >= number, seconds
        )
        if self._child is not child or self._snapshot.handled < number:
            raise Refused(
                "no_answer",
                f"the distributor of {self.config.name} did not carry out {command.action} in time, or has "
                "died meanwhile; ask again",
            )


def _listed(series: set[str]) -> str:
    return f"running: {', '.join(sorted(series))}" if series else "no series is"
