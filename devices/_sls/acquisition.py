"""One series: slsReceiver listens, the detector is started, and in the end slsReceiver is stopped.

`rx_start`, `start`, `stop` and `rx_stop` of slsDetectorPackage 10 (`Detector.h`; `DetectorImpl::acquire` has
their order). slsReceiver publishes its end message once it is stopped and everything is sent
(`Implementation::stopReceiver`, `DataStreamer::SendDummyHeader`), and nobody but the client stops it: a
thread does, when the detector has come to rest after its last start.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress

from penstock.devices._sls import names
from penstock.devices._sls.client import AT_ONCE, Client, NotSetUp
from penstock.devices._sls.connection import BUSY
from penstock.devices._sls.modes import Plan
from penstock.devices._sls.parameters import flat
from penstock.stins.user_part import UserPart
from penstock.streamer.camera.own_stream import BoxLost
from penstock.streamer.camera.unit import CameraError

log = logging.getLogger(__name__)

POLL = 0.02
"""Seconds between two looks at a running detector."""
QUICK = 0.005
"""The same, while somebody waits for its next frame."""
ARRIVAL = 0.5
"""Seconds from the end of an exposure until slsReceiver has the frame, and more."""
ON_TIME = 0.99
"""Share of the time of its frames before which a detector rests only if it was stopped; clocks differ by
less."""
NEVER = float("-inf")
"""Time of what has not happened."""
BY_ANOTHER = "another program has stopped the detector (stopDetector)"
"""Who has ended a series, in words."""
STOPPED = "STOPPED"
"""Status of a detector that was stopped, until it is started again."""
PLANNED = ("frames", "triggers", "period", "exptime")
"""Settings on which it depends when the detector rests by itself."""
RX_STOP = 30.0
"""Seconds for slsReceiver to send what it has received: `stopReceiver` returns after the last frame."""


class Acquisition:
    """The series of one detector, one at a time; its methods may be called from any thread.

    Args:
        client: client of the detector.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._over = threading.Event()
        """Set: no series runs."""
        self._over.set()
        self._ending = threading.Event()
        """Set: the series is to end now, although not everything was started."""
        self._starting = threading.Lock()
        """Held for a start, so that none follows the stop that ends the series."""
        self._thread: threading.Thread | None = None
        self._names: tuple[str, str] = names.NO_NAME
        """fpath and fname as another client has set them."""
        self._first = 0
        self._frames = 0
        self._starts = 0
        self._started = 0
        self._acquired = 0
        self._least_time = 0.0
        """Seconds from a start until the detector rests by itself, and more."""
        self._begun = NEVER
        """Time at which the detector was last started; NEVER before."""
        self._planned: list[object] = []
        """PLANNED, as they were when it was armed."""
        self._cause = ""
        """What another program has done that ended the series, or spoils the rest; in words."""

    @property
    def is_running(self) -> bool:
        """True from `arm` until slsReceiver has been stopped."""
        return not self._over.is_set()

    @property
    def ended_by(self) -> str:
        """What another program has done that has ended the last series, in words; "" for nothing."""
        return self._cause

    def arm(self, user: UserPart, plan: Plan, least_time: float) -> None:
        """Let slsReceiver listen; in modes with edges, start the detector, too.

        Args:
            user: user part, of which frames bear the id and the name.
            plan: triggers of the series.
            least_time: seconds from a start until the detector rests by itself, or less.

        Raises:
            CameraError, BoxLost: it cannot; nothing is left armed, and no name of this series.
        """
        status, receivers = self._client.get("status", "rx_status")
        self._client.start_workers()
        if self.is_running or set(flat([status, receivers])) & BUSY:
            raise CameraError(f"{self._client.address} is armed already, perhaps by another client")
        fpath, fname = (str(flat(each)[0]) for each in self._client.get("fpath", "fname"))
        # What a series of ours has left behind, which was not ended here, is nobody's choice.
        is_choice = fpath.startswith("/") and not names.bear_id(self._client)
        self._names = (fpath, fname) if is_choice else names.NO_NAME
        number, *self._planned = self._client.get("nextframenumber", *PLANNED)
        self._first = max(flat(number))
        self._frames = plan.frames * max(plan.triggers, plan.starts)
        self._starts, self._started, self._acquired = plan.starts, 0, 0
        self._least_time, self._begun, self._cause = least_time, NEVER, ""
        self._ending.clear()
        begun = time.monotonic()
        start = () if plan.starts else (("call", "startDetector"),)
        try:
            self._client.do(*names.steps(user), ("call", "startReceiver"), *start)
        except CameraError as error:
            self._give_up(error)
            raise
        self._begun = NEVER if plan.starts else begun
        self._over.clear()
        self._thread = threading.Thread(target=self._await_end, name="end of the series", daemon=True)
        self._thread.start()

    def trigger(self, seconds: float) -> None:
        """Start the detector; return when it has come to rest, or the series has ended.

        Args:
            seconds: duration of the frames that this starts.
        """
        with self._starting:
            if self._ending.is_set() or self._cause:
                return
            self._begun, begun = NEVER, time.monotonic()
            self._client.do(("call", "startDetector"))
            self._begun = begun
            self._started += 1
        until = time.monotonic() + seconds + AT_ONCE
        while not self._over.wait(QUICK) and not self._ending.is_set():
            (status,) = self._client.get("status")
            if not set(flat(status)) & BUSY:
                self._note_rest(begun, status)
                return
            if time.monotonic() > until:
                raise CameraError(
                    f"{self._client.address} is still {status} {AT_ONCE:g} s after its last frame was due; "
                    "call Reset"
                )

    def stop(self, exposure: float, frame_time: float) -> None:
        """End the series after the frame that runs: `stop` would give it up.

        Args:
            exposure: seconds after which that frame is over, if one runs.
            frame_time: seconds from one frame to the next.
        """
        if self._over.is_set():
            return
        until = time.monotonic() + exposure + ARRIVAL
        before = self.acquired()
        while not self._over.is_set() and time.monotonic() < until:
            (status,) = self._client.get("status")
            if "RUNNING" not in flat(status) or self.acquired() != before:
                break
            self._over.wait(QUICK)
        self.abort(frame_time)

    def abort(self, frame_time: float) -> None:
        """End the series at once; without effect if none runs.

        Args:
            frame_time: seconds from one frame to the next; PSI's virtual detector finishes the frame.
        """
        if self._over.is_set():
            return
        self._ending.set()
        with self._starting:
            self._client.do(("call", "stopDetector"), seconds=frame_time + AT_ONCE)

    def acquired(self) -> int:
        """Return how many frames of the series have been taken, as far as slsReceiver has seen them."""
        if self._over.is_set():
            return self._acquired
        (numbers,) = self._client.get("rx_frameindex")  # the detector's own number; 0 before the first frame
        return self._within(int(max(flat(numbers))) - self._first + 1)

    def reset(self, frame_time: float, *, receivers: bool = True) -> None:
        """Stop detector and receivers, whoever has started them, and remove what names a series of ours.

        Args:
            frame_time: see `abort`.
            receivers: False if slsdet knows others than those of the properties, which may not be there.
        """
        self._ending.set()
        self._client.do(("call", "stopDetector"), seconds=frame_time + AT_ONCE)
        if self._thread is not None:
            self._thread.join(RX_STOP)
        (uses,) = self._client.get("use_receiver")
        if receivers and all(flat(uses)):
            with suppress(NotSetUp):  # it runs nothing, and names nothing
                self._client.do(("call", "stopReceiver"), seconds=RX_STOP)
                if names.bear_id(self._client):
                    names.clear(self._client)
        self._over.set()

    def close(self) -> None:
        """Let the thread end."""
        self._over.set()

    def _await_end(self) -> None:
        """Stop slsReceiver when the detector has come to rest after its last start, or was stopped."""
        while not self._over.is_set():
            if self._ending.is_set():
                self._over.wait(POLL)  # until it is at rest
            else:
                self._ending.wait(POLL)
            try:
                if self._is_at_rest():
                    self._finish()
                    return
            except BoxLost:
                continue  # the engine gives it up if that lasts
            except CameraError as error:
                if not self._over.is_set():  # otherwise it was given up meanwhile
                    log.error("the end of the series cannot be seen: %s", error)
                return

    def _is_at_rest(self) -> bool:
        # Before the state that they explain.
        started, begun, ending = self._started, self._begun, self._ending.is_set()
        status, receivers = self._client.get("status", "rx_status")
        rests = not set(flat(status)) & BUSY
        if rests:
            self._note_rest(begun, status)
        if not set(flat(receivers)) & BUSY:
            return True  # another client has stopped the receiver: nothing more will come
        return rests and (ending or bool(self._cause) or started >= self._starts)

    def _note_rest(self, begun: float, status: object) -> None:
        """Note that the detector rests; somebody has seen to that if its frames take longer.

        Args:
            begun: when it was started; NEVER if that is under way.
            status: its status.
        """
        if time.monotonic() - begun < ON_TIME * self._least_time:
            self._blame(status)

    def _blame(self, status: object) -> None:
        """Note what another program has done, unless the series was ended here.

        Raises:
            CameraError, BoxLost: the detector's settings cannot be read back.
        """
        changes = "" if STOPPED in flat(status) else self._changes()
        # In this order: `abort` sets `_ending` first.
        if not self._ending.is_set() and not self._cause:
            self._cause = changes or BY_ANOTHER

    def _changes(self) -> str:
        """Return which settings another program has changed since Arm, in words; "" for none."""
        found = zip(PLANNED, self._planned, self._client.get(*PLANNED), strict=True)
        changes = [f"{name} was {_number(old)}, is {_number(new)}" for name, old, new in found if old != new]
        return f"another program has changed the detector since Arm: {', '.join(changes)}" if changes else ""

    def _finish(self) -> None:
        """Stop slsReceiver, and count the frames.

        A detector that was stopped counts otherwise: the virtual one all frames that were asked for, others
        may count the frame that was given up.
        """
        status, numbers, following = self._client.get("status", "rx_frameindex", "nextframenumber")
        seen = int(max(flat(numbers))) - self._first + 1
        # Frames that were taken, and lost behind the last one that slsReceiver has seen.
        acquired = max(seen, int(max(flat(following))) - self._first)
        if STOPPED in flat(status) and acquired < self._frames:
            self._blame(status)
        was_stopped = self._ending.is_set() or self._cause == BY_ANOTHER
        self._acquired = self._within(seen if was_stopped else acquired)
        try:
            _, numbers = self._client.do(("call", "stopReceiver"), ("get", "rx_frameindex"), seconds=RX_STOP)
            if was_stopped:  # with those that were still on their way
                self._acquired = self._within(int(max(flat(numbers))) - self._first + 1)
            names.clear(self._client, self._names)
        finally:
            self._over.set()

    def _within(self, frames: int) -> int:
        return min(self._frames, max(0, frames))

    def _give_up(self, error: CameraError) -> None:
        """Leave nothing armed; the first error is the cause."""
        try:
            self._client.do(("call", "stopDetector"), ("call", "stopReceiver"), seconds=RX_STOP)
            names.clear(self._client, self._names)
        except CameraError as worse:
            log.warning("after %s: %s", error, worse)


def _number(value: object) -> str:
    """Return a setting, or those of the modules, as text."""
    return ", ".join(dict.fromkeys(f"{each:.9g}" for each in flat(value)))
