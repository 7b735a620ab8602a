"""A whole small beamline on one machine: database, device server, streamer, receiver, and one series.

Each part is a process of its own, on free loopback ports, and ends with the `with` block.
"""

from __future__ import annotations

import json
import os
import queue
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import tango

from penstock.beamline.demonstrated import Demonstrated, DemonstrationFailed
from penstock.beamline.registration import register
from penstock.beamline.stage import Staged, json_line, simulator
from penstock.hosts.child import PENSTOCK, PYTHON, Child, ready_line
from penstock.hosts.tango_database import start_database
from penstock.receiver.models import ReadyLine
from penstock.stins.texts import plural

BUSY = (tango.DevState.MOVING, tango.DevState.RUNNING)
EXPOSURE = 0.018
"""Seconds; with the read-out, about 50 frames per second, which the eye can follow."""
SILENCE = 15.0
"""Seconds without any event after which the series is considered stuck."""
SHARED_FOLDER, SHARED_MB = "/dev/shm", 32
"""Memory for live processing: half of what a container has."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of a series."""

    file: Path
    frames: int
    counts: dict[str, int]
    """stored, partial, delivered, discarded, corrupt, missing, not_triggered: they sum to `frames`."""
    complete: bool
    status: str
    """The device's own sentence."""
    seconds: float


