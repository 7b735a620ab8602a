"""What a worker says."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from penstock.processing.wire.array import Array
from penstock.processing.wire.descriptions import PlotText

WIRE = 6
"""Version of these messages."""


class Parameter(msgspec.Struct, frozen=True):
    """A parameter of a processor, as its class declares it."""

    name: str
    type: str
    """Type as written in the class, such as "int" or "tuple[float, float] | None"."""
    default: Any = None
    step: int = 0
    """Number of the pipeline's step that has it."""


class FromWorker(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag=str.lower
):
    """A message of a worker."""


class Hello(FromWorker, frozen=True, kw_only=True, omit_defaults=True):
    """First message; `Welcome` or `Stop` answers."""

    name: str
    host: str
    pid: int
    penstock: str
    """Version of the software."""
    wire: int = WIRE
    former: str = ""
    """The `mark` of its last `Welcome`, if it has lost that connection."""
    done: tuple[int, ...] = ()
    """Numbers of the bunches that it has done then, whose `Done` may not have arrived."""


class Ready(FromWorker, frozen=True, kw_only=True, omit_defaults=True):
    """The parameters of this version are valid and prepared; after `Welcome`: the code is loaded, too."""

    version: int
    parameters: tuple[Parameter, ...] = ()
    shares: bool = False
    """True if it could open the shared memory of `Welcome`, whose layout comes with `Begin`."""
    ordered: bool = False
    """A step wants the frames in ascending order, and so only one worker."""
    needs: tuple[str, ...] = ()
    """Names of the channels whose values a step needs with each frame."""
    batch: int = 1
    """Frames that a step wants together: a bunch should have so many, where so many wait."""
    preparation: str = ""
    """What `start` of a step does, if it takes long, for the status."""
    finishes: bool = False
    """A step makes results of the series as a whole: without one, `Finish` is not said."""


class Refused(FromWorker, frozen=True, kw_only=True, omit_defaults=True):
    """The code cannot be loaded, a version of the parameters is refused, or a step's `start` has raised."""

    what: Literal["code", "parameters", "start"]
    why: str
    """A sentence."""
    version: int = 0
    """Version of the parameters, for "parameters"."""
    series: int = 0
    """Number of the series, for "start"."""


class Started(FromWorker, frozen=True, kw_only=True, omit_defaults=True):
    """`start` of the steps has returned: frames of this series are processed from now on. One raw part per
    axis of `plots` follows, little-endian float64."""

    series: int
    plots: tuple[PlotText, ...] = ()
    """What the results mean; see `descriptions`."""
    shares: bool = False
    """It can read the shared memory of this series: where the receiver was not there at `Welcome`, this is
    known only now."""
    remark: str = ""
    """What was not as it should be in `start`; a sentence."""
    notes: tuple[str, ...] = ()
    """What a reader of the results has to know; sentences for the result file."""


class Done(FromWorker, frozen=True, kw_only=True, omit_defaults=True):
    """Results of a bunch; one raw part per entry of `arrays` follows."""

    series: int
    bunch: int
    version: int
    """Version of the parameters with which all frames of the bunch were processed."""
    seconds: float
    """Wall time of the user's code, of all frames of the bunch together."""
    errors: dict[int, str] = {}
    """Failed frames: place in the bunch, and a sentence."""
    unread: tuple[int, ...] = ()
    """Places of frames that the receiver has taken back from the shared memory before they were processed:
    neither done nor failed."""
    unopened: str = ""
    """Why a file cannot be opened here in which frames of the bunch are, a sentence: none of them was
    processed, and what this worker gets of the series has to come by value from now on."""
    arrays: tuple[Array, ...] = ()
    held: bool = False
    """The bunch went into accumulated values that are still here: `HandedOver` follows some time."""


class HandedOver(FromWorker, frozen=True, kw_only=True, omit_defaults=True):
    """Accumulated values, one raw part each, and all bunches that went into them since the last time."""

    series: int
    bunches: tuple[int, ...]
    arrays: tuple[Array, ...] = ()


class Finished(FromWorker, frozen=True, kw_only=True, omit_defaults=True):
    """Answer to `Finish`: results of the series as a whole, one raw part each."""

    series: int
    arrays: tuple[Array, ...] = ()
    error: str = ""


class Bye(FromWorker, frozen=True, kw_only=True, omit_defaults=True):
    """The worker leaves of its own accord; everything it had was handed over."""


MessageOfWorker: TypeAlias = Hello | Ready | Refused | Started | Done | HandedOver | Finished | Bye
