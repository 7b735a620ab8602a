"""The data process: its pipeline, turned until the parent says quit or is gone.

Commands come, and snapshots go, over one socket pair to the HTTP process, which is the parent. If
the parent dies, the running series is left to the next start, or closed if it could not go on, and the
process ends; if this process dies, the parent says so.

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

from penstock.receiver.live.last_frame import LastFrame
from penstock.receiver.process import logs
from penstock.receiver.process.history import History
from penstock.receiver.process.link import Link
from penstock.receiver.process.pipeline import Pipeline
from penstock.receiver.regions.memory import RegionMemory

log = logging.getLogger("penstock.receiver.process.data_process")  # run with -m, so that __name__ is __main__

TICK = 0.05
"""Seconds between two looks at clocks, connections and commands."""


def run(link: Link, last_frame: LastFrame, requested_frame: LastFrame, rois: RegionMemory) -> None:
    """Loop until told to quit.

    Args:
        link: to the parent.
        last_frame: where the live view looks.
        requested_frame: where it finds a frame that it asked for by its index.
        rois: where it finds the values of regions of interest.
    """
    setup = link.setup()
    pipeline = Pipeline(setup.name, setup.config, last_frame, requested_frame, rois=rois)
    pipeline.recover()
    pipeline.ingest.watch(link.fileno)
    state = pipeline.machine.state
    tell_due = 0.0
    why = "the receiver was shut down"
    try:
        while True:
            pipeline.step(TICK)
            fresh = pipeline.machine.state is not state
            for command in link.commands():
                if command.action == "frame":
                    pipeline.outputs.requested.ask(command.number, command.index)
                    continue
                fresh = True
                match command.action:
                    case "stop" if command.series:
                        pipeline.stop_at_end(command.series, command.reason)
                    case "stop":
                        pipeline.stop(command.reason)
                    case "reset":
                        pipeline.reset()
                    case "rois":
                        pipeline.use_rois(command.rois)
                    case "quit" | "leave":
                        log.info("%s ends: %s", setup.name, command.reason)
                        why = command.reason
                        if command.action == "leave" and pipeline.leave():
                            log.warning("%s: the next start goes on with the series", setup.name)
                            os._exit(1)  # no file is closed, no consumer told: the series has not ended
                        return
                link.handled = command.number
            fresh = pipeline.answer_request() or fresh
            state = pipeline.machine.state
            now = time.monotonic()
            if fresh or now >= tell_due:
                link.send(pipeline, now, fresh=fresh)
                tell_due = now + TICK
    finally:
        pipeline.close(why)
        while link.send(pipeline, time.monotonic(), fresh=True) and pipeline.ended:
            pass
        if pipeline.ended:  # the parent is gone, which would have kept them
            history = History(setup.name, setup.config)
            history.start()
            for past in pipeline.ended:
                history.add(past)
            history.close()


def main() -> None:
    """Entry of the data process."""
    control, shared, requested, rois = map(int, sys.argv[1:5])
    logs.begin()
    # The parent gets the terminal's Ctrl-C, and a supervisor's request, which goes to all processes of a
    # service, and tells this process to quit, so that files are closed.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    run(Link(socket.socket(fileno=control)), LastFrame(shared), LastFrame(requested), RegionMemory(rois))


if __name__ == "__main__":
    main()
