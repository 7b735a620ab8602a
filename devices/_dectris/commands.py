"""The commands of a control unit: arm, trigger, stop, abort and reset, and the state that they lead to.

[um] chapter 7.2 and 9; [ref18] section "Detector Subsystem", "command" and "status"; ADEiger
`eigerApp/src/restApi.cpp`. `arm` answers with {"sequence id": n} (Lima-camera-eiger `get_serie_id`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from threading import Event

from penstock.devices._dectris.rest import Simplon
from penstock.devices._dectris.series import APPENDIX
from penstock.stins.user_part import UserPart
from penstock.streamer.own_stream.contract import BoxLost, BoxState, Progress
from penstock.streamer.unit import CameraError

ARM = 120.0
"""Seconds; usually a few."""
INITIALIZE = 300.0
"""Seconds; up to two minutes ([ref18] "initialize"), five in Lima-camera-eiger."""
AT_ONCE = 10.0
"""Seconds for abort, and for a cancel beyond the frame under way."""
DISARM = 60.0
"""Seconds; the box's own file writer writes what it still holds."""
TRIGGER = 60.0
"""Seconds for a trigger, beyond the series that it starts: the answer comes when the series is over."""
LOOK_EVERY = 0.2
"""Seconds between looks at a box that initialises."""

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
    """The commands of one control unit; each blocks for as long as the box takes."""

    def __init__(self, simplon: Simplon) -> None:
        self._simplon = simplon
        self._arming = False
        self.sequence: int | None = None
        """The box's own number of the series that was armed last."""

    def look(self) -> Progress:
        """Return the box's state; frames it does not count."""
        said = str(self._simplon.get("detector/status/state").value)
        state = STATES.get(said)
        if state is None:
            return Progress(state=BoxState.BUSY, message=f"the box is in a state that nobody knows, {said}")
        if state is not BoxState.ERROR:
            return Progress(state=state)
        with suppress(CameraError):
            causes = self._simplon.get("detector/status/error").value
            said = ", ".join(map(str, causes)) if isinstance(causes, list) and causes else said
        return Progress(state=state, message=said)

    def arm(self, user: UserPart) -> None:
        """Write the user part, arm, and clear the user part, also where arming failed."""
        self._simplon.put(APPENDIX, user.encode())
        self._arming = True
        try:
            answer = self._simplon.command("arm", ARM)
        except CameraError:
            with suppress(CameraError):  # the first error says more
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
            seconds: that the frames take which it starts.
            exposure: that the trigger itself says, in seconds; `None` where the box has it from `count_time`.
        """
        self._simplon.command("trigger", seconds + TRIGGER, exposure)

    def stop(self, frame_time: float) -> None:
        """Finish the frame under way, then disarm, which lets the stream send its end message.

        `cancel` ends after the next image, and leaves some boxes armed (tickit-devices `EigerDevice.cancel`).
        A box that waits for an edge has no next image: it is not waited for longer than a frame.
        """
        if self.look().state is not BoxState.ARMED:
            return
        if str(self._simplon.get("detector/status/state").value) == "acquire":
            with suppress(CameraError):  # it is disarmed then, in any case
                self._simplon.command("cancel", frame_time + AT_ONCE)
        if self.look().state is BoxState.ARMED:
            self._simplon.command("disarm", DISARM)

    def abort(self) -> None:
        """End the series at once, also one that is just being armed."""
        if self._arming or self.look().state is not BoxState.IDLE:
            self._simplon.command("abort", AT_ONCE)

    def reset(self) -> None:
        """Disarm a box that is armed, initialise one that cannot be helped otherwise.

        The user part of an arming that was never heard of again is cleared: the next series may be somebody
        else's.
        """
        state = self._steady_state()
        for command in ("disarm", "abort"):
            if state is BoxState.ARMED:
                try:
                    self._simplon.command(command, DISARM)
                except BoxLost:
                    raise
                except CameraError:
                    continue  # the next one is harder
                state = self._steady_state()
        if state is not BoxState.IDLE:
            self._simplon.command("initialize", INITIALIZE)
            state = self._steady_state()
        if state is not BoxState.IDLE:
            look = self.look()
            raise CameraError(
                f"{self._simplon.address} is {look.state} {look.message} after it was initialised; the "
                "web page of the control unit may say why"
            )
        if self._simplon.get(APPENDIX).value:
            self._simplon.put(APPENDIX, "")

    def _steady_state(self) -> BoxState:
        """Return the state when the box is not busy any more."""
        until = time.monotonic() + INITIALIZE
        while (state := self.look().state) is BoxState.BUSY and time.monotonic() < until:
            Event().wait(LOOK_EVERY)
        return state
