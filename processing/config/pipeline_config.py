"""The configuration of a pipeline, typed; `pipeline_file.py` reads it from YAML."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import msgspec

Positive = Annotated[float, msgspec.Meta(gt=0, le=1e12)]
Count = Annotated[int, msgspec.Meta(ge=1, le=1024)]
STEP = r"^([A-Za-z_][A-Za-z0-9_]{0,29})?$"
"""Pattern of a step's name: it becomes a part of the names of results."""
Length = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]


class StepConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One class that is run on every frame."""

    processor: str
    """`FILE.py:CLASS`, `MODULE:CLASS` of an installed module, or the name of a built-in one."""
    parameters: dict[str, Any] = {}
    """Parameters that differ from the class' defaults."""
    name: Annotated[str, msgspec.Meta(pattern=STEP)] = ""
    """Name of the step; the names of its results begin with it, so that two steps may be of one class."""


class ExportConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file that others read, made of each result file at the end of its series."""

    kind: Literal["stempy"] = msgspec.field(name="as")
    """Whose layout it has."""
    result: str = "electrons"
    """Name of the events that are written."""
    scan: tuple[Length, Length] | None = None
    """Positions of the scan, [rows, cols]; `None`: one row of all frames."""


MOST_TOLERANCE = 60.0
"""Longest tolerance in s, of what may come later than its frame."""


class ChannelConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A Tango attribute, or an EPICS record, whose values are joined to the frames."""

    name: str
    """Name of the result that has its values."""
    attribute: str
    """DOMAIN/FAMILY/MEMBER/ATTRIBUTE, of the database of TANGO_HOST; or with tango://HOST:PORT/ before it;
    pva://PV or ca://PV for EPICS, by pvAccess or Channel Access."""
    by: Literal["time", "frame"] = "time"
    """"frame": a value that is an array of two numbers says to which frame it belongs, [frame, value]; single
    numbers are counted from the begin of the series on, the first belongs to frame 0."""
    how: Literal["exact", "nearest", "hold"] = "nearest"
    """Rule by which a frame has a value by time: see `channels.join`."""
    tolerance: Annotated[float, msgspec.Meta(ge=0, le=1e9)] | None = None
    """Tolerance in s; `None`: 1 µs for exact, 0.1 s for nearest, without limit for hold."""
    offset: Annotated[float, msgspec.Meta(ge=-60, le=60)] = 0.0
    """Time in s by which its value was taken later than a frame."""
    poll: Annotated[float, msgspec.Meta(ge=0.001, le=3600)] = 0.1
    """Seconds between two readings of an attribute without change events."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,53}", self.name):
            raise ValueError(
                f'channel "{self.name}" needs another name: at most 54 letters, digits and _, the first of '
                "them a letter or _"
            )
        if re.match(r"(pva|ca):/", self.attribute, re.IGNORECASE):
            if not re.fullmatch(r"(pva|ca)://[^/\s]\S*", self.attribute):
                raise ValueError(
                    f'attribute of channel {self.name} is "{self.attribute}"; give pva://PV or ca://PV, such '
                    "as pva://BL:MONO:ENERGY"
                )
        elif not re.fullmatch(r"(tango://)?([^/\s]+/){1,4}[^/\s]+", self.attribute):
            raise ValueError(
                f'attribute of channel {self.name} is "{self.attribute}"; give '
                "DOMAIN/FAMILY/MEMBER/ATTRIBUTE, such as sys/tg_test/1/double_scalar, or pva://PV or ca://PV "
                "for EPICS"
            )
        if self.how != "hold" and (self.tolerance or 0.0) > MOST_TOLERANCE:
            raise ValueError(
                f"tolerance of channel {self.name} is {self.tolerance:g} s; give at most "
                f"{MOST_TOLERANCE:g} s, for which frames wait to be joined, or how: hold"
            )
        if self.by == "frame" and (self.how != "nearest" or self.tolerance is not None or self.offset):
            raise ValueError(
                f"channel {self.name} is joined by frame, and how, tolerance and offset are for times: "
                "remove them, or give by: time"
            )

    @property
    def protocol(self) -> Literal["tango", "pva", "ca"]:
        """Protocol by which its values come."""
        if self.attribute.startswith("pva://"):
            return "pva"
        return "ca" if self.attribute.startswith("ca://") else "tango"


class PipelineConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pipeline."""

    name: str
    """Also in the name of the result file."""
    steps: tuple[StepConfig, ...]
    receiver: str = ""
    """URL of the receiver's HTTP API; "" for a pipeline on a file."""
    consumer: str = ""
    """Name of the receiver's forward entry that the pipeline takes; "": the first `shared` one that nobody
    holds."""
    workers: Annotated[int, msgspec.Meta(ge=0, le=1024)] = 2
    """Local ones."""
    threads: Count = 1
    """Threads of NumPy, Numba and others in each worker."""
    listen: str = ""
    """Endpoint for workers on other machines, such as "tcp://*:5210"; "" for none."""
    key: str = ""
    """File with the key for them; "" for none: then classes have to be installed where they run."""
    retry: bool = True
    """True if frames of a worker that died are tried again."""
    errors: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)] = 100
    """Number of failed frames in a row after which the pipeline is in Error; 0: never."""
    frame_seconds: Positive | None = None
    """A worker that takes longer per frame counts as dead; `None`: it may take for ever."""
    hand_over_seconds: Positive = 1.0
    """Longest time for which a worker keeps accumulated values."""
    queue_mb: Positive = 256.0
    """Memory for frames that do not come by shared memory; when it is full, the receiver drops and counts."""
    results_root: str = ""
    """Folder of the result files; "" for that of the raw file."""
    overwrite: bool = False
    """True if a result file of the same name is replaced, once the new one has a frame that is done."""
    exports: tuple[ExportConfig, ...] = ()
    """Files for others that are made beside the result file."""
    channels: tuple[ChannelConfig, ...] = ()
    """Tango attributes and EPICS records whose values are joined to the frames."""
    late_seconds: Annotated[float, msgspec.Meta(ge=0, le=3600)] = 2.0
    """Seconds for which values may come later than their frames."""
    pages: tuple[str, ...] = ()
    """Addresses of pages of those that take the results, such as "http://daq-1:5200/" of a bridge."""
    http: str = "127.0.0.1:5100"
    """HOST:PORT of the pipeline's HTTP API."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of all steps as one mapping; `parameters.split` is the opposite."""
        if len(self.steps) == 1:
            return dict(self.steps[0].parameters)
        return {
            f"{step.name or number}.{name}": value
            for number, step in enumerate(self.steps)
            for name, value in step.parameters.items()
        }
