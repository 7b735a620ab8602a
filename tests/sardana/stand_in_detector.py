"""A detector device that a test moves by hand, and the clock that goes with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from penstock.sardana.channel.detector import LOST, Facts, Refused, Snapshot, Verdict
from penstock.sardana.reference import parse

NAME = "sim/det/1"


@dataclass
class Clock:
    """Seconds that pass only when somebody lets them."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        """As `time.sleep`."""
        self.now += seconds


@dataclass
class StandIn:
    """See `penstock.sardana.channel.detector.Detector`."""

    clock: Clock
    name: str = NAME
    state: str = "ON"
    status: str = "Ready."
    acquired: int = 0
    ready: bool = True
    series: str = ""
    known: Facts = field(
        default_factory=lambda: Facts(
            (32, 64), "uint16", "entry/instrument/sim_1/data", "hardware counter", 0.01, 1e-4,
            ("SOFTWARE", "INTERNAL", "EXTERNAL", "EXTERNAL_MULTI", "EXTERNAL_MULTI_GATE"), "a client", 0,
        )
    )  # fmt: skip
    ended: Verdict = field(default_factory=Verdict)
    attributes: dict[str, Any] = field(
        default_factory=lambda: {
            "TriggerMode": "INTERNAL", "ExposureTime": 0.1, "LatencyTime": 0.0, "nTriggers": 1,
            "nFramesPerTrigger": 1, "DestinationFilename": "", "DestinationFileOverwritable": False,
            "Metadata": "", "SaveRaw": True,
        }
    )  # fmt: skip
    files: set[str] = field(default_factory=set)
    refuses: dict[str, Refused] = field(default_factory=dict)
    """By the name of the call."""
    slow_arm: bool = False
    closes_at: float | None = None
    """The file is closed at this time of the clock."""
    calls: list[str] = field(default_factory=list)
    written: list[dict[str, Any]] = field(default_factory=list)
    _count: int = 0

    # What a test does

    def take(self, frames: int) -> None:
        """So many further frames come out of the hardware."""
        self.acquired += frames

    def close_file(self, *, complete: bool = True, sentence: str = "", **counts: int) -> None:
        """The series ends: State ON."""
        self.state, self.status = "ON", "Ready."
        self.ended = Verdict(
            self.series, complete, sentence or "as it ended", self.known.planned,
            {"missing": 0, "not_triggered": 0, "corrupt": 0, "partial": 0, "pending": 0, **counts},
        )  # fmt: skip

    def fail(self, sentence: str) -> None:
        """The device goes to FAULT."""
        self.state, self.status = "FAULT", sentence

    def vanish(self) -> None:
        """The server dies."""
        lost = Refused(LOST, "the detector device sim/det/1 does not answer; is its server running?")
        self.refuses = dict.fromkeys(("snapshot", "facts", "trigger", "stop", "abort", "arm"), lost)

    # What a channel asks

    def snapshot(self) -> Snapshot:
        """See `Detector`."""
        self._called("snapshot")
        if self.closes_at is not None and self.clock() >= self.closes_at:
            self.closes_at = None
            self.close_file()
        return Snapshot(self.state, self.status, self.acquired, self.ready, self.series)

    def facts(self) -> Facts:
        """See `Detector`."""
        self._called("facts")
        return self.known

    def verdict(self) -> Verdict:
        """See `Detector`."""
        self._called("verdict")
        return self.ended

    def settings(self, names: tuple[str, ...]) -> dict[str, Any]:
        """See `Detector`."""
        self._called("settings")
        return {name: self.attributes[name] for name in names}

    def write(self, settings: Mapping[str, Any]) -> None:
        """See `Detector`."""
        self._called("write")
        self.written.append(dict(settings))
        self.attributes.update(settings)

    def check(self) -> str:
        """See `Detector`."""
        self._called("check")
        return "file_exists" if self.attributes["DestinationFilename"] in self.files else ""

    def arm(self) -> None:
        """See `Detector`."""
        self._called("arm")
        name = self.attributes["DestinationFilename"]
        if name in self.files:
            raise Refused("file_exists", f"{name} exists")
        if name:
            self.files.add(name)
        self._count += 1
        self.series, self.acquired = f"series {self._count}", 0
        self.state = "MOVING" if self.slow_arm else "RUNNING"
        planned = self.attributes["nTriggers"] * self.attributes["nFramesPerTrigger"]
        self.known = replace(self.known, planned=planned)

    def trigger(self) -> None:
        """See `Detector`."""
        self._called("trigger")
        if not self.ready:
            raise Refused("not_ready", "SoftwareTrigger refused, the detector is still busy")

    def stop(self) -> None:
        """See `Detector`."""
        self._called("stop")
        if self.state in ("RUNNING", "MOVING") and self.closes_at is None:
            self.closes_at = self.clock() + 0.1

    def abort(self) -> None:
        """See `Detector`."""
        self._called("abort")
        self.stop()

    def data_root(self) -> str:
        """See `Detector`."""
        return "/data"

    def image(self, series: str, index: int, within: float) -> np.ndarray:
        """See `Detector`."""
        return np.full((32, 64), index)

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if name in self.refuses:
            raise self.refuses[name]


def indices(references: list[str]) -> list[int]:
    """Return the indices of the frames that value references name."""
    found = [parse(text) for text in references]
    return [reference.index for reference in found if reference is not None]
