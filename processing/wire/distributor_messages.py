"""What the distributor says."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from penstock.processing.wire.array import Array
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
