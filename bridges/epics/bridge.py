"""One bridge: its records, and the threads that fill them."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from penstock.bridges.epics import models, pva, status_records
from penstock.bridges.epics.checks import PVAPY
from penstock.bridges.epics.commands import Commands
from penstock.bridges.epics.config import EpicsConfig, InConfig
from penstock.bridges.epics.entry import endpoint_of, problem_of
from penstock.bridges.epics.frames import Frames
from penstock.bridges.epics.gateway.gateway import Gateway
from penstock.bridges.epics.image_record import ImageRecord
from penstock.bridges.epics.results import ResultRecords
from penstock.bridges.epics.status_records import StatusRecords
from penstock.bridges.epics.watch import Watch
from penstock.processing.client import PipelineClient
from penstock.receiver.client import ReceiverClient
from penstock.service.models import Health
from penstock.service.threads import Threads

if TYPE_CHECKING:
    from penstock.bridges.epics.pvapy_images import PvapyServer
    from penstock.processing import models as pipeline
    from penstock.receiver import models as receiver

log = logging.getLogger(__name__)

VERSION = version("penstock")
PORT = "5075"
"""Port of pvAccess, unless a variable says otherwise."""
TIMEOUT = 2.0
"""Seconds in which a receiver or pipeline has to answer."""
SHOW = 0.2
"""Seconds between two looks at the gateway's state, for its records."""
UNSEEN = 1.0
"""Seconds for which a series runs, as the receiver says, before it counts as one whose begin was missed."""


