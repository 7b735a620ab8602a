"""The commands of a control unit (arm, trigger, stop, abort and reset) and its state.

[um] chapter 7.2 and 9; [ref18] section "Detector Subsystem", "command" and "status"; ADEiger
`eigerApp/src/restApi.cpp`. `arm` answers with {"sequence id": n} (Lima-camera-eiger `get_serie_id`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from threading import Event

from penstock.devices._dectris.rest import NoSuchKey, Simplon
from penstock.devices._dectris.series import APPENDIX
from penstock.stins.user_part import UserPart
from penstock.streamer.camera.own_stream import BoxLost, BoxState, Progress
from penstock.streamer.camera.unit import CameraError

ARM = 120.0
"""Seconds for arm; usually a few are enough."""
INITIALIZE = 300.0
"""Seconds for initialize: up to two minutes by [ref18] "initialize", five in Lima-camera-eiger."""
AT_ONCE = 10.0
"""Seconds for abort, and for cancel beyond the running frame."""
DISARM = 60.0
"""Seconds for disarm, in which the box's own file writer may still write its last frames."""
TRIGGER = 60.0
"""Seconds for trigger beyond the frames that it starts: the box answers after the last of them."""
LONGEST = 2_000_000.0
"""Most seconds for one answer: a socket takes 24 days at most."""
LOOK_EVERY = 0.2
"""Seconds between two queries of a box that is busy."""

STATES: Mapping[str, BoxState] = {
    "na": BoxState.UNINITIALISED,
    "idle": BoxState.IDLE,
    "ready": BoxState.ARMED,
    "acquire": BoxState.ARMED,
    "configure": BoxState.BUSY,
    "initialize": BoxState.BUSY,
    "test": BoxState.BUSY,
    "error": BoxState.ERROR,
}
"""Values of detector/status/state ([ref18] "status"; tickit-devices `eiger_status.py`)."""


class Commands:
    """The commands of one control unit; each blocks until the box has answered."""

    def __init__(self, simplon: Simplon) -> None:
        self._simplon = simplon
        self._arming = False
        self._names: tuple[str, ...] = ()
        self.sequence: int | None = None
        """The box's own number of the last series."""

    def progress(self) -> Progress:
        """Return the box's state; it does not count frames."""
        message = str(self._simplon.get("detector/status/state").value)
        state = STATES.get(message)
        if state is None:
            return Progress(
                state=BoxState.BUSY, message=f"the control unit is in the unknown state {message}"
            )
        if state is not BoxState.ERROR:
            return Progress(state=state)
        with suppress(CameraError):
            causes = self._simplon.get("detector/status/error").value
            message = ", ".join(map(str, causes)) if isinstance(causes, list) and causes else message
        return Progress(state=state, message=message)

    def arm(self, user: UserPart) -> None:
        """Write the user part, arm, and clear the user part, even if arming failed."""
        self._simplon.put(APPENDIX, user.encode())
        self._arming = True
        try:
            answer = self._simplon.command("arm", ARM)
        except CameraError:
            with suppress(CameraError):  # the first error is the cause
                self._simplon.put(APPENDIX, "")
            raise
        finally:
            self._arming = False
        self._simplon.put(APPENDIX, "")
        number = answer.get("sequence id")
        self.sequence = number if isinstance(number, int) else None

    def trigger(self, seconds: float, exposure: float | None) -> None:
        """Trigger.

        Args:
            seconds: duration of the frames that it starts.
            exposure: exposure to send with the trigger, in seconds; `None` if `count_time` applies.
        """
        self._simplon.command("trigger", min(seconds + TRIGGER, LONGEST), exposure)

    def stop(self, frame_time: float) -> None:
        """Finish the running frame, then disarm, upon which the stream sends its end message.

        `cancel` ends the series after the next image, and leaves some boxes armed (tickit-devices
        `EigerDevice.cancel`). A box that waits for an edge has no next image: its answer is awaited no longer
        than a frame.
        """
        if self.progress().state is not BoxState.ARMED:
            return
        if str(self._simplon.get("detector/status/state").value) == "acquire":
            with suppress(CameraError):  # it is disarmed next in any case
                self._simplon.command("cancel", frame_time + AT_ONCE)
        if self.progress().state is BoxState.ARMED:
            self._simplon.command("disarm", DISARM)

    def abort(self) -> None:
        """End the series at once, even while it is being armed."""
        if self._arming or self.progress().state is not BoxState.IDLE:
            self._simplon.command("abort", AT_ONCE)

    def learn(self) -> None:
        """Read which commands the box has, if it lists them."""
        self._names = ()
        with suppress(NoSuchKey):
            listed = self._simplon.get("detector/command/keys").value
            self._names = tuple(str(name) for name in listed) if isinstance(listed, list) else ()

    @property
    def resets_high_voltage(self) -> bool:
        """True if the box can reset the sensor's high voltage."""
        return "hv_reset" in self._names

    def reset_high_voltage(self, seconds: int) -> None:
        """Switch the sensor's high voltage off for so many seconds; return when it is on again."""
        self._simplon.command("hv_reset", seconds + TRIGGER, seconds)

    def reset(self) -> None:
        """Disarm the box if it is armed, and initialise it if nothing else makes it idle.

        A user part that an arming has left behind is cleared: the next series may be another client's.
        """
        state = self._steady_state()
        for command in ("disarm", "abort"):
            if state is BoxState.ARMED:
                try:
                    self._simplon.command(command, DISARM)
                except BoxLost:
                    raise
                except CameraError:
                    continue  # the next command is stronger
                state = self._steady_state()
        if state is not BoxState.IDLE:
            self._simplon.command("initialize", INITIALIZE)
            state = self._steady_state()
        if state is not BoxState.IDLE:
            progress = self.progress()
            raise CameraError(
                f"{self._simplon.address} is {progress.state} {progress.message} after it was initialised; "
                "see the web page of the control unit for the reason"
            )
        if self._simplon.get(APPENDIX).value:
            self._simplon.put(APPENDIX, "")

    def _steady_state(self) -> BoxState:
        """Return the state once the box is no longer busy."""
        until = time.monotonic() + INITIALIZE
        while (state := self.progress().state) is BoxState.BUSY and time.monotonic() < until:
            Event().wait(LOOK_EVERY)
        return state
