"""The contract between the file of a detector with a stream of its own and the engine that drives it.

Frames go from the detector's box to the receiver, not through this process. The file configures the box,
writes the user part of its start message, arms, triggers and watches it. Its calls may block as long as the
box needs; the engine makes each in a thread that may wait: `stop`, `abort`, `progress` and `read` are called
while another call (`arm`, `trigger`, `apply`) is running, so that each thread needs its own connection to the
box.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar

import msgspec

from penstock.stins.user_part import UserPart
from penstock.streamer.camera.settings import Settings, Value
from penstock.streamer.camera.unit import CameraError, Unit


class BoxLost(CameraError):
    """The box does not answer: no power, no network, or another address. The sentence names the address."""


class BoxState(StrEnum):
    """The state that the box reports."""

    IDLE = "idle"
    BUSY = "busy"
    """The box computes, configures or initialises, and takes no series now."""
    ARMED = "armed"
    """The box takes triggers, or frames."""
    UNINITIALISED = "uninitialised"
    """State after power-on: the box needs `reset`, which may take a minute."""
    ERROR = "error"


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot of the box."""

    state: BoxState
    message: str = ""
    """The box's message about an error."""
    acquired: int | None = None
    """Frames of the series that the box has taken; `None` if it does not count them."""
    sent: int | None = None
    """Frames of the series that have left the box; `None` if it does not count them. As long as they grow
    after Stop, the end is waited for."""
    ended_by: str = ""
    """Who has ended the series that is over, in words, if it was none of the calls below; "" unless that is
    certain."""


class StreamingDetector(Unit):
    """One unit of a detector model whose own box sends the frames.

    `__init__` uses no network: a box that is switched off must not prevent a device from starting. `apply`
    gets only changed values, and may take a minute (a photon energy moves every threshold). `prepare`
    configures the box and reads the result back: the frame format is the box's own answer.
    """

    counts_frames: ClassVar[bool] = False
    """True if the box counts the frames of a series: then `Progress.acquired` is never `None`."""
    sends_start: ClassVar[bool] = True
    """True if the box's stream begins each series with a start message, which bears the user part.

    False: the device tells the receiver of each series before the box is armed, and frames bear only the id
    of the arming, `user.arm`; so the receiver begins a series with its first frame.
    """
    arm_characters: ClassVar[int] = 32
    """Number of characters of an arming's id: some boxes pass on short texts only."""
    set_by_reset: ClassVar[frozenset[str]] = frozenset()
    """Names of the parameters that `reset` sets: what they were before is not lost."""
    newest_image: ClassVar[str] = ""
    """Name of the parameter that holds the address of the newest image, a TIFF, or "" while there is none.

    The image is shown while the receiver takes no series; "" for a box without such an image.
    """

    @abstractmethod
    def connect(self) -> Progress:
        """Connect to the box and read its properties: model, sensor, limits, present settings.

        Called first, and again after the box was lost. It changes nothing in the box.

        Raises:
            BoxLost: the box does not answer.
            CameraError: it is another detector, or has another API version.
        """

    @abstractmethod
    def values(self) -> Mapping[str, Value]:
        """Return the box's present values of its own writable parameters; after `connect`, `apply`,
        `prepare`.

        Parameters that this model does not have, or cannot tell in its present state, are left out, and are
        shown as unknown.
        """

    @abstractmethod
    def stream_endpoint(self) -> str:
        """Return the endpoint of the box's stream for a receiver: "tcp://HOST:PORT"."""

    def stream_source(self) -> str:
        """Return the type of the receiver's source for this stream, such as "dectris-v2"."""
        return "stins"

    def frames_until_stop(self) -> int:
        """Return how many frames are asked of the box for a series with frames until Stop.

        Called before `prepare`, by the same thread: the box may be asked.
        """
        return self.most_frames()

    def as_prepared(self, settings: Settings) -> Settings:
        """See `Unit`; of a box they are also shown in place of what was set."""
        return settings

    @abstractmethod
    def arm(self, user: UserPart) -> None:
        """Write the user part, arm, and clear the user part; return when triggers are taken.

        The box sends the start message with the user part meanwhile. The user part is cleared also if arming
        fails, so that a series that somebody else arms never has it. A box whose frames bear the id of the
        arming has it until the series has ended.

        Raises:
            CameraError: the box refuses; the sentence is its own.
            BoxLost: the box no longer answers.
        """

    @abstractmethod
    def trigger(self) -> None:
        """Give a software trigger; in INTERNAL mode the only one, which starts the series.

        Return when the box takes the next trigger, which may be at the end of the series.

        Raises:
            CameraError, BoxLost: as for `arm`.
        """

    @abstractmethod
    def stop(self) -> None:
        """Finish the running frame and end the series; without effect if none is running."""

    @abstractmethod
    def abort(self) -> None:
        """End the series at once, dropping frames in the box; without effect if none is running."""

    @abstractmethod
    def progress(self) -> Progress:
        """Return a snapshot of the box; changes nothing.

        Raises:
            BoxLost: it does not answer.
        """

    def dropped(self) -> int | None:
        """Return how many frames of the last series the box took but did not send; `None` if unknown."""
        return None

    @abstractmethod
    def reset(self) -> None:
        """Bring the box to IDLE from any state: disarm or initialise it, which may take a minute.

        Raises:
            CameraError, BoxLost: the box does not become IDLE.
        """
