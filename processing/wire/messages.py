"""The messages between a distributor and a worker: what the one says, and what the other."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from penstock.processing.wire.array import Array
from penstock.processing.wire.descriptions import PlotText
from penstock.stins.messages import Amount, Header, SharedMemory
from penstock.stins.shared import Reference


class FromDistributor(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag=str.lower
):
    """A message of the distributor."""


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A class that is run on every frame; several are run one after the other."""

    name: str
    """Name of the class."""
    module: str = ""
    """Importable module that has the class; "" if the source text is sent."""
    file: str = ""
    """Name of the file of the source text, for tracebacks."""
    source: str = ""
    """Only over loopback or an encrypted connection."""
    sha256: str = ""
    """SHA-256 of the source text, in hexadecimal."""
    adapter: str = ""
    """Importable module whose function `adapted` makes a processor of the class, which is none."""
    label: str = ""
    """Name of the step, with which the names of its results begin; "" of none."""


class Welcome(FromDistributor, frozen=True, kw_only=True, omit_defaults=True):
    """Answer to `Hello`: what is to be run. `Ready` or `Refused` answers."""

    pipeline: str
    steps: tuple[Step, ...]
    version: int
    """Version of the parameters."""
    parameters: dict[str, Any]
    """All that differ from the defaults. The key of a parameter is its name, or `STEP.NAME` where several
    steps have one of this name: see `parameters.split`."""
    shared: SharedMemory | None = None
    """Memory that the worker tries to open; its layout comes with `Begin`."""
    mark: str = ""
    """Mark by which the distributor knows this worker again if it loses the connection."""
    channels: tuple[str, ...] = ()
    """Names of the pipeline's channels."""
    hand_over_seconds: float = 1.0
    """Accumulated values are handed over after this time at the latest."""
    frame_seconds: float | None = None
    """Time for one frame, after which the worker ends itself; `None`: it has all the time."""


class Begin(FromDistributor, frozen=True, kw_only=True, omit_defaults=True):
    """A series has begun. One raw part follows: its metadata as JSON; then, if its pixel mask is not in them,
    the mask as an .npy file."""

    series: int
    header: Header
    """Header as the receiver sent it; with `shared`, which says the layout."""


class StoredFile(msgspec.Struct, frozen=True, array_like=True):
    """A file that workers on the distributor's machine read themselves."""

    path: str
    """Absolute."""
    device: int
    inode: int
    """Inode of the file that the distributor has open: under this path there may be another one by now, or in
    the worker's container."""


class StoredFrame(msgspec.Struct, frozen=True, array_like=True):
    """Place of the blobs of a frame."""

    frame: Amount
    """Its index."""
    blobs: tuple[tuple[Amount, Amount, Amount], ...]
    """Place of the file in `Work.files`, offset there, and bytes, of each blob; of one that is missing there
    are none."""


class Work(FromDistributor, frozen=True, kw_only=True, omit_defaults=True):
    """A bunch of frames; `Done` answers. In the shared memory by reference; in files: then the header of each
    follows; or by value: then header and blobs of each follow."""

    series: int
    bunch: int
    references: tuple[Reference, ...] = ()
    stored: tuple[StoredFrame, ...] = ()
    files: tuple[StoredFile, ...] = ()
    """Files of the frames in `stored`."""
    indices: tuple[int, ...] = ()
    """Index of each frame, if they are sent by value."""
    parts: tuple[int, ...] = ()
    """Number of raw parts of each frame, if they are sent by value; the first is its STINS header."""
    channels: dict[str, tuple[float | None, ...]] = {}
    """Values of the channels that a step needs, one per frame; `None`: there is none."""
    alone: bool = False
    """Tried once more after a worker has died with it: hand over at once."""


class HandOver(FromDistributor, frozen=True, kw_only=True, omit_defaults=True):
    """Hand over the accumulated values of this series now; `HandedOver` answers, also if there are none."""

    series: int


class Finish(FromDistributor, frozen=True, kw_only=True, omit_defaults=True):
    """Call `finish` of the steps with the totals, one raw part each; `Finished` answers."""

    series: int
    arrays: tuple[Array, ...] = ()


class End(FromDistributor, frozen=True, kw_only=True, omit_defaults=True):
    """Nothing of this series comes any more: forget it."""

    series: int


class Configure(FromDistributor, frozen=True, kw_only=True, omit_defaults=True):
    """Prepare these parameters, without using them yet: all that differ from the defaults, as in `Welcome`.
    `Ready` or `Refused` answers."""

    version: int
    parameters: dict[str, Any]


class Use(FromDistributor, frozen=True, kw_only=True, omit_defaults=True):
    """Use the parameters of this version from the next bunch on; all workers have answered `Ready`."""

    version: int


class Stop(FromDistributor, frozen=True, kw_only=True, omit_defaults=True):
    """Hand over and leave."""

    why: str = ""
    """A sentence: why this worker cannot take part; "" at the end of the pipeline."""


MessageOfDistributor: TypeAlias = Welcome | Begin | Work | HandOver | Finish | End | Configure | Use | Stop


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
