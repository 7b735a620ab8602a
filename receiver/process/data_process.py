"""The data process: it runs the pipeline until the parent asks it to quit or is gone.

It receives commands from and sends snapshots to the HTTP process, its parent, over one socket pair. If the
parent dies, the running series is left to the next start, or closed if it cannot be resumed, and the process
ends; if this process dies, the parent reports it.

Started by `supervisor.Supervisor`, never by hand:
python -m penstock.receiver.process.data_process CONTROL_FD LAST_FRAME_FD REQUESTED_FRAME_FD ROIS_FD
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import time

from penstock.hosts.version import version
from penstock.receiver.live.last_frame import LastFrame
from penstock.receiver.process.history import History
from penstock.receiver.process.link import GONE, Link
from penstock.receiver.process.pipeline import Pipeline
from penstock.receiver.regions.memory import RegionMemory
from penstock.service import garbage, logs

log = logging.getLogger("penstock.receiver.process.data_process")  # run with -m, so that __name__ is __main__

TELL = 0.1
"""Seconds between two snapshots at rates."""
FEW, QUIET = 3, 0.02
"""Most frames that are told at once, if the last ones were told so many seconds before: below 150 frames per
second."""
AT_ONCE_PER_SECOND, AT_ONCE = 25.0, 5.0
"""How often, on average and in a row, frames are told at once: a scan of 40 ms per point."""


class Telling:
    """Decides before each turn of the loop."""

    def __init__(self) -> None:
        self._due = 0.0
        self._received = 0
        self._changed_at = 0.0
        self._left, self._at = AT_ONCE, 0.0

    def is_due(self, now: float, received: int) -> bool:
        """Return whether to tell now.

        Args:
            now: monotonic seconds.
            received: frames received in this series, in any count that changes with them.
        """
        if now >= self._due:
            return True
        new = abs(received - self._received)
        if not 0 < new <= FEW or now - self._changed_at < QUIET:
            return False
        self._left = min(AT_ONCE, self._left + (now - self._at) * AT_ONCE_PER_SECOND)
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True

    def told(self, now: float, received: int) -> None:
        """It was told."""
        if received != self._received:
            self._changed_at = now
        self._due, self._received = now + TELL, received


TICK = 0.05
"""Longest time in seconds between two looks at clocks, connections and commands."""


def run(link: Link, last_frame: LastFrame, requested_frame: LastFrame, rois: RegionMemory) -> None:
    """Loop until told to quit.

    Args:
        link: to the parent.
        last_frame: shared memory for the newest frame.
        requested_frame: shared memory for a frame requested by its index.
        rois: shared memory for the values of regions of interest.
    """
    setup = link.setup()
    pipeline = Pipeline(setup.name, setup.config, last_frame, requested_frame, rois=rois, ending=setup.ending)
    pipeline.recover()
    pipeline.ingest.watch(link.fileno)
    state = pipeline.machine.state
    telling = Telling()
    why = "the receiver was shut down"
    garbage.stays()
    try:
        while True:
            pipeline.step(TICK)
            fresh = pipeline.machine.state is not state
            for command in link.commands() if pipeline.ingest.is_called else ():
                if command.action == "request":
                    pipeline.outputs.requested.ask(command.number, command.request)
                    continue
                fresh = True
                match command.action:
                    case "stop" if command.series:
                        pipeline.stop_at_end(command.series, command.reason, failed=command.failed)
                    case "stop":
                        pipeline.stop(command.reason, stopped=not command.failed)
                    case "reset":
                        pipeline.reset()
                    case "rois":
                        pipeline.use_rois(command.rois)
                    case "expect" if command.expected is not None:
                        pipeline.expect(command.expected, command.seconds)
                    case "drain":
                        pipeline.drain(command.on)
                    case "forget":
                        pipeline.forget(command.series)
                    case "quit" | "leave":
                        log.info("%s ends: %s", setup.name, command.reason)
                        why = command.reason
                        if command.action == "leave":
                            if not (why_not := pipeline.leave(asked=command.reason != GONE)):
                                log.warning("%s: the next start resumes the series", setup.name)
                                os._exit(0)  # neither file nor consumers see an end: the series continues
                            why += f", and the series cannot be resumed: {why_not}"
                        return
                link.handled = command.number  # all that "tell" asks for
            fresh = pipeline.answer_request() or fresh
            state = pipeline.machine.state
            now, received = time.monotonic(), pipeline.received
            if fresh or telling.is_due(now, received):
                while link.send(pipeline, now, fresh=fresh) and pipeline.ended:
                    pass
                telling.told(now, received)
    finally:
        pipeline.close(why)
        while link.send(pipeline, time.monotonic(), fresh=True) and pipeline.ended:
            pass
        if pipeline.ended:  # the parent, which keeps the history, is gone
            history = History(setup.name, setup.config)
            history.start()
            for past in pipeline.ended:
                history.add(past)
            history.close()


def main() -> None:
    """Entry of the data process."""
    control, shared, requested, rois = map(int, sys.argv[1:5])
    logs.begin()
    version()  # now, not when the first series begins: it may ask git
    # Ctrl-C and the end of a service send signals to all processes: the parent handles them, and asks this
    # process to quit, so that files are closed.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    run(Link(socket.socket(fileno=control)), LastFrame(shared), LastFrame(requested), RegionMemory(rois))


if __name__ == "__main__":
    main()
