"""Sardana's request as the settings of one series: one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

SOFTWARE, EXTERNAL, EXTERNAL_MULTI, EXTERNAL_MULTI_GATE = (
    "SOFTWARE", "EXTERNAL", "EXTERNAL_MULTI", "EXTERNAL_MULTI_GATE",
)  # fmt: skip


@dataclass(frozen=True)
class Synchronization:
    """How a channel learns when to expose."""

    mode: str
    """TriggerMode of the detector."""
    burst: bool
    """One trigger starts all repetitions of a start; else each repetition has a trigger of its own."""
    polled: bool
    """Sardana asks for the references while the points are taken, and gets lists of them."""

    @property
    def hardware(self) -> bool:
        """True if an electrical signal triggers the detector."""
        return self.mode != SOFTWARE


SYNCHRONIZATIONS: Final[Mapping[str, Synchronization]] = {
    "SoftwareTrigger": Synchronization(SOFTWARE, burst=True, polled=False),
    "SoftwareGate": Synchronization(SOFTWARE, burst=True, polled=False),
    "SoftwareStart": Synchronization(SOFTWARE, burst=True, polled=True),
    "HardwareTrigger": Synchronization(EXTERNAL_MULTI, burst=False, polled=True),
    "HardwareGate": Synchronization(EXTERNAL_MULTI_GATE, burst=False, polled=True),
    "HardwareStart": Synchronization(EXTERNAL, burst=True, polled=True),
}
"""Synchronizations by the name in Sardana's AcqSynch. With software triggers and gates, Sardana gives
repetitions = 1 and counts every repetition as a start."""


@dataclass(frozen=True)
class Plan:
    """One series."""

    name: str
    """Name of the synchronization."""
    synchronization: Synchronization
    mode: str
    """TriggerMode."""
    triggers: int
    frames_per_trigger: int
    per_start: int
    """Frames per start by Sardana."""
    exposure: float
    """Seconds."""
    latency: float
    """Seconds of dead time that the detector itself must keep."""
    spacing: float
    """Seconds from one frame to the next, as Sardana plans them."""

    @property
    def frames(self) -> int:
        """Frames of the whole series."""
        return self.triggers * self.frames_per_trigger


def plan(synchronization: str, value: float, repetitions: int, latency: float, starts: int) -> Plan:
    """Return the series for the arguments of PrepareOne.

    Args:
        synchronization: a key of `SYNCHRONIZATIONS`.
        value: exposure in seconds.
        repetitions: frames of each start.
        latency: minimum seconds between two frames.
        starts: how often Sardana will start the channel.
    """
    found = SYNCHRONIZATIONS[synchronization]
    triggers, frames = (starts, repetitions) if found.burst else (starts * repetitions, 1)
    # EXTERNAL is one edge for the whole series; with several starts each needs an edge of its own.
    mode = EXTERNAL_MULTI if found.mode == EXTERNAL and starts > 1 else found.mode
    # Where each frame has its own trigger, that alone sets the time: a detector that kept the same dead time
    # itself would miss every trigger that is a microsecond early.
    own_latency = latency if frames > 1 else 0.0
    return Plan(
        synchronization, found, mode, triggers, frames, repetitions, value, own_latency, value + latency
    )
