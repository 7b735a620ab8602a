"""Threads in which a panel calls its device, so that no widget waits for it; and when `Check` is asked.

That is after changes, and again where no event tells that its answer has changed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from penstock.gui.model.tango.answers import Check

_log = logging.getLogger(__name__)

AT_THE_SAME_TIME = 4
"""Abort must overtake an Arm that is still waited for."""
STOP_SECONDS = 1.0
"""Longest that `stop` waits for calls under way: those of a server that hangs end by themselves."""


class Calls:
    """The calls of one device; for any thread.

    Args:
        name: name of the device, for the names of the threads.
        failed: called with an error that no call should raise.
    """

    def __init__(self, name: str, failed: Callable[[Exception], None]) -> None:
        self._name = name
        self._failed = failed
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(AT_THE_SAME_TIME, thread_name_prefix=f"penstock-panel {name}")
        self._under_way: set[Future[None]] = set()
        self._stopped = False

    def begin(self, work: Callable[[], object]) -> None:
        """Have it done soon; never waits, and does nothing once stopped."""
        with self._lock:
            if not self._stopped:
                self._under_way = {call for call in self._under_way if not call.done()}
                self._under_way.add(self._pool.submit(self._guarded, work))

    def stop(self) -> None:
        """End the threads, within a second or so."""
        with self._lock:
            self._stopped = True
        _, hanging = wait(self._under_way, STOP_SECONDS)
        self._pool.shutdown(wait=not hanging, cancel_futures=True)

    def _guarded(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception as error:
            _log.exception("%s", self._name)
            self._failed(error)


class Later:
    """Makes one call some time after the last `soon`: requests come in groups.

    Args:
        seconds: time without requests before the call.
        call: function to call, in a thread of its own.
    """

    def __init__(self, seconds: float, call: Callable[[], object]) -> None:
        self._seconds = seconds
        self._call = call
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def soon(self) -> None:
        """Call after the delay, unless `soon` is called again before."""
        with self._lock:
            self._cancel()
            self._timer = threading.Timer(self._seconds, self._call)
            self._timer.daemon = True
            self._timer.start()

    def not_now(self) -> None:
        """Cancel the call that is due."""
        with self._lock:
            self._cancel()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None


SETTLE = 0.2
"""Seconds between a change of settings and `Check`: changes come in groups."""
ASK_AGAIN = 3.0
"""Seconds after which `Check` is asked again if its refusal is one of `PASSING`."""
STILL = 30.0
"""Seconds after which `Check` is asked again if all was well: a disk fills without any event."""
PASSING = ("unavailable", "not_connected", "other_consumer")
"""Refusals that depend on other programs, not on the settings: no event tells that they have passed."""


class CheckTimes:
    """The clocks of `Check`.

    Args:
        ask: asks it.
        due: called when it is to be asked again, if it still can be.
    """

    def __init__(self, ask: Callable[[], object], due: Callable[[], object]) -> None:
        self._soon = Later(SETTLE, ask)
        self._again = Later(ASK_AGAIN, due)
        self._still = Later(STILL, due)

    def soon(self) -> None:
        """Something has changed."""
        self._soon.soon()

    def not_now(self) -> None:
        """What has changed does not matter: nothing can be armed now."""
        self._soon.not_now()

    def answered(self, check: Check) -> None:
        """Ask again some time after this answer."""
        if check.kind in PASSING:
            self._again.soon()
        elif check.ok:
            self._still.soon()

    def stop(self) -> None:
        """Ask no more."""
        for clock in (self._soon, self._again, self._still):
            clock.not_now()