class Bridge(Threads):
    """One bridge.

    Args:
        config: its configuration.
        failed: called, in any thread, when a thread has ended by an error of ours.
    """

    def __init__(self, config: EpicsConfig, failed: Callable[[], None]) -> None:
        super().__init__(failed)
        self.config = config
        self._clients: list[ReceiverClient | PipelineClient] = []
        self._work: list[tuple[str, Callable[[threading.Event], None]]] = []
        self._records = pva.Records(config.prefix)
        self._pvapy: PvapyServer | None = None
        self._images: list[ImageRecord] = []
        self._frames: Frames | None = None
        self._receiver: Watch[receiver.Status] | None = None
        self._pipeline: Watch[pipeline.Status] | None = None
        self._results: ResultRecords | None = None
        self._commands: Commands | None = None
        self._gateway: Gateway | None = None
        self._command = ""
        self._missed: tuple[str, float] = ("", 0.0)  # id of a series whose begin has not come, and since when
        self._entry_problem = ""

    def start(self) -> None:
        """Serve the records, and start the threads.

        Raises:
            RuntimeError: the addresses cannot be used, or PvaPy is not installed; a sentence.
        """
        if self.config.listen:
            host, _, port = self.config.listen.rpartition(":")
            os.environ["EPICS_PVAS_INTF_ADDR_LIST"] = host
            os.environ["EPICS_PVAS_SERVER_PORT"] = port
        if self.config.consumer:
            self._add_images()
        if self.config.receiver:
            self._add_receiver()
        if self.config.pipeline:
            self._add_pipeline()
        if self.config.in_ is not None:
            self._add_gateway(self.config.in_)
        self._serve()
        self._start(self._work)

    def _serve(self) -> None:
        listen = self.config.listen
        wanted = os.environ.get("EPICS_PVAS_SERVER_PORT") or os.environ.get("EPICS_PVA_SERVER_PORT") or PORT
        try:
            self._records.start()
        except RuntimeError as error:
            remedy = "listen" if listen else "EPICS_PVAS_INTF_ADDR_LIST"
            raise RuntimeError(f"pvAccess cannot be served ({error}); is {remedy} right?") from error
        port = listen.rpartition(":")[2]
        if port not in ("", "0") and not any(each.endswith(f":{port}") for each in self._records.addresses):
            raise RuntimeError(
                f"cannot listen on {listen} for pvAccess: the port is taken; is another IOC or bridge there? "
                "Give listen another port"
            )
        if not port and not any(each.endswith(f":{wanted}") for each in self._records.addresses):
            log.warning(
                "pvAccess's port %s is taken: records are served at %s; listen in the file names another one",
                wanted, ", ".join(self._records.addresses),
            )  # fmt: skip
        if self._pvapy is not None:
            os.environ["EPICS_PVAS_SERVER_PORT"] = "0"  # any: it is found by searches
            self._pvapy.start()

    def close(self) -> None:
        """End the threads and the server."""
        self._ends.set()
        for client in self._clients:
            client.close()
        self._join()
        self._records.close()
        if self._pvapy is not None:
            self._pvapy.close()

    # -- what it serves ------------------------------------------------------------------------------

    def _add_images(self) -> None:
        if self.config.server == "pvapy":
            self._pvapy = _pvapy_server()
        for config in self.config.images:
            if self._pvapy is not None:
                name = f"{self.config.prefix}:{config.record}"
                self._images.append(ImageRecord(config, name, self._pvapy.add(name)))
                continue
            record = pva.Image()
            self._images.append(ImageRecord(config, self._records.add(config.record, record), record))
        self._frames = Frames(self._images, keep_times=bool(self.config.pipeline))
        self._work.append(("frames", self._frames.run))

    def _add_receiver(self) -> None:
        client = ReceiverClient(self.config.receiver, timeout=TIMEOUT)
        shown = StatusRecords(self._records, "Receiver", status_records.RECEIVER, status_records.of_receiver)

        def show(status: receiver.Status) -> None:
            shown.show(status)
            self._look_at_entry(status)

        self._receiver = Watch(client.url, client.status, show, shown.away)
        self._clients.append(client)
        self._work.append(("receiver", self._receiver.run))

    def _add_pipeline(self) -> None:
        client = PipelineClient(self.config.pipeline, timeout=TIMEOUT)
        shown = StatusRecords(self._records, "Pipeline", status_records.PIPELINE, status_records.of_pipeline)
        results = ResultRecords(client, self._records, self.config.results, self._time_of)

        def show(status: pipeline.Status) -> None:
            shown.show(status)
            results.show(status)

        self._results = results
        self._pipeline = Watch(client.url, client.status, show, shown.away)
        self._clients.append(client)
        self._work += [("pipeline", self._pipeline.run), ("results", results.run)]
        if self.config.command:
            commands = self._commands = Commands(client)
            self._command = self._records.add("Command", pva.Command(commands.take))

    def _add_gateway(self, config: InConfig) -> None:
        try:
            gateway = self._gateway = Gateway(config, self._ends)
        except OSError as error:
            raise RuntimeError(f"in.endpoint cannot be used: {error}") from error
        shown = StatusRecords(self._records, "In", status_records.IN, status_records.of_gateway)

        def show(ends: threading.Event) -> None:
            while not ends.wait(SHOW):
                shown.show(gateway.status)

        self._work += [("in", gateway.run), ("in, shown", show)]

    def _time_of(self, series: str, index: int) -> float | None:
        return None if self._frames is None else self._frames.time_of(series, index)

    def _look_at_entry(self, status: receiver.Status) -> None:
        """Connect to the forward entry, and notice a series whose begin was missed."""
        if self._frames is None:
            return
        before = self._entry_problem
        self._entry_problem = problem_of(status, self.config, clients=1 if self._frames.endpoint else 0)
        if self._entry_problem not in ("", before):
            log.warning("%s", self._entry_problem)
        if not self._entry_problem:
            self._frames.endpoint = endpoint_of(status, self.config)
        series = status.series
        running = series.id if series is not None and series.active else ""
        if not running or running == self._frames.series:
            self._missed = ("", 0.0)
        elif running != self._missed[0]:
            self._missed = (running, time.monotonic())

    # -- what it says --------------------------------------------------------------------------------

    @property
    def status(self) -> models.Status:
        """The state of now, without a version."""
        config, frames = self.config, self._frames
        waits_for = self._waits_for()
        gateway = None if self._gateway is None else self._gateway.status
        active = (frames is not None and frames.active) or (
            gateway is not None and gateway.series is not None
        )
        watches: list[Watch[Any]] = [each for each in (self._receiver, self._pipeline) if each is not None]
        answers = all(each.status is not None for each in watches)
        pipeline_runs = (
            self._pipeline is not None
            and self._pipeline.status is not None
            and self._pipeline.status.state == "running"
        )
        state: models.StateName = "idle"
        if not answers or self._entry_problem:
            state = "waiting"
        elif active or (pipeline_runs and not config.consumer):
            state = "running"
        status = models.Status(
            state=state, bridge=config.name, prefix=config.prefix, server=config.server,
            addresses=self._records.addresses, waits_for=waits_for,
            receiver=None if self._receiver is None else self._receiver.source, consumer=config.consumer,
            images=[each.status for each in self._images],
            pipeline=None if self._pipeline is None else self._pipeline.source,
            results=[] if self._results is None else self._results.status, command=self._command,
            gateway=gateway,
            clients=[models.Client(address=who, records=has) for who, has in self._records.clients().items()],
            penstock=VERSION,
        )  # fmt: skip
        if frames is not None:
            status = replace(
                status, series=frames.series, active=active, file=frames.file, frames=frames.count,
                bad_messages=frames.bad,
            )  # fmt: skip
        if (commands := self._commands) is not None:
            status = replace(status, commands=commands.carried_out, refused_commands=commands.refused)
        return status

    @property
    def health(self) -> Health:
        """Liveness and readiness, for whoever restarts bridges."""
        waits_for = self._waits_for()
        return Health(
            alive=not self.failure,
            ready=not self.failure and not waits_for,
            message=self.failure or waits_for,
        )

    def _waits_for(self) -> str:
        found = [each.problem for each in (self._receiver, self._pipeline) if each is not None]
        found.append(self._entry_problem)
        if self._gateway is not None:
            found.append(self._gateway.waits_for)
        series, since = self._missed
        if series and time.monotonic() - since > UNSEEN and not self._entry_problem:
            found.append(
                f"series {series} began while this bridge was not connected: frames come from the next "
                "series on"
            )
        return " ".join(each if each.endswith((".", "?")) else f"{each}." for each in found if each)


def _pvapy_server() -> PvapyServer:
    """Return PvaPy's server.

    Raises:
        RuntimeError: PvaPy is not installed.
    """
    try:
        from penstock.bridges.epics.pvapy_images import PvapyServer
    except ModuleNotFoundError as error:
        raise RuntimeError(PVAPY) from error
    return PvapyServer()
