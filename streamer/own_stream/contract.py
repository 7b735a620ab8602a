"""The contract between the file of a detector with a stream of its own and the engine that drives it.

Frames go from the detector's box to the receiver; no pixel passes here. The file configures the box, writes
the user part of its start message, arms, triggers and watches it. Its calls block for as long as the box
takes; the engine makes each from a thread in which that does no harm: `stop`, `abort`, `progress` and
`read` come while another call (`arm`, `trigger`, `apply`) is under way, so that each thread needs a
connection to the box of its own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar

import msgspec

from penstock.stins.user_part import UserPart
from penstock.streamer.settings import Value
from penstock.streamer.unit import CameraError, Unit


class BoxLost(CameraError):
    """The box does not answer: no power, no network, or another address. The sentence names the address."""


class BoxState(StrEnum):
    """What the box itself says of its state."""

    IDLE = "idle"
    BUSY = "busy"
    """It computes, configures or initialises, and takes no series now."""
    ARMED = "armed"
    """It takes triggers, or takes frames."""
    UNINITIALISED = "uninitialised"
    """After power-on: it needs `reset`, which may take a minute."""
    ERROR = "error"


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """One look at the box."""

    state: BoxState
    message: str = ""
    """What the box says of an error."""
    acquired: int | None = None
    """Frames of the series that it has taken; `None` where the box has no such counter."""


class StreamingDetector(Unit):
    """One unit of a detector model whose own box sends the frames.

    `__init__` touches no network: a box that is switched off must not keep a device from starting. `apply`
    gets only what has changed, and may take a minute (a photon energy moves every threshold). `prepare`
    configures the box, and reads back what it made of it: the frame format is the box's own answer.
    """

    counts_frames: ClassVar[bool] = False
    """The box counts the frames of a series: `Progress.acquired` is never `None`."""
    newest_image: ClassVar[str] = ""
    """The parameter that reads as the address of the newest image, a TIFF, or as "" while there is none.

    It is shown while the receiver takes no series; "" for a box that keeps no image beside its stream.
    """

    @abstractmethod
    def connect(self) -> Progress:
        """Reach the box and read what does not change: model, sensor, limits, settings as they are.

        Called first, and again after the box was lost. Changes nothing in the box.

        Raises:
            BoxLost: it does not answer.
            CameraError: it answers, but is another detector, or speaks another version.
        """

    @abstractmethod
    def values(self) -> Mapping[str, Value]:
        """Writable parameters of its own as the box has them now; after `connect`, `apply` and `prepare`.

        What this model lacks, or cannot say in its present state, is left out, and is shown as unknown.
        """

    @abstractmethod
    def stream_endpoint(self) -> str:
        """Where the box sends its frames, as a receiver reaches it: "tcp://HOST:PORT"."""

    def stream_source(self) -> str:
        """Type of the receiver's source that takes these frames, as "dectris-v2"."""
        return "stins"

    @abstractmethod
    def arm(self, user: UserPart) -> None:
        """Write the user part, arm, and clear the user part again; returns when triggers are taken.

        The start message goes out inside, with the user part in it. It is cleared also when arming fails,
        so that a series that somebody else arms never bears its name.

        Raises:
            CameraError: the box refuses, in its own words.
            BoxLost: it does not answer any more.
        """

    @abstractmethod
    def trigger(self) -> None:
        """One software trigger; in INTERNAL mode the only one, which starts the series.

        Returns when the box takes the next trigger, which may be at the end of the series.

        Raises:
            CameraError, BoxLost: as for `arm`.
        """

    @abstractmethod
    def stop(self) -> None:
        """Finish the frame under way and end the series; nothing where none runs."""

    @abstractmethod
    def abort(self) -> None:
        """End the series at once, dropping what the box still holds; nothing where none runs."""

    @abstractmethod
    def progress(self) -> Progress:
        """Look at the box, without changing anything.

        Raises:
            BoxLost: it does not answer.
        """

    @abstractmethod
    def reset(self) -> None:
        """Bring the box to IDLE from whatever state it is in: disarm, or initialise it, which may take a
        minute.

        Raises:
            CameraError, BoxLost: it does not come to IDLE.
        """
