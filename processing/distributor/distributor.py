"""The distributor: one process per pipeline that gives frames to workers and stores their results.

It never runs a scientist's code. Started by the pipeline's HTTP process, never by hand:
python -m penstock.processing.distributor.distributor CONTROL_FD
"""

from __future__ import annotations

import logging
import resource
import signal
import socket
import sys
import time
from collections import deque
from pathlib import Path

import zmq

from penstock.processing.distributor.connections import CannotListen, Connections
from penstock.processing.distributor.flow import Flow
from penstock.processing.distributor.link import Command, Link, Setup
from penstock.processing.distributor.pipeline_status import status
from penstock.processing.distributor.receiver.events import Begun, Entry, Forgotten, Over, Running, Silent
from penstock.processing.distributor.receiver.watch import Watch
from penstock.processing.distributor.receiver_stream import ReceiverStream
from penstock.processing.models import Changed, Status
from penstock.processing.wire.keys import BadKey

log = logging.getLogger("penstock.processing.distributor")  # run with -m, so that __name__ is __main__

TICK = 0.1
"""Longest time in seconds between two looks at what has no descriptor: the shared memory, hanging workers."""
LEAVE_SECONDS = 10.0
"""Longest time for workers to end their bunches and hand over when the pipeline ends."""


class Distributor:
    """The sockets of a distributor, and its loop.

    Args:
        setup: from the parent.
        link: to the parent.

    Raises:
        CannotListen: the address for workers cannot be bound.
        BadKey: the key cannot be read.
    """

    def __init__(self, setup: Setup, link: Link) -> None:
        self._setup = setup
        self._link = link
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        key = Path(setup.config.key) if setup.config.key else None
        try:
            self._connections = Connections(self._context, setup.config.listen, key)
        except (CannotListen, BadKey):
            self._context.destroy(linger=0)
            raise
        self._flow = Flow(setup, self._connections)
        self._silent = ""
        self._watch: Watch | None = None
        self._poller = zmq.Poller()
        self._stream = ReceiverStream(self._context, self._poller, self._flow.series)
        self._flow.workers.shared = self._stream.memory
        for each in self._connections.sockets:
            self._poller.register(each, zmq.POLLIN)
        self._poller.register(link.fileno, zmq.POLLIN)
        self._commands: deque[Command] = deque()
        self._changing: Command | None = None
        self._leave_due: float | None = None
        if setup.file:
            self._flow.series.process_file(setup.file)
        else:
            self._watch = Watch(setup.config.receiver, setup.config.consumer, setup.since, setup.over)
            self._flow.series.ask, self._flow.series.ask_end = self._watch.ask, self._watch.ask_end
            self._poller.register(self._watch.fileno, zmq.POLLIN)

    def run(self) -> None:
        """Loop until told to quit."""
        try:
            while not self._has_left:
                self._step()
            self._tell(time.monotonic())
        finally:
            self._close()

    # -- the loop --------------------------------------------------------------------------------------

    def _step(self) -> None:
        flow = self._flow
        seconds = flow.series.channels.poll_seconds(flow.series.runs.values(), TICK)
        found = dict(self._poller.poll(int(seconds * 1000)))
        now = time.monotonic()
        for peer, parts in self._connections.receive(found):
            flow.message(peer, parts, now)
        for peer in self._connections.gone():
            flow.gone(peer)
        self._stream.read(found)
        if self._watch is not None and self._watch.fileno in found:
            self._take_news(self._watch)
        if self._link.fileno in found:
            self._commands.extend(self._link.commands())
        self._carry_out()
        flow.hanging(now)
        flow.series.channels.step(list(flow.series.runs.values()), now)
        flow.ending.step()
        flow.dispatch.give(now)
        if self._link.due(now):
            self._tell(now)

    def _tell(self, now: float) -> None:
        past = self._flow.series.past
        over = past.untold
        is_finished, hanging = self._is_finished, tuple(self._flow.given_up)
        if self._link.send(self._status(), now, finished=is_finished, hanging=hanging, over=over):
            past.told(over)

    def _status(self) -> Status:
        return status(self._flow, self._silent)

    @property
    def _is_finished(self) -> bool:
        """True if all is done of a pipeline on a file."""
        is_over = not self._flow.series.runs and not self._flow.ending.exports.are_running
        return bool(self._setup.file) and is_over

    # -- the receiver's word, and the parent's ---------------------------------------------------------

    def _take_news(self, watch: Watch) -> None:
        for news in watch.news():
            match news:
                case Begun():
                    if (run := self._flow.series.runs.get(news.series)) is not None:
                        self._flow.series.known(run, news)
                case Over():
                    self._flow.series.is_over(news)
                case Forgotten(series):
                    self._flow.series.is_forgotten(series)
                case Entry():
                    self._stream.connect(news)
                case Running():
                    self._flow.unheard.take(news, time.monotonic())
                case Silent(why):
                    self._silent = why

    def _carry_out(self) -> None:
        """Carry commands out, one after the other; parameters are over once the workers have answered."""
        if self._changing is not None:
            changed = self._flow.changed()
            if changed is None:
                return
            self._link.changed, self._link.handled = changed, self._changing.number
            self._changing = None
        while self._commands:
            command = self._commands.popleft()
            match command.action:
                case "parameters" if not self._flow.workers.ready:
                    self._refuse(self._flow.workers.why_nobody_is_ready)
                case "parameters" if why := self._flow.refuses(command.parameters):
                    self._refuse(why)
                case "parameters":
                    self._flow.change(command.parameters)
                    self._changing = command
                    return
                case "stop":
                    self._flow.ending.stop(command.series, command.reason)
                case "drain":
                    self._flow.series.drain(command.on)
                case "reset":
                    self._flow.series.reset()
                    self._stream.try_again()
                case "quit":
                    self._leave()
                case _:
                    log.error("the parent says what is not understood: %s", command.action)
            self._link.handled = command.number

    def _refuse(self, why: str) -> None:
        version = self._flow.versions.version
        self._link.changed = Changed(taken=False, version=version, refused={"": why})

    # -- the end ---------------------------------------------------------------------------------------

    def _leave(self) -> None:
        """Let workers end their bunches, hand over and leave; then the loop ends."""
        if self._leave_due is None:
            self._leave_due = time.monotonic() + LEAVE_SECONDS
            self._flow.leave()

    @property
    def _has_left(self) -> bool:
        if self._leave_due is None:
            return False
        return not self._flow.workers.members or time.monotonic() > self._leave_due

    def _close(self) -> None:
        if self._watch is not None:
            self._watch.close()
        self._stream.close()
        self._flow.series.channels.flush(self._flow.series.runs.values())
        self._flow.series.close()
        self._flow.ending.exports.wait(LEAVE_SECONDS)
        self._connections.close()
        self._context.term()


def main() -> None:
    """Run until the parent says quit, or is gone."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # of a terminal: the parent says when to end
    # Each series that is not over has a file or two open, and a burst may bring hundreds.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    link = Link(socket.socket(fileno=int(sys.argv[1])))
    setup = link.setup()
    try:
        distributor = Distributor(setup, link)
    except (CannotListen, BadKey) as error:
        link.send(Status(state="error", error=str(error), pipeline=setup.config.name), time.monotonic())
        log.error("%s", error)
        sys.exit(1)
    distributor.run()


if __name__ == "__main__":
    main()
