"""What a bridge says over HTTP, as plain dataclasses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

StateName = Literal["idle", "running", "waiting"]


@dataclass(frozen=True, kw_only=True)
class Image:
    """A record that has the frames."""

    record: str
    """Its name."""
    posted: int = 0
    """Frames since the bridge was started. What a client has less than it connected for, it was too slow
    for: gaps of `uniqueId` tell it which."""
    skipped: int = 0
    """Frames left out by `every`."""
    limited: int = 0
    """Frames left out by `rate`."""
    refused: int = 0
    """Frames that EPICS has no array for, or that could not be unpacked; `problem` says why."""
    frame: int | None = None
    """Index of the last one that was posted."""
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Result:
    """A result of the pipeline."""

    name: str
    record: str
    """"" if it is not served."""
    posted: int = 0
    """Values since the bridge was started."""
    frame: int | None = None
    """Frame of the last one; `None` of results that belong to no frame."""
    problem: str = ""
    """Why it is not served, or not any more; a sentence."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """A receiver or pipeline that is asked."""

    url: str
    answers: bool = False
    problem: str = ""
    """Why it does not; a sentence."""


@dataclass(frozen=True, kw_only=True)
class Client:
    """A connection of an EPICS client."""

    address: str
    """HOST:PORT of the client."""
    records: list[str]
    """Records that it has."""


@dataclass(frozen=True, kw_only=True)
class In:
    """A driver that others arm, whose frames go to a receiver."""

    driver: str
    """What its records begin with."""
    image: str
    """Record of the arrays."""
    endpoint: str
    """Where receivers connect to."""
    state: str = "away"
    """"away", "idle", "running", "ending", or "foreign" while an acquisition runs that is not taken."""
    receivers: int = 0
    """Receivers that are connected."""
    series: str | None = None
    """Id of the series that is being taken."""
    file: str = ""
    """File of this series, or the last one; "" for live view only."""
    frames: int = 0
    """Frames of this series that were sent."""
    planned: int | None = None
    taken: int = 0
    """Series since the bridge was started."""
    not_taken: int = 0
    """Acquisitions that were not taken, or not to their end; `problem` says why the last one was not."""
    strays: int = 0
    """Arrays that belong to no acquisition."""
    problem: str = ""
    """What was wrong with the last acquisition, in a sentence."""


@dataclass(frozen=True, kw_only=True)
class Status:
    """The complete state of a bridge, as one snapshot."""

    state: StateName
    """"running" while it posts a series; "waiting" while a receiver or pipeline does not answer."""
    bridge: str
    """Its name."""
    prefix: str
    server: str
    """Who serves the images, "p4p" or "pvapy"."""
    addresses: list[str] = field(default_factory=list)
    """HOST:PORT of pvAccess: for EPICS_PVA_NAME_SERVERS. PvaPy's server is found by UDP alone."""
    waits_for: str = ""
    """What it waits for, such as a receiver that does not answer; a sentence."""
    receiver: Source | None = None
    consumer: str = ""
    """Forward entry whose frames are posted."""
    series: str | None = None
    """Id of the series whose frames are posted, or were last."""
    active: bool = False
    """True until its end has come."""
    file: str = ""
    frames: int = 0
    """Frames of this series that have come."""
    bad_messages: int = 0
    """Messages since the bridge was started that could not be read."""
    images: list[Image] = field(default_factory=list)
    pipeline: Source | None = None
    results: list[Result] = field(default_factory=list)
    gateway: In | None = None
    """What `in` of the configuration names."""
    command: str = ""
    """Record that takes commands; "" if none does."""
    commands: int = 0
    """Commands that were carried out."""
    refused_commands: int = 0
    clients: list[Client] = field(default_factory=list)
    """Clients of the p4p server."""
    penstock: str = ""
    """Version of Penstock."""
    version: int = 0
    """Grows with every change: `GET /status?seen=VERSION&wait=SECONDS` returns once it differs."""
