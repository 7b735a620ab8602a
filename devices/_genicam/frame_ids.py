"""Conversion of a camera's frame ids to indices in a series.

| | ids | after the last | begins with |
|---|---|---|---|
| GigE Vision | 16 bit | 65535 is followed by 1, 0 is none | 1 |
| GigE Vision, extended ids | 64 bit | no end | 1; 0 is taken for an id |
| USB3 Vision | 64 bit | no end | 0 |

Sources: "GigE Vision" 1.2, section 23 (block_id), and 2.0, section 24; "USB3 Vision" 1.0, section 5.3.

Whether ids begin anew with each acquisition or continue is the camera's affair, and is learned from two
series. Some cameras (FLIR) let continuing ids jump when settings are written between two series. Pure: ids
in, indices out.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

MOST_UNSEEN = 100
"""Ids that may be missing at the beginning of a series, at most, for its ids to be those expected."""


@dataclass(frozen=True)
class Kind:
    """One kind of ids."""

    first: int
    """Id that a counter begins with."""
    ring: int | None = None
    """Number of different ids, for one that wraps to `first`."""

    def after(self, number: int, ids: int = 1) -> int:
        """Return the id that comes so many ids after another."""
        if self.ring is None:
            return number + ids
        return (number - self.first + ids) % self.ring + self.first

    def steps(self, start: int, end: int) -> int:
        """Return the number of ids from one to another; negative for an earlier one."""
        if self.ring is None:
            return end - start
        forward = (end - start) % self.ring
        return forward if forward <= self.ring // 2 else forward - self.ring


GIGE = Kind(first=1, ring=65535)
GIGE_EXTENDED = Kind(first=1)
USB3 = Kind(first=0)


class Habit(Enum):
    """What a camera does with its ids when an acquisition begins, in words for the file."""

    UNKNOWN = "uncertain: index 0 is the first frame that arrived, and frames lost before it are not known"
    RESTARTS = "certain: the frame ids begin anew with each series"
    CONTINUES = "certain: the frame ids continue those of the series before"
    DISTURBED = (
        "uncertain: settings were written since the frame before, and ids may have jumped; a jump of more "
        "ids than periods have passed is none of lost frames"
    )


class FrameIds:
    """The frame ids of one open camera, series after series.

    Args:
        kind: kind of its ids.
    """

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self._habit = Habit.UNKNOWN
        self._before: int | None = None
        """The last id that was seen in the series before."""
        self._before_is_last = False
        """True if no later id can have followed it."""
        self._is_disturbed = False
        """True if something was written to the camera since that id."""
        self._newest: int | None = None
        """The newest id of this series."""
        self._index = -1
        self._unknown = 0
        """Frames of this series without an id, before the first one with an id."""

    @property
    def start(self) -> Habit:
        """How index 0 of the next series will be found."""
        if self._habit is Habit.CONTINUES and not self._before_is_last:
            return Habit.UNKNOWN
        if self._habit is Habit.CONTINUES and self._is_disturbed:
            return Habit.DISTURBED
        return self._habit

    def disturb(self) -> None:
        """Something is written to the camera before the next series."""
        self._is_disturbed = True

    def index(self, number: int, passed: int | None = None) -> int:
        """Return the index in the series of the frame with this id; that of a late frame is below the last
        one.

        Args:
            number: the id.
            passed: the most frames that there can have been before it, by the time since the start; `None` if
                the camera's own clock does not say it.
        """
        if self._newest is None:
            self._learn(number)
            self._newest, self._index = number, max(self._unknown, self._steps_from_origin(number, passed))
            return self._index
        steps = self.kind.steps(self._newest, number)
        if steps <= 0:
            return self._index + steps
        self._newest, self._index = number, self._index + steps
        return self._index

    def lost(self) -> None:
        """A frame has come whose id is not known."""
        self._unknown += 1

    def end(self, *, exact: bool) -> None:
        """End the series.

        Args:
            exact: True if the camera has sent no frame after the newest.
        """
        if self._newest is not None:
            self._before = self._newest
            self._before_is_last = exact
            self._is_disturbed = False
        else:
            self._before_is_last = self._before_is_last and exact
        self._newest, self._index, self._unknown = None, -1, 0

    def _learn(self, number: int) -> None:
        if self._before is None or (self._is_disturbed and self._habit is not Habit.RESTARTS):
            return
        unseen = self.kind.steps(self.kind.after(self._before), number)
        begins = 0 <= number - self.kind.first <= MOST_UNSEEN
        continues = 0 <= unseen <= MOST_UNSEEN
        if begins and continues:  # both are possible: a short series came before
            if self._habit is Habit.UNKNOWN and unseen == 0:
                self._habit = Habit.CONTINUES
        elif begins or continues:
            self._habit = Habit.RESTARTS if begins else Habit.CONTINUES
        else:
            self._habit, self._before_is_last = Habit.UNKNOWN, False

    def _steps_from_origin(self, number: int, passed: int | None) -> int:
        if self._habit is Habit.RESTARTS:
            return self.kind.steps(self.kind.first, number)
        if self._habit is Habit.CONTINUES and self._before is not None and self._before_is_last:
            steps = self.kind.steps(self.kind.after(self._before), number)
            # A frame of the series before may have come after all others were waited for: time knows better.
            is_possible = not self._is_disturbed if passed is None else 0 <= steps <= passed
            return steps if is_possible else 0
        return 0
