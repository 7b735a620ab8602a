"""The wire between a distributor and its workers.

One ROUTER, which the distributor binds, and one DEALER per worker: a worker needs one outgoing connection.
The first part of a message is JSON, tagged with `type`; arrays and frames follow as raw parts. Both ends
belong to the same release: `WIRE` is compared in `Hello`.

Series and bunches have numbers of the distributor's own, from 1: an id of a series comes twice when a
receiver was started again within it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np

from penstock.processing.wire.descriptions import PlotText
from penstock.stins.messages import Buffer, Header, SharedMemory
from penstock.stins.shared import Reference

WIRE = 3
"""Version of these messages."""
CREDITS = 2
"""Most bunches that a worker has at a time; it waits for no more frames of a batch once it has them."""


class WireError(Exception):
    """A message cannot be decoded; the sentence says why."""


# -- what both say ---------------------------------------------------------------------------------------


class Array(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A raw part that is an array: results of several frames under one name, or one accumulated value."""

    name: str
    dtype: str
    """NumPy's name with byte order, such as "<f8"."""
    shape: tuple[int, ...]
    """Of values per frame: the first axis counts frames."""
    places: tuple[int, ...] | None = None
    """Places in the bunch of the frames that have this value; `None`: all of them."""
    kind: Literal["value", "events", "sum", "mean", "max", "min"] = "value"
    """"value" and "events": per frame; the others are accumulated. Events of several frames lie one after the
    other in one array."""
    counts: tuple[int, ...] | None = None
    """Of events: how many each frame has."""
    n: int = 0
    """Of an accumulated value: the number of frames in it. A "mean" travels as its sum."""


class Parameter(msgspec.Struct, frozen=True):
    """A parameter of a processor, as its class declares it."""

    name: str
    type: str
    """As written in the class, such as "int" or "tuple[float, float] | None"."""
    default: Any = None
    step: int = 0
    """Which of the pipeline's steps has it."""


# -- from a worker -----------------------------------------------------------------------------------------


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
    """After `Begin`'s memory was seen at `Welcome`: it can read the shared memory."""
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
    """Of the parameters, for "parameters"."""
    series: int = 0
    """For "start"."""


class Started(FromWorker, frozen=True, kw_only=True, omit_defaults=True):
    """`start` of the steps has returned: frames of this series are processed from now on. One raw part per
    axis of `plots` follows, little-endian float64."""

    series: int
    plots: tuple[PlotText, ...] = ()
    """What the results mean; see `descriptions`."""
    shares: bool = False
    """It can read the shared memory of this series: where the receiver was not there at `Welcome`, this is
    known only now."""


class Done(FromWorker, frozen=True, kw_only=True, omit_defaults=True):
    """Results of a bunch; one raw part per entry of `arrays` follows."""

    series: int
    bunch: int
    version: int
    """Of the parameters with which all frames of the bunch were processed."""
    seconds: float
    """Wall time of the user's code, of all frames of the bunch together."""
    errors: dict[int, str] = {}
    """Failed frames: place in the bunch, and a sentence."""
    unread: tuple[int, ...] = ()
    """Places of frames that the receiver has taken back from the shared memory before they were processed:
    neither done nor failed."""
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


# -- from the distributor ------------------------------------------------------------------------------------


class FromDistributor(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag=str.lower
):
    """A message of the distributor."""


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A class that is run on every frame; several are run one after the other."""

    name: str
    """Of the class."""
    module: str = ""
    """Importable module that has the class; "" if the source text is sent."""
    file: str = ""
    """Name of the file of the source text, for tracebacks."""
    source: str = ""
    """Only over loopback or an encrypted connection."""
    sha256: str = ""
    """Of the source text, in hexadecimal."""
    adapter: str = ""
    """Importable module whose function `adapted` makes a processor of the class, which is none."""


class Welcome(FromDistributor, frozen=True, kw_only=True, omit_defaults=True):
    """Answer to `Hello`: what is to be run. `Ready` or `Refused` answers."""

    pipeline: str
    steps: tuple[Step, ...]
    version: int
    """Of the parameters."""
    parameters: dict[str, Any]
    """All that differ from the defaults. The key of a parameter is its name, or `STEP.NAME` where several
    steps have one of this name: see `parameters.split`."""
    shared: SharedMemory | None = None
    """Memory that the worker tries to open; its layout comes with `Begin`."""
    mark: str = ""
    """By which the distributor knows this worker again if it loses the connection."""
    channels: tuple[str, ...] = ()
    """Names of the pipeline's channels."""
    hand_over_seconds: float = 1.0
    """Accumulated values are handed over after this time at the latest."""


class Begin(FromDistributor, frozen=True, kw_only=True, omit_defaults=True):
    """A series has begun. One raw part follows: its metadata as JSON; then, if its pixel mask is not in them,
    the mask as an .npy file."""

    series: int
    header: Header
    """As the receiver sent it; with `shared`, which says the layout."""


class Work(FromDistributor, frozen=True, kw_only=True, omit_defaults=True):
    """A bunch of frames; `Done` answers. By reference, or by value: then header and blobs of each follow."""

    series: int
    bunch: int
    references: tuple[Reference, ...] = ()
    indices: tuple[int, ...] = ()
    """By value: the index of each frame."""
    parts: tuple[int, ...] = ()
    """By value: how many raw parts each frame has; the first is its STINS header."""
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


MessageOfWorker: TypeAlias = Hello | Ready | Refused | Started | Done | HandedOver | Finished | Bye
MessageOfDistributor: TypeAlias = Welcome | Begin | Work | HandOver | Finish | End | Configure | Use | Stop

_encoder = msgspec.json.Encoder()
_of_worker = msgspec.json.Decoder(MessageOfWorker)
_of_distributor = msgspec.json.Decoder(MessageOfDistributor)


def encode(message: MessageOfWorker | MessageOfDistributor) -> bytes:
    """Return the first part of a message."""
    return _encoder.encode(message)


def from_worker(part: Buffer) -> MessageOfWorker:
    """Decode the first part of a worker's message.

    Raises:
        WireError: it is none.
    """
    message: MessageOfWorker = _decoded(_of_worker, part, "a worker")
    return message


def from_distributor(part: Buffer) -> MessageOfDistributor:
    """Decode the first part of a distributor's message.

    Raises:
        WireError: it is none.
    """
    message: MessageOfDistributor = _decoded(_of_distributor, part, "the distributor")
    return message


def _decoded(decoder: msgspec.json.Decoder[Any], part: Buffer, whose: str) -> Any:
    try:
        return decoder.decode(part)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise WireError(f"message of {whose} cannot be decoded: {error}") from error


def arrays(described: Sequence[Array], parts: Sequence[Buffer]) -> Mapping[str, np.ndarray[Any, Any]]:
    """Return the arrays of a message by name, as views of its parts.

    Raises:
        WireError: parts and description do not agree.
    """
    if len(parts) != len(described):
        raise WireError(f"{len(described)} arrays are described, and {len(parts)} have come")
    found = {}
    for array, part in zip(described, parts, strict=True):
        try:
            found[array.name] = np.frombuffer(part, np.dtype(array.dtype)).reshape(array.shape)
        except (ValueError, TypeError) as error:
            raise WireError(f"array {array.name} cannot be decoded: {error}") from error
    return found
