"""The order of Arm, as tables: its steps, and what undoes them if one is refused.

A detector of several control units would have the rows of each one after the other, and those of the
receiver once: a row is then a step and its unit. What is single today, and would be one per unit: the
streamer of `ArmCall` and of `SeriesControl`, its last status in `Facts`, and the verdict of `silence`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class Step(Enum):
    """A call of the streamer or the receiver; `arm_steps` makes it."""

    PREPARE = auto()
    """The streamer sets up the camera, or the box, for the series."""
    CHECK = auto()
    """The receiver can take the series, and nobody else would take its frames; the series gets its id."""
    ANNOUNCE = auto()
    """The start message is sent."""
    BEGUN = auto()
    """The receiver has begun the series: its file exists."""
    START = auto()
    """The hardware takes triggers. A box sends the start message meanwhile."""
    EXPECT = auto()
    """The receiver is told of a series whose stream has no start message."""
    EXPECTED = auto()
    """The receiver still expects it, or has begun it."""

    # Undoing
    CANCEL = auto()
    """The streamer is brought to idle, whatever it has reached."""
    RELEASED = auto()
    """The receiver has released the series, if it was announced: the next Arm must find it idle."""
    DISARM = auto()
    """The box is brought to idle."""
    ENDED = auto()
    """The receiver has ended the series, or does not expect it any more."""


@dataclass(frozen=True)
class Procedure:
    """One kind of Arm."""

    steps: tuple[Step, ...]
    undo: tuple[Step, ...]

    def after(self, step: Step) -> Step | None:
        """Return the next step; `None` after the last one."""
        following = self.steps[self.steps.index(step) + 1 :]
        return following[0] if following else None


STREAMER = Procedure(
    steps=(Step.PREPARE, Step.CHECK, Step.ANNOUNCE, Step.BEGUN, Step.START),
    undo=(Step.CANCEL, Step.RELEASED),
)
"""Our streamer sends the frames."""
BOX = Procedure(
    steps=(Step.PREPARE, Step.CHECK, Step.START, Step.BEGUN),
    undo=(Step.DISARM, Step.ENDED),
)
"""The detector's own box sends the frames, and a start message while it is being armed."""
QUIET_BOX = Procedure(
    steps=(Step.PREPARE, Step.CHECK, Step.EXPECT, Step.START, Step.EXPECTED),
    undo=(Step.DISARM, Step.ENDED),
)
"""The detector's own box sends the frames without a start message."""


def procedure(*, own_stream: bool, expects: bool) -> Procedure:
    """Return the table of a detector; `expects` is known after CHECK, and the steps before are the same."""
    if not own_stream:
        return STREAMER
    return QUIET_BOX if expects else BOX
