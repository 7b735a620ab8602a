"""The settings of a series, and the parameters that every detector has.

A `Parameter` is declared once; the Tango attribute, its limits, unit and documentation, and the check in the
engine are derived from it. Names are the Tango names that existing clients use.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import TypeAlias

import msgspec

from penstock.stins.texts import plural

Value: TypeAlias = bool | int | float | str


class TriggerMode(StrEnum):
    """What starts a frame."""

    SOFTWARE = "SOFTWARE"
    """A command starts each trigger."""
    INTERNAL = "INTERNAL"
    """The detector's own clock starts every frame, beginning at Arm."""
    EXTERNAL = "EXTERNAL"
    """One edge starts the whole series."""
    EXTERNAL_MULTI = "EXTERNAL_MULTI"
    """Each edge starts one trigger of ExposureTime."""
    EXTERNAL_MULTI_GATE = "EXTERNAL_MULTI_GATE"
    """Each gate exposes one frame for as long as it lasts."""


def default_trigger_mode(modes: Sequence[TriggerMode] = tuple(TriggerMode)) -> TriggerMode:
    """Return the default TriggerMode: INTERNAL, or the camera's first mode if it does not have that.

    Args:
        modes: modes of the camera, at least one.
    """
    return TriggerMode.INTERNAL if TriggerMode.INTERNAL in modes else modes[0]


SHOWN_AS = "%.9g"
"""printf format of a float whose declaration has none."""
LEAST_DIGITS = 6
"""Significant digits that displays must keep of writable values: panels write back what they display."""


class Limits(msgspec.Struct, frozen=True):
    """Minimum and maximum, both inclusive; `None` for no limit."""

    minimum: float | None = None
    maximum: float | None = None

    def within(self, outer: Limits) -> Limits:
        """Return these limits, and the outer ones where these have none."""
        return Limits(
            outer.minimum if self.minimum is None else self.minimum,
            outer.maximum if self.maximum is None else self.maximum,
        )


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter of a detector, which can be set or only read."""

    name: str
    default: Value
    """Default value, which also determines the type: bool, int, float or str."""
    doc: str
    unit: str = ""
    limits: Limits = Limits()
    """Limits of the camera model; `Camera.limits` narrows them for one unit."""
    choices: tuple[str, ...] = ()
    writable: bool = True
    memorized: bool = False
    required: bool = False
    """True for a property without which no device can work; `doc` says then what to set it to."""
    is_list: bool = False
    """True for a property that is a text: words separated by blanks, or one per line in Tango's database."""
    expert: bool = False
    """True for Tango's display level EXPERT: a text for programs, too long for a field of a panel."""
    format: str = ""
    """printf format for displays; for a writable float "%.Ng" with at least `LEAST_DIGITS` digits."""

    def __post_init__(self) -> None:
        """Refuse a format that would round writable values.

        Raises:
            ValueError: the format keeps too few digits, or is not of the form "%.Ng".
        """
        if not self.format or not self.writable or not isinstance(self.default, float):
            return
        digits = re.fullmatch(r"%\d*\.(\d+)g", self.format)
        if digits is None or int(digits[1]) < LEAST_DIGITS:
            raise ValueError(
                f'{self.name}: the format "{self.format}" rounds what a client has set, and a panel writes '
                f'back what it displays; leave it out, or use "%.{LEAST_DIGITS}g" or more digits'
            )

    @property
    def shown_as(self) -> str:
        """The printf format that displays use; "" if the value is not a float."""
        return self.format or (SHOWN_AS if isinstance(self.default, float) else "")


LONGEST = 1e6
"""Most seconds of an exposure, and of the dead time after it: 11 days. More is a slip of the keyboard, and
such a series would never end."""
MOST_TRIGGERS = 2**31 - 1
"""Most triggers of a series, and most frames per trigger."""

