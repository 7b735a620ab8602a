"""A train of triggers for simulated detectors, sent by a thread: their pulse generator."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Event

import tango

from penstock.sardana.shelter import Job, Shelter
from penstock.streamer.simulated.triggers import TriggerSource


class TriggerTrainError(Exception):
    """A train cannot be made; the sentence has the remedy."""


@dataclass(frozen=True)
class Group:
    """Edges at equal distance; times in seconds."""

    delay: float
    """Time of the first edge after the start of the train."""
    active: float
    """Time for which the signal stays high."""
    total: float
    """Time from edge to edge."""
    repeats: int


def check(groups: Sequence[Group]) -> None:
    """Refuse what no pulse generator can do.

    Raises:
        TriggerTrainError: a time is negative or not a number, or a group begins before the last edge of the
            previous one.
    """
    end = -math.inf
    for number, group in enumerate(groups, 1):
        if not all(math.isfinite(t) and t >= 0 for t in (group.delay, group.active, group.total)):
            raise TriggerTrainError(
                f"trigger group {number}: {group}; delay, active and total time are in seconds, at least 0"
            )
        if (group.repeats > 1 and group.total <= 0) or group.delay <= end:
            raise TriggerTrainError(
                f"trigger group {number} has two edges at once or goes back in time: {group};"
                " delays count from the start of the train"
            )
        end = group.delay + (group.repeats - 1) * group.total


def trigger_address(detector: str) -> tuple[str, int]:
    """Return host and UDP port of a simulated detector's trigger input, as they are now.

    Args:
        detector: Tango name; or HOST:PORT itself, of a simulated control unit.

    Raises:
        tango.DevFailed: the device does not answer.
        TriggerTrainError: it has no trigger input.
    """
    if "/" not in detector:
        return _address(detector, detector)
    try:
        text = str(tango.DeviceProxy(detector).read_attribute("TriggerAddress").value)
    except tango.DevFailed as error:
        if error.args[0].reason == "API_AttrNotFound":
            raise TriggerTrainError(
                f"{detector} has no attribute TriggerAddress: only simulated detectors take triggers over the"
                " network; remove it from the property Detectors, or give HOST:PORT of its simulated box"
            ) from error
        raise
    return _address(detector, text)


def _address(detector: str, text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal():
        raise TriggerTrainError(f"{detector}: TriggerAddress is {text!r}, not HOST:PORT; restart its server")
    return host, int(port)


class TriggerLine:
    """One line to several detectors; emits one train at a time and counts edges until `reset`."""

    def __init__(self) -> None:
        self._source = TriggerSource()
        self._shelter = Shelter("trigger train")
        self._train: Job | None = None
        self._stop = Event()
        self.error = ""
        """Why the last train ended early; "" if it did not."""

    def reset(self, addresses: Sequence[tuple[str, int]]) -> None:
        """Begin a series: count edges from 0 again, for the detectors at these addresses."""
        self.stop()
        self._source.close()
        self._source = TriggerSource(*addresses)
        self.error = ""

    @property
    def running(self) -> bool:
        """True if edges are still to come."""
        return self._train is not None and not self._train.over

    @property
    def emitted(self) -> int:
        """Edges of the series so far, missed ones included."""
        return self._source.counter

    def start(self, groups: Sequence[Group], missed: Sequence[int] = ()) -> None:
        """Begin a train; it ends by itself.

        Args:
            groups: relative to now.
            missed: numbers of edges in the series, from 0, that reach nobody.
        """
        self.stop()
        self._stop = stop = Event()
        begin, edges, dropped = time.monotonic(), tuple(groups), frozenset(missed)
        self._train = self._shelter.begin(lambda: self._emit(begin, edges, dropped, stop))

    def stop(self) -> None:
        """Emit no further edge; return when there can be none."""
        self._stop.set()
        if self._train is not None:
            self._train.wait()

    def close(self) -> None:
        """Stop, and close the socket."""
        self.stop()
        self._source.close()

    def _emit(self, start: float, groups: Sequence[Group], missed: frozenset[int], stop: Event) -> None:
        """Emit each edge at its own time from the start: a late one does not delay those after it.

        The edge carries the time at which it was due, when that of a pulse generator would have come: by this
        the detector judges whether it was still busy.
        """
        try:
            for group in groups:
                for number in range(group.repeats):
                    due = start + group.delay + number * group.total
                    if stop.wait(max(0.0, due - time.monotonic())):
                        return
                    if self._source.counter in missed:
                        self._source.miss()
                    else:
                        self._source.pulse(group.active, moment=due)
        except OSError as error:
            self.error = f"trigger {self._source.counter} was not sent: {error.strerror}"
