"""The frames and series that arrays of an IOC are, by the driver's records alone.

areaDetector has no series. Here one is an acquisition: it begins as `Acquire` goes to 1 and ends as it goes
to 0, and what `ArrayCounter_RBV` was before is the number of the array before its first one. So a frame that
is lost anywhere in EPICS is missing at its index, the first and the last ones too. Silence, or numbers that
fall, say nothing of the first and the last frames, and are never taken for a begin or an end.

Updates of different records come in any order; those of one record in theirs. The stamps that the IOC has
given them say which value of the counter was there when `Acquire` went to 1.

| state | Acquire 1 | Acquire 0 | array | settled | lost |
|---|---|---|---|---|---|
| away | foreign | idle | - | - | away |
| foreign | foreign | idle | - | - | away |
| idle | begin: running | idle | wait | - | away |
| running | running | ending | frame | - | fault: away |
| ending | (next waits) | ending | frame | end: idle, or begin: running | fault: away |
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from penstock.stins.messages import EndReason
from penstock.stins.texts import plural

RING = 2**32
"""Values of the driver's counter, an int32."""
KEPT = 64
"""Values of the counter that are kept, to look up those before a begin."""


class State(StrEnum):
    """What the driver does, as far as its records say."""

    AWAY = "away"
    """Not all of its records answer."""
    FOREIGN = "foreign"
    """An acquisition runs whose begin was not seen."""
    IDLE = "idle"
    RUNNING = "running"
    ENDING = "ending"
    """The driver has stopped, and arrays may still be on the way."""


@dataclass(frozen=True)
class Began:
    """A series begins."""

    stamp: float
    """When `Acquire` went to 1, in the IOC's seconds since 1970."""


@dataclass(frozen=True)
class Ended:
    """A series has ended."""

    triggered: int
    """Frames that the driver has taken."""
    reason: EndReason
    message: str = ""
    """Why, in a sentence, unless all went well."""


Event: TypeAlias = Began | Ended


