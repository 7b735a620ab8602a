"""A fleet whose devices say what a test has them say."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.gui.model.attributes.attribute import Value
from penstock.gui.model.fleet.fleet import Fleet
from penstock.gui.model.fleet.pages import Known, PipelineRow
from penstock.gui.model.tango.device import Greeting, Listener
from penstock.gui.model.tango.directory import DirectoryEntry, DirectoryError
from tests.system.beamline import until

NOW = 1_795_370_000.0


class StandInDevice:
    """Says `values` once it is followed; with `why`, it is away from then on."""

    def __init__(self, values: Mapping[str, Value | None], why: str = "", url: str = "") -> None:
        self.values, self.why, self.url = values, why, url
        self.listener: Listener | None = None
        self.has_started = False
        """True once it has said everything."""

    def start(self, listener: Listener) -> None:
        self.listener = listener
        if self.values:
            listener.reached(Greeting(attributes=[], receiver_url=self.url))
            listener.said(self.values)
        if self.why:
            listener.away(self.why)
        self.has_started = True

    def say(self, **values: Value | None) -> None:
        assert self.listener is not None
        self.listener.said(values)

    def stop(self) -> None:
        self.listener = None

    def write(self, name: str, value: Value) -> Value | None:
        raise NotImplementedError

    def command(self, name: str) -> str:
        raise NotImplementedError


class Beamtime:
    """Devices by name, what the database says, and what is behind the receivers by their addresses."""

    def __init__(self) -> None:
        self.devices: dict[str, StandInDevice] = {}
        self.entries: dict[str, DirectoryEntry] = {}
        self.behind: dict[str, list[PipelineRow]] = {}
        self.trouble = ""
        self.fleet = Fleet(
            self._find, lambda found: self.devices[found.name], now=lambda: NOW, behind=self._read_behind
        )

    def _find(self) -> Sequence[DirectoryEntry]:
        if self.trouble:
            raise DirectoryError(self.trouble)
        return list(self.entries.values())

    def _read_behind(self, receiver: str, known: Known) -> Sequence[PipelineRow]:
        return self.behind.get(receiver, [])

    def detector(
        self, name: str, *, why: str = "", url: str = "", cls: str = "Simulator", **values: Any
    ) -> None:
        self._add(DirectoryEntry(name, "detector", cls, f"{cls}/lab", True), StandInDevice(values, why, url))

    def receiver(self, name: str, *, why: str = "", url: str = "", **values: Any) -> None:
        self._add(
            DirectoryEntry(name, "receiver", "PenstockReceiver", "PenstockReceiver/lab", True),
            StandInDevice(values, why, url),
        )

    def pipeline(self, name: str, *, why: str = "", url: str = "", **values: Any) -> None:
        self._add(
            DirectoryEntry(name, "pipeline", "PenstockPipeline", "PenstockPipeline/lab", True),
            StandInDevice(values, why, url),
        )

    def bridge(self, receiver: str, url: str, name: str, state: str = "IDLE", **keys: Any) -> None:
        self.behind[receiver] = [
            PipelineRow(kind="bridge", name=name, state=state, url=url, receiver_url=receiver, **keys)
        ]

    def looked(self) -> None:
        """Wait until the database has been looked at."""
        until(lambda: self.fleet.looked, "the database is looked at")

    def _add(self, found: DirectoryEntry, device: StandInDevice) -> None:
        self.entries[found.name] = found
        self.devices[found.name] = device


def eight() -> Beamtime:
    """A beamline on a bad day."""
    line = Beamtime()
    first, second, third = (f"http://daq-{number}:5000" for number in (1, 2, 3))
    line.detector(
        "p09/eiger/1", url=first, cls="Eiger", State="RUNNING", SeriesId="s1",
        Status="Taking 12000 frames, EXTERNAL_MULTI, into /data/visitors/2026/ceo2_scan_0042.h5.",
        FileWritten="/data/visitors/2026/ceo2_scan_0042.h5", nFramesPlanned=12000, nFramesWritten=4120,
        nFramesPending=7880, FrameRateMeasured=250.0,
    )  # fmt: skip
    line.detector(
        "p09/zyla/1", url=second, cls="Zyla", State="FAULT", SeriesId="s2", nFramesPlanned=1000,
        nFramesWritten=412, nFramesMissing=588, FileWritten="/data/tomo/fly_0007.h5",
        Status="The receiver zyla failed: the disk of /data/tomo is full, 412 of 1000 frames are in "
        "fly_0007.h5. Make room, then call Reset.",
    )  # fmt: skip
    line.detector(
        "p09/pilatus/1", url=third, cls="Pilatus", State="ON", Status="Ready.", SeriesId="s3",
        FileWritten="/data/a.h5", nFramesPlanned=10, nFramesWritten=10,
        why="The device server of p09/pilatus/1 is not running or not reachable. Start it (Astor, "
        "systemd, or `penstock device`).",
    )  # fmt: skip
    line.detector(
        "p09/basler/1", cls="Basler", State="RUNNING", Status="Live view.", SeriesId="s4",
        nFramesPlanned=-1, nFramesDelivered=3456, FrameRateMeasured=9.98,
    )  # fmt: skip
    line.detector(
        "p09/xspress/1", url=first, cls="Xspress3", State="ON", SeriesId="s5", nFramesPlanned=5000,
        nFramesWritten=4990, nFramesMissing=10, FileWritten="/data/visitors/2026/fluo/step_0013.h5",
        Status="Ready. 4990 of 5000 frames stored in step_0013.h5, 10 missing",
        LastSeries=json.dumps({
            "series": "s5", "complete": False,
            "verdict": "4990 of 5000 frames stored in step_0013.h5, 10 missing",
        }),
    )  # fmt: skip
    line.receiver(
        "p09/receiver/eiger", url=first, State="RUNNING", SeriesId="s1", FreeSpace=61_200_000_000_000,
        Status="Taking series s1 into /data/visitors/2026/ceo2_scan_0042.h5.", FrameRate=250.0,
        FileName="/data/visitors/2026/ceo2_scan_0042.h5", nFramesPlanned=12000, nFramesWritten=4120,
    )  # fmt: skip
    line.receiver(
        "p09/receiver/zyla", url=second, State="FAULT", FreeSpace=0, SeriesId="s2",
        Status="The disk of /data/tomo is full. Mend that and call Reset.",
        FileName="/data/tomo/fly_0007.h5", nFramesPlanned=1000, nFramesWritten=412, nFramesMissing=588,
    )  # fmt: skip
    line.receiver(
        "p09/receiver/pilatus",
        url=third,
        State="UNKNOWN",
        FreeSpace=-1,
        Status="receiver at http://daq-3:5000 does not answer (nobody listens there); is `penstock receiver` "
        "running?",
    )  # fmt: skip
    return line
