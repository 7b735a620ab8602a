"""A distributor for tests of what is around it: its parent, the page, the worker processes.

It welcomes workers, and has one series whose results are in a real result file. Started by the supervisor as
`python -m tests.processing.service.stand_in_distributor FD`. Parameters let it do what a test needs: `die`
(signal), `hang` (seconds), `spoil` (name of a result that cannot be read any more).
"""

from __future__ import annotations

import os
import socket
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import zmq

from penstock.processing import wire
from penstock.processing.distributor.link import Command, Link
from penstock.processing.models import Changed, Counts, Parameters, Series, Status, Worker
from penstock.processing.results.layout import DONE, valid_path
from penstock.processing.results.result_file import ResultFile
from penstock.processing.wire import Array
from tests.processing.results.made import BRIGHT, CURVE, begun, curves

FRAMES, FAILED = 100, 7
EVENTS = Array(name="spots", dtype="<f4", shape=(3, 2), kind="events", counts=(1, 2))
MEAN = Array(name="mean", dtype="<f8", shape=(4, 5), kind="mean", n=FRAMES - 1)


def result_file(folder: Path) -> Path:
    """A result file of `FRAMES` frames, of which one has failed."""
    path = folder / "x.spots.h5"
    made = ResultFile.create(path, begun(planned=FRAMES), overwrite=True)
    done = np.array([index for index in range(FRAMES) if index != FAILED])
    made.rows(CURVE, done, curves(done))
    made.rows(BRIGHT, done, done * 10)
    made.rows(EVENTS, np.array([3, 5]), np.arange(6, dtype="f4").reshape(3, 2))
    made.status(done, DONE)
    made.status(np.array([FAILED]), 2)
    made.error(FAILED, "ValueError: no (spots.py, line 5)")
    made.accumulated([MEAN], [np.full((4, 5), (FRAMES - 1) * 2.5)], done)
    made.close()
    return path


class StandIn:
    """The distributor."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.setup = setup = link.setup()
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.bind("tcp://127.0.0.1:*")
        self._hellos: dict[bytes, wire.Hello] = {}
        self._ready: set[bytes] = set()
        path = result_file(Path(setup.config.results_root)) if setup.config.results_root else None
        counts = Counts(frames=FRAMES, done=FRAMES - 1, failed=1)
        series = Series(id="s1", active=False, counts=counts, planned=FRAMES, result_file=path and str(path))
        self.status = Status(
            state="idle", pipeline=setup.config.name, series=series,
            parameters=setup.parameters or Parameters(values=dict(setup.config.steps[0].parameters)),
            address=self._socket.last_endpoint.decode(),
        )  # fmt: skip

    def run(self) -> None:
        """Until the parent says "quit"."""
        poller = zmq.Poller()
        poller.register(self._socket, zmq.POLLIN)
        poller.register(self.link.fileno, zmq.POLLIN)
        while True:
            found = dict(poller.poll(100))
            if self._socket in found:
                self._take(*self._socket.recv_multipart()[:2])
            for command in self.link.commands():
                if command.action == "quit":
                    self._quit()
                    return
                self._obey(command)
                self.link.handled = command.number
            self.link.send(self._shown, time.monotonic())

    def _take(self, worker: bytes, part: bytes) -> None:
        match wire.from_worker(part):
            case wire.Hello() as hello:
                self._hellos[worker] = hello
                welcome = wire.Welcome(
                    pipeline=self.setup.config.name, steps=self.setup.steps, version=1, parameters={}
                )
                self._socket.send_multipart([worker, wire.encode(welcome)])
            case wire.Ready():
                self._ready.add(worker)
            case wire.Bye():
                self._ready.discard(worker)
                self._hellos.pop(worker, None)

    @property
    def _shown(self) -> Status:
        workers = [
            Worker(
                name=each.name, host=each.host, pid=each.pid, frames=5, seconds_per_frame=0.002,
                state="ready" if identity in self._ready else "starting",
            )
            for identity, each in self._hellos.items()
        ]  # fmt: skip
        return replace(self.status, workers=workers)

    def _obey(self, command: Command) -> None:
        values: dict[str, Any] = command.parameters
        if "die" in values:
            os.kill(os.getpid(), values["die"])
        if "hang" in values:
            time.sleep(values["hang"])
        if "spoil" in values and self.status.series is not None:
            with h5py.File(str(self.status.series.result_file), "r+", locking=False) as file:
                del file[valid_path(values["spoil"])]
        if command.action == "reset":
            return
        now, names = self.status.parameters, [each.name for each in self._hellos.values()]
        if isinstance(values.get("threshold"), str):
            why = dict.fromkeys(names, "parameter threshold of Spots is 'x'; it has to be int")
            self.link.changed = Changed(taken=False, version=now.version, refused=why)
            return
        new = Parameters(version=now.version + 1, values={**now.values, **values}, from_frame=42)
        self.status = replace(self.status, parameters=new)
        self.link.changed = Changed(taken=True, version=new.version, from_frame=42, acknowledged=names)

    def _quit(self) -> None:
        for worker in self._hellos:
            self._socket.send_multipart([worker, wire.encode(wire.Stop())])
        self._context.destroy(linger=1000)


if __name__ == "__main__":
    StandIn(Link(socket.socket(fileno=int(sys.argv[1])))).run()