class Acquisitions:
    """The acquisitions of one driver, one after the other."""

    def __init__(self) -> None:
        self.state = State.AWAY
        self.planned: int | None = None
        """Frames of the acquisition, told once its records were read; `None` if it runs until stopped."""
        self._counters: deque[tuple[float, int]] = deque(maxlen=KEPT)
        """Stamp and value of the counter, as they came."""
        self._idle = 0
        """The counter when the driver came to rest."""
        self._begun = self._stopped = 0.0
        self._before = 0
        self._next = 0
        """Index behind the last frame that has come."""
        self._end = 0
        """Number of frames of the acquisition, once it has stopped."""
        self._images = 0
        """The same as the driver has counted them; 0 if that is not known."""
        self._set_back: tuple[float, int] | None = None
        """When the counter was set back since the begin, and to what."""
        self._waiting: float | None = None
        """Stamp of the next begin, which came while this acquisition was ending."""

    # -- records -------------------------------------------------------------------------------------

    def counted(self, value: int, stamp: float) -> Iterator[Event]:
        """Take an update of ArrayCounter_RBV."""
        self._counters.append((stamp, value))
        match self.state:
            case State.ENDING if stamp <= self._stopped:
                self._end = max(self._end, _steps(self._before, value))
            case State.RUNNING:
                behind = _steps(self._before, value) < 0
                if self._next == 0 and (behind or stamp < self._begun):
                    self._before = value  # it was set before the begin, and told after it
                elif behind and self._set_back is None:  # within the acquisition, or behind its end
                    self._set_back = stamp, value
                elif stamp < self._begun and value != self._before:
                    yield self._fault(
                        f"ArrayCounter_RBV was {value} before the first frame, which was told after index "
                        f"{self._next - 1}: indices are uncertain"
                    )
            case _:
                pass

    def acquires(self, value: bool, stamp: float) -> Iterator[Event]:
        """Take an update of Acquire; those of the counter that were before it should have been taken."""
        match self.state, value:
            case State.AWAY, True:
                self.state = State.FOREIGN
            case ((State.AWAY | State.FOREIGN), False):
                if self.state is State.AWAY and self._counters:
                    self._idle = self._counters[0][1]
                self._rest(self._counter_at(stamp))
            case State.IDLE, True:
                yield self._begin(stamp)
            case State.RUNNING, False:
                self.state = State.ENDING
                self._stop(stamp)
            case State.ENDING, True:
                self._waiting = stamp
            case _:
                pass  # what was told before

    def lost(self) -> Iterator[Event]:
        """The records do not answer any more."""
        if self.state in (State.RUNNING, State.ENDING):
            yield self._fault(f"the IOC is lost at index {self._next}: start it again")
        self.state, self._waiting = State.AWAY, None
        self._counters.clear()

    # -- arrays --------------------------------------------------------------------------------------

    def index(self, number: int) -> int | None:
        """Return the index of the array with this number; `None` if it is of no series.

        Call `is_ahead` first: an array behind the end is one of the next series.
        """
        if self.state not in (State.RUNNING, State.ENDING):
            return None
        index = _steps(self._before, number) - 1
        if index < self._next:
            return None  # one of before, or one that came twice
        self._next = index + 1
        return index

    def is_ahead(self, number: int) -> bool:
        """Return whether the array with this number may be of a series that has not begun: none is running,
        or this one ends with a lower number, or the numbers fall. Its begin may not have been told yet."""
        steps = _steps(self._before, number)
        falls = self._next > 0 and steps < self._next
        match self.state:
            case State.RUNNING:
                return falls or (self.planned is not None and steps > self.planned)
            case State.ENDING:
                return falls or steps > self._end
            case _:
                return self.state is State.IDLE

    @property
    def is_waiting(self) -> bool:
        """True if the next acquisition has begun, which waits for the end of this one."""
        return self._waiting is not None

    @property
    def is_complete(self) -> bool:
        """True if the acquisition has stopped, and its last frame has come."""
        return self.state is State.ENDING and self._next >= self._end

    def stopped(self, counter: int, images: int) -> None:
        """Take what the records say once the driver has stopped, unless it has begun again.

        Args:
            counter: ArrayCounter_RBV.
            images: NumImagesCounter_RBV, the driver's own count of the acquisition; 0 where it has none.
        """
        if self.state is State.ENDING and self._waiting is None:
            self._end, self._images = max(self._end, _steps(self._before, counter)), images

    def settle(self) -> Iterator[Event]:
        """End the series that is ending, since no more arrays come; the next one may begin with that."""
        if self.state is not State.ENDING:
            return
        taken, planned = self._end, self.planned
        reason, message = EndReason.COMPLETE, ""
        if self._set_back is not None and self._set_back[0] <= self._stopped:
            reason = EndReason.FAULT
            message = f"ArrayCounter_RBV was set back to {self._set_back[1]} in the acquisition"
        elif self._images and self._images != taken:
            reason = EndReason.FAULT
            message = (
                f"the driver has counted {plural(self._images, 'image')} (NumImagesCounter_RBV), and its "
                f"arrays {taken} (ArrayCounter_RBV): somebody has set a counter, and indices are uncertain"
            )
        elif self._next > taken or (planned is not None and taken > planned):
            reason = EndReason.FAULT
            images = "until it was stopped" if planned is None else f"NumImages {planned}"
            message = (
                f"{plural(max(self._next, taken), 'frame')} came, where the driver has taken {taken} "
                f"({images}): acquisitions follow each other too fast to be told apart"
            )
        elif planned is not None and taken < planned:
            reason = EndReason.STOP
            message = f"the acquisition was ended after {taken} of {plural(planned, 'frame')}"
        self._rest((self._before + taken) % RING)
        yield Ended(taken, reason, message)
        if self._waiting is not None:
            stamp, self._waiting = self._waiting, None
            yield self._begin(stamp)

    def fail(self, message: str) -> Iterator[Event]:
        """End the running series as a fault; what follows of the acquisition is not taken."""
        if self.state in (State.RUNNING, State.ENDING):
            yield self._fault(message)

    # -- from one to the next ------------------------------------------------------------------------

    def _rest(self, counter: int) -> None:
        self.state, self._idle = State.IDLE, counter

    def _begin(self, stamp: float) -> Began:
        self.state, self._begun, self._before = State.RUNNING, stamp, self._counter_at(stamp)
        self._next, self._images, self.planned, self._set_back = 0, 0, None, None
        return Began(stamp)

    def _stop(self, stamp: float) -> None:
        self._stopped = stamp
        counted = [value for when, value in self._counters if when <= stamp]
        self._end = max(0, _steps(self._before, counted[-1])) if counted else 0

    def _counter_at(self, stamp: float) -> int:
        """Return what the counter was just before this time, as far as is known."""
        earlier = [value for when, value in self._counters if when < stamp]
        return earlier[-1] if earlier else self._idle

    def _counted(self) -> int:
        return max(0, _steps(self._before, self._counters[-1][1])) if self._counters else 0

    def _fault(self, message: str) -> Ended:
        taken = max(self._counted(), self._next)
        if self.state is State.RUNNING or self._waiting is not None:
            self.state, self._waiting = State.FOREIGN, None
        else:
            self._rest((self._before + taken) % RING)
        return Ended(taken, EndReason.FAULT, message)


def _steps(before: int, now: int) -> int:
    """Return how far the counter has come, which may have wrapped; negative if it was set back."""
    steps = (now - before) % RING
    return steps if steps < RING // 2 else steps - RING
