"""From a point of the picture to the same point of the image as the detector sends it. Without Qt.

The receiver's transforms may turn and mirror what it stores and shows, and the beam centre of the start
message with it: what the detector is told has to be turned back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ASSEMBLE, ROTATE, FLIP = "assemble", "rotate", "flip"
IN_PLACE = frozenset(
    {"bslz4", "cbf", "counts_to_energy", "dark_flat", "decompress", "mask", "mono12p", "mono12packed"}
)
"""Steps that leave each pixel where it is."""
NOT_ASKED = "What the receiver does to its images is not known yet: take a frame first."
IN_BLOCKS = "The receiver turns its images, and of a frame in blocks the size is not known: set Transfer to "\
            "all pixels."  # fmt: skip

Step = Mapping[str, Any]
Point = tuple[float, float]


class NotKnown(Exception):
    """The point cannot be known; a sentence with the remedy."""


@dataclass(frozen=True)
class Turned:
    """What was done to the image on show.

    Args:
        steps: the receiver's transforms, as in its configuration; `None` if they are not known.
        size: rows and columns of the image as it is shown; `None` if they are not known.
        why: why the steps are not known: a sentence.
    """

    steps: Sequence[Step] | None = ()
    size: tuple[int, int] | None = None
    why: str = NOT_ASKED

    def as_sent(self, point: Point) -> Point:
        """Return a point (x, y) of the image as sent, in pixels from the outer corner of its first one.

        Raises:
            NotKnown: it cannot be known.
        """
        turns = self._turns()
        if not turns:
            return point
        if self.size is None:
            raise NotKnown(IN_BLOCKS)
        (x, y), (rows, columns) = point, self.size
        for step in reversed(turns):
            if step["type"] == ROTATE:
                for _ in range(step["quarter_turns"]):  # back: clockwise
                    x, y, rows, columns = rows - y, x, columns, rows
            elif step["direction"] == "left-right":
                x = columns - x
            else:
                y = rows - y
        return x, y

    @property
    def is_turned(self) -> bool:
        """True if it is known that the image is not as it was sent."""
        try:
            return bool(self._turns())
        except NotKnown:
            return False

    def _turns(self) -> list[Step]:
        """Return the steps that move pixels; those of single modules move none of the beam's centre."""
        if self.steps is None:
            raise NotKnown(self.why)
        kinds = [step.get("type") for step in self.steps]
        after = kinds.index(ASSEMBLE) + 1 if ASSEMBLE in kinds else 0
        turns = [step for step in self.steps[after:] if step.get("type") not in IN_PLACE]
        for step in turns:
            if step.get("type") not in (ROTATE, FLIP):
                raise NotKnown(
                    f"Where the receiver's step {step.get('type')} puts the pixels is not known here: type "
                    "the numbers of the image as the detector sends it."
                )
        return turns
