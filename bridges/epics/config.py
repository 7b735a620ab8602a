"""The configuration of a bridge, typed; `config_file.py` reads it from YAML."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

RECORD = r"^[A-Za-z0-9_:.\-]{1,60}$"
PREFIX = r"^[A-Za-z0-9_:.\-]{1,60}$"
RECORDS = r"^[A-Za-z0-9_:.\-]{1,120}$"
NAME = r"^[A-Za-z0-9_-]{0,64}$"
URL = r"^(https?://[^/\s]+/?)?$"
ADDRESS = r"^((\[[^\[\]\s]+\]|[^\[\]:\s/]+):[0-9]{1,5})?$"


class ImageConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record that has the frames."""

    record: str = "IMAGE"
    """Its name behind the prefix."""
    every: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)] = 1
    """Only frames whose index is a multiple of it."""
    rate: Annotated[float, msgspec.Meta(ge=0, le=1e6)] = 0.0
    """Most updates per second, for viewers; the last frame of a series comes in any case. 0: no limit."""
    unpack: bool = False
    """True if packed frames are unpacked here, for clients that know no codec."""


class InConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A driver of areaDetector that others arm, whose acquisitions become series of a receiver."""

    driver: Annotated[str, msgspec.Meta(pattern=RECORDS)]
    """What its records begin with, as 13SIM1:cam1: does."""
    image: Annotated[str, msgspec.Meta(pattern=RECORDS)]
    """Record of the arrays: PvName_RBV of its PVA plugin."""
    name_servers: tuple[Annotated[str, msgspec.Meta(pattern=ADDRESS, min_length=1)], ...] = ()
    """HOST:PORT of the IOC, or of a gateway; empty: it is searched for as the variables EPICS_PVA_… say."""
    endpoint: Annotated[str, msgspec.Meta(pattern=r"^tcp://\S+:[0-9]{1,5}$")] = "tcp://127.0.0.1:9999"
    """Where the receiver's source connects to."""
    filename: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    """Name of the file: an absolute path, with {record} for the text of filename_record and {date} for the
    time, as in /data/{record}_{date:%H%M%S}.h5; "": the text itself, or live view only."""
    filename_record: str = ""
    """A record whose text is the name of the file, or a part of it; if it is empty: live view only."""
    continuous: bool = False
    """True if acquisitions with ImageMode Continuous are taken, which run until somebody stops them."""


class EpicsConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A bridge to EPICS clients."""

    prefix: Annotated[str, msgspec.Meta(pattern=PREFIX)]
    """What the names of all records begin with; a colon follows it."""
    name: Annotated[str, msgspec.Meta(pattern=NAME)] = ""
    """In status and metrics; if not given, the name of this file."""
    receiver: Annotated[str, msgspec.Meta(pattern=URL)] = ""
    """Address of a receiver's HTTP API, whose state and counts are served; "": none."""
    consumer: str = ""
    """Name of its forward entry whose frames are served, without `shared`; "": no frames."""
    images: tuple[ImageConfig, ...] = (ImageConfig(),)
    """Records that have these frames."""
    pipeline: Annotated[str, msgspec.Meta(pattern=URL)] = ""
    """Address of a pipeline's HTTP API, whose state, counts and results are served; "": none."""
    results: tuple[str, ...] = ()
    """Names of the results that are served; empty: all."""
    command: bool = False
    """True if PREFIX:Command takes what the pipeline's HTTP API takes: any client of the network may then
    stop its series and change its parameters."""
    in_: InConfig | None = msgspec.field(default=None, name="in")
    """A driver of an IOC that others arm, whose frames go to a receiver."""
    server: Literal["p4p", "pvapy"] = "p4p"
    """Who serves the images: "pvapy", PvaPy's own server, shares frames out among its consumers; it has to be
    installed."""
    listen: Annotated[str, msgspec.Meta(pattern=ADDRESS)] = ""
    """HOST:PORT of pvAccess; "": as the variables EPICS_PVAS_… say, else port 5075 of every network."""
    http: str = "127.0.0.1:5200"
    """HOST:PORT of the bridge's HTTP API."""