class Demonstration(Demonstrated):
    """The processes; a context manager.

    Args:
        folder: folder of the files; created if it does not exist, and nothing in it is overwritten.
        progress: called with a text at each step.
        receiver: further keys of the receiver's configuration.
        staged: the detector; by default the Simulator.

    Raises:
        DemonstrationFailed: a folder, a port or a process fails; from `__enter__` and `take`.
    """

    def __init__(
        self, folder: Path, progress: Callable[[str], None] = lambda text: None,
        receiver: Mapping[str, object] | None = None, staged: Staged | None = None,
    ) -> None:  # fmt: skip
        super().__init__(folder, progress)
        self._staged = staged or simulator()
        self.name = self._staged.server.lower()
        """Name of the receiver, and of the NXdetector group."""
        self.detector = f"demo/detector/{self.name}"
        """Tango name of the detector's device."""
        self._server = f"{self._staged.server}/demo"
        self._receiver = dict(receiver or {})
        self._scratch = Path()
        self.receiver_url = ""
        self.tango_host = ""
        self.server_pid = 0
        """Process id of the device server, once it runs."""

    def take(self, frames: int, progress: Callable[[int], None]) -> Outcome:
        """Take one series through Tango into the next file that does not exist yet."""
        file = self._next_file()
        try:
            return self._take(frames, file, progress)
        except tango.DevFailed as error:
            raise DemonstrationFailed(error.args[0].desc.strip()) from error

    def _start(self) -> None:
        scratch = self._scratch = Path(
            self._stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-demo-"))
        )
        database = self._stack.enter_context(start_database(scratch))
        self.tango_host = f"127.0.0.1:{database.answer}"
        self._progress(f"Tango database {self.tango_host} (embedded)")
        for stand_in in self._staged.stand_ins:
            self._progress(stand_in.name)
            name = f"the {stand_in.name}"
            child = Child(name, stand_in.command, json_line, deadline=stand_in.deadline)
            self._stack.enter_context(child)
        self._progress("receiver")
        self.receiver_url = self._stack.enter_context(self._start_receiver()).answer.http
        self._progress("device server" if self._staged.streams_itself else "device server and streamer")
        self._register()
        self.server_pid = self._stack.enter_context(self._start_server()).pid

    def _start_receiver(self) -> Child[ReadyLine]:
        config = self._scratch / "receiver.yaml"  # not in the folder: two demonstrations may share that
        # JSON is YAML; no YAML library is needed to write it.
        entry = {
            "source": dict(self._staged.source),
            "http": "127.0.0.1:0",
            "data_root": str(self.folder),
            "forward": self._forward(),
            **self._staged.receiver,
            **self._receiver,
        }
        config.write_text(json.dumps({"receivers": {self.name: entry}}, indent=2) + "\n")
        return Child(
            "the receiver",
            [*PENSTOCK, "receiver", self.name, "--config", str(config), "--json"],
            ready_line(ReadyLine),
        )  # fmt: skip

    def _forward(self) -> list[dict[str, object]]:
        """Return the entry for live processing; none where its memory does not fit, as in a container whose
        /dev/shm others have filled."""
        try:
            space = os.statvfs(SHARED_FOLDER)
            free = space.f_bavail * space.f_frsize // 1_000_000
        except OSError:
            free = 0
        if free < SHARED_MB:
            self._progress(f"no live processing: {SHARED_FOLDER} has {free} MB free, {SHARED_MB} are needed")
            return []
        return [
            {"name": "live", "endpoint": "tcp://127.0.0.1:*", "shared": True, "queue_mb": SHARED_MB}
        ]  # fmt: skip

    def _register(self) -> None:
        host, _, port = self.tango_host.partition(":")
        database = tango.Database(host, int(port))
        properties = {name: str(value) for name, value in self._staged.properties.items()}
        register(
            database, self._server, self._staged.server, self.detector,
            {"ReceiverUrl": self.receiver_url, **properties},
        )  # fmt: skip
        register(
            database, self._server, "PenstockReceiver", f"demo/receiver/{self.name}",
            {"ReceiverUrl": self.receiver_url},
        )  # fmt: skip

    def _start_server(self) -> Child[bool]:
        name, _, instance = self._server.partition("/")
        return Child(
            "the device server",
            [
                *PYTHON, "-m", "penstock.devices._server.server", name, instance,
                "-ORBendPoint", "giop:tcp:127.0.0.1:0",
            ],
            lambda line: True if "Ready to accept request" in line else None,
            deadline=30.0, environment={"TANGO_HOST": self.tango_host},
        )  # fmt: skip

    def _take(self, frames: int, file: Path, progress: Callable[[int], None]) -> Outcome:
        detector = tango.DeviceProxy(f"tango://{self.tango_host}/{self.detector}")
        events: queue.SimpleQueue[tango.EventData] = queue.SimpleQueue()
        for name in ("State", "nFramesWritten"):
            detector.subscribe_event(name, tango.EventType.CHANGE_EVENT, events.put)
        starting = (tango.DevState.INIT, tango.DevState.MOVING)
        _wait(detector, events, lambda state: state not in starting, lambda written: None)
        if self._staged.initialised_by_reset and detector.State() is tango.DevState.FAULT:
            self._progress("Reset: the detector was just switched on and must be initialised")
            detector.Reset()
            _wait(detector, events, lambda state: state not in starting, lambda written: None)
        self._progress(f"series of {plural(frames, 'frame')} into {file}")
        for name, value in self._staged.look.items():
            detector.write_attribute(name, value)
        detector.TriggerMode = "INTERNAL"
        detector.ExposureTime = EXPOSURE
        detector.nTriggers = frames
        detector.DestinationFilename = str(file)
        begun = time.monotonic()
        detector.Arm()
        _wait(detector, events, lambda state: state not in BUSY, progress)
        seconds = time.monotonic() - begun
        names = {
            "stored": "nFramesWritten", "partial": "nFramesPartial", "delivered": "nFramesDelivered",
            "discarded": "nFramesDiscarded", "corrupt": "nFramesCorrupt", "missing": "nFramesMissing",
            "not_triggered": "nFramesNotTriggered",
        }  # fmt: skip
        counts = {name: int(getattr(detector, attribute)) for name, attribute in names.items()}
        progress(counts["stored"])
        if detector.State() is not tango.DevState.ON or not file.is_file():
            raise DemonstrationFailed(detector.Status())
        detector.DestinationFilename = str(self._next_file())  # for further series by hand
        return Outcome(
            file=file, frames=frames, counts=counts, complete=counts["stored"] == frames,
            status=detector.Status(), seconds=seconds,
        )  # fmt: skip

    def _next_file(self) -> Path:
        number = 1
        while (file := self.folder / f"demo-{number:04d}.h5").exists():
            number += 1
        return file


def _wait(
    detector: tango.DeviceProxy, events: queue.SimpleQueue[tango.EventData],
    done: Callable[[tango.DevState], bool], progress: Callable[[int], None],
) -> None:  # fmt: skip
    """Follow the events until `done` is true of the state."""
    while True:
        try:
            event = events.get(timeout=SILENCE)
        except queue.Empty:
            state = detector.State()  # read, in case the event was lost
            if done(state):
                return
            raise DemonstrationFailed(
                f"nothing has happened for {SILENCE:g} s in the state {state}: {detector.Status()}"
            ) from None
        if event.err:
            continue
        if event.attr_value.name.lower() == "state":
            # The event may be outdated; the present state of the device decides.
            if done(event.attr_value.value) and done(detector.State()):
                return
        else:
            progress(int(event.attr_value.value))
