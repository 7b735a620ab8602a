"""One exposure of the simulated camserver: of one image, or of a series of them, each at its time."""

from __future__ import annotations

import math
import queue
import re
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread

import msgspec

from penstock.streamer.simulated.camserver.faults import Faults
from penstock.streamer.simulated.camserver.images import DiskFull, Images
from penstock.streamer.simulated.camserver.settings import READOUT
from penstock.streamer.simulated.triggers import TOLERANCE, Edge

DIGITS = re.compile(r"(.*_)(\d{3,})")
"""Digits after the last underscore are format and first number ([um] footnote 1, p. 59-60)."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What camserver was told when the exposure began."""

    command: str
    """Exposure, ExtTrigger, ExtMTrigger or ExtEnable."""
    images: int
    exposure: float
    period: float
    delay: float
    per_frame: int
    """Gates that are added up in each image."""
    acknowledge: int
    """7 OK for each so-manieth image; 0: only for the last."""
    target: Path
    """Folder and name as they were given."""

    def path(self, number: int) -> Path:
        """Return the file of image `number`, from 0."""
        found = DIGITS.fullmatch(self.target.stem)
        if self.images == 1:
            return self.target
        if found is None:
            return self.target.with_name(f"{self.target.stem}_{number:05d}{self.target.suffix}")
        first, width = int(found[2]), len(found[2])
        return self.target.with_name(f"{found[1]}{first + number:0{width}d}{self.target.suffix}")

    def first(self) -> int:
        """Return the number in the name of the first image; 0 if it has none."""
        found = DIGITS.fullmatch(self.target.stem)
        return int(found[2]) if found else 0


class Exposure:
    """See the module.

    Args:
        plan: what is exposed.
        images: where the files come from.
        faults: looked at for every image.
        report: called with each answer of code 7, from the thread of the exposure: whether it is well, its
            text, and whether it is the last.
    """

    def __init__(
        self,
        plan: Plan,
        images: Images,
        faults: Callable[[], Faults],
        report: Callable[[bool, str, bool], None],
    ) -> None:
        self.plan = plan
        self._images, self._faults, self._report = images, faults, report
        self._edges: queue.SimpleQueue[tuple[float, float] | None] = queue.SimpleQueue()
        self._killed = Event()
        self._free_at, self._lag = -math.inf, math.inf
        self._begun = time.monotonic()
        self.taken = 0
        """Images that were exposed."""
        self.last: Path | None = None
        self._thread = Thread(target=self._run, name="exposure", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def edge(self, edge: Edge) -> bool:
        """Take an edge at the trigger input; return whether it was accepted.

        Whether the detector was still busy is decided by the times of the edges, not by when a loaded
        computer handles them.
        """
        if self.plan.command == "Exposure" or edge.moment < self._free_at - TOLERANCE:
            return False
        if self.plan.command == "ExtTrigger":
            length = math.inf
        else:
            length = edge.gate if self.plan.command == "ExtEnable" else self.plan.exposure
        self._free_at = edge.moment + length + READOUT
        self._edges.put((edge.moment, edge.gate))
        return True

    def kill(self) -> None:
        """End at once: the image under way is not written."""
        self._killed.set()
        self._edges.put(None)

    def join(self) -> None:
        """Wait for the end."""
        self._thread.join()

    @property
    def killed(self) -> bool:
        """True once it was told to end."""
        return self._killed.is_set()

    @property
    def time_left(self) -> float:
        """Seconds until the end, if nothing has to be waited for."""
        plan = self.plan
        return max(0.0, self._begun + plan.images * plan.period - time.monotonic())

    def _run(self) -> None:
        plan, trouble = self.plan, ""
        try:
            begin = time.monotonic() if plan.command == "Exposure" else math.nan
            for number in range(plan.images):
                if number == 0 and plan.command == "ExtTrigger":
                    begin = self._await_edge()[0] + plan.delay
                if plan.command in ("Exposure", "ExtTrigger"):
                    end = begin + number * plan.period + plan.exposure
                elif plan.command == "ExtMTrigger":
                    end = self._await_edge()[0] + plan.delay + plan.exposure
                else:
                    end = max(sum(self._await_edge()) for _ in range(plan.per_frame))
                self._wait(end)
                self._write(number)
        except _Killed:
            self._report(True, str(self.last or plan.path(0)), True)
            return
        except _Failed as error:
            trouble = str(error)
        except (DiskFull, OSError) as error:
            name = plan.path(self.taken).name
            trouble = (
                f"*** Cannot write {name}: {getattr(error, 'strerror', None) or 'No space left on device'}"
            )
        self._report(not trouble, trouble or str(plan.path(plan.images - 1)), True)

    def _write(self, number: int) -> None:
        faults, path = self._faults(), self.plan.path(number)
        if faults.error:
            raise _Failed(faults.error)
        if faults.disk_full:
            raise DiskFull
        if number not in faults.lost_files:
            self._images.write(path, self.plan.first() + number)
        self.taken, self.last = number + 1, path
        every = self.plan.acknowledge
        if every and self.taken % every == 0 and self.taken < self.plan.images:
            self._report(True, str(path), False)

    def _await_edge(self) -> tuple[float, float]:
        """Return when the next edge came on our clock, and how long its gate is; intervals are kept."""
        edge = self._edges.get()
        if edge is None:
            raise _Killed
        moment, gate = edge
        self._lag = min(self._lag, time.monotonic() - moment)
        return moment + self._lag, gate

    def _wait(self, until: float) -> None:
        while (left := until - time.monotonic()) > 0.0:
            if self._killed.wait(left):
                break
        if self._killed.is_set():
            raise _Killed


class _Killed(Exception):
    """K has ended it."""


class _Failed(Exception):
    """A fault was asked for; its words."""