STANDARD: tuple[Parameter, ...] = (
    Parameter(
        name="ExposureTime", default=0.1, unit="s", limits=Limits(0.0, LONGEST),
        doc="Time for which one frame collects.",
    ),
    Parameter(
        name="LatencyTime", default=0.0, unit="s", limits=Limits(0.0, LONGEST),
        doc="Dead time asked for between two frames, above the read-out time.",
    ),
    Parameter(
        name="nTriggers", default=1, limits=Limits(0, MOST_TRIGGERS),
        doc="Triggers of the next series; 0, with INTERNAL: frames until Stop.",
    ),
    Parameter(
        name="nFramesPerTrigger", default=1, limits=Limits(1, MOST_TRIGGERS),
        doc="Frames that each trigger takes; frames planned = nTriggers x nFramesPerTrigger.",
    ),
    Parameter(
        name="TriggerMode", default=default_trigger_mode().value, choices=tuple(TriggerMode),
        doc="Who starts a frame: SOFTWARE, INTERNAL, EXTERNAL, EXTERNAL_MULTI or EXTERNAL_MULTI_GATE.",
    ),
    Parameter(
        name="DestinationFilename", default="",
        doc='Absolute path of the file that the receiver writes; "" for live view only.',
    ),
    Parameter(
        name="DestinationFileOverwritable", default=False,
        doc="Allow Arm to replace an existing file.",
    ),
    Parameter(name="SaveRaw", default=True, doc="Write the frames; false delivers them live only."),
    Parameter(
        name="Rotation", default=0, unit="deg", limits=Limits(0, 270), memorized=True,
        doc="Rotation of the image, counter-clockwise, in steps of 90.",
    ),
    Parameter(name="Fliplr", default=False, memorized=True, doc="Mirror left and right, after Rotation."),
    Parameter(name="Flipud", default=False, memorized=True, doc="Mirror up and down, after Rotation."),
    Parameter(
        name="Metadata", default="{}", expert=True,
        doc="JSON object written into the file: title, proposal, scan_id, sample, user and so on.",
    ),
    Parameter(
        name="BeamCenterX", default=0.0, unit="pixel",
        doc="Beam position from the left edge of the image after Rotation and flips.",
    ),
    Parameter(
        name="BeamCenterY", default=0.0, unit="pixel",
        doc="Beam position from the top edge of the image after Rotation and flips.",
    ),
    Parameter(
        name="Distance", default=0.0, unit="m", limits=Limits(0.0, None),
        doc="Sample to detector; 0 when unknown.",
    ),
)  # fmt: skip
"""The settings of every detector, in the order in which panels show them."""


def frames_in_words(planned: int | None) -> str:
    """Return a number of planned frames in words; `None` for frames until Stop."""
    return "frames until Stop" if planned is None else plural(planned, "frame")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one series, frozen at Arm. Times in seconds."""

    exposure_time: float
    latency_time: float
    n_triggers: int
    """Triggers of the series; 0: frames until Stop. Units get a number in its place, see `numbered`."""
    until_stop: bool = False
    """The number of triggers is only a limit, and nobody waits for that many: a live view in a mode with
    triggers."""
    n_frames_per_trigger: int
    trigger_mode: TriggerMode
    filename: str
    overwrite: bool
    save_raw: bool
    rotation: int
    fliplr: bool
    flipud: bool
    metadata: str
    """A JSON object as the user's text, since the control channel does not support NaN and Infinity."""
    beam_center: tuple[float, float]
    """Beam centre (x, y) in pixels."""
    distance: float
    receiver_away: float = 0.0
    """Time for which frames wait for a receiver that is away, once the series is ending; it is longer if the
    streamer itself waits longer."""
    camera: dict[str, Value]
    """Values of the camera's own parameters by name."""

    @property
    def frames(self) -> int:
        """Number of planned frames; 0 if the series has frames until Stop."""
        return self.n_triggers * self.n_frames_per_trigger

    @property
    def planned(self) -> int | None:
        """Number of planned frames; `None` if the series has frames until Stop."""
        return None if self.until_stop else self.frames or None

    def numbered(self, most_frames: int) -> Settings:
        """Return the settings for a unit, which needs a number: `most_frames` for frames until Stop."""
        if self.n_triggers:
            return self
        return msgspec.structs.replace(self, n_triggers=max(1, most_frames // self.n_frames_per_trigger))
