"""The detector's programs on Kubernetes, by their control: restarts the receiver, brings workers back."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from penstock.cluster.client import ControlClient, NoAnswer
from penstock.devices._series.arming import ARM_LIMIT
from penstock.devices._series.refusals import ArmRefused

log = logging.getLogger(__name__)

RECEIVER = "receiver"
"""The control's name for it."""
LONGEST = 120.0
"""Seconds for which a receiver that is restarted is followed."""
POLL = 1.0
"""Seconds for which an answer of the control may be delayed while nothing changes."""


class Programs:
    """The control of one detector's programs.

    Args:
        url: address of its HTTP API; "" for none.
        changed: called, in any thread, when `sentence` has changed.
        limit: seconds after which a restart goes on by itself.
    """

    def __init__(self, url: str, changed: Callable[[], None], limit: float = ARM_LIMIT) -> None:
        self._client = ControlClient(url) if url else None
        self._url, self._changed, self._limit = url, changed, limit
        self._ends = threading.Event()
        self.sentence = ""
        """What the device's Status says of them."""

    def wake(self) -> None:
        """Let workers come back that were taken away while no series ran; returns at once.

        A control that does not answer keeps no series from being taken: Status says so.
        """
        if self._client is not None:
            threading.Thread(target=self._wake, args=(self._client,), name="wake", daemon=True).start()

    def restart(self) -> None:
        """Restart the receiver; return when it answers again, or when a client of Tango waits no longer.

        Raises:
            ArmRefused: "not_restarted", with what the control says.
        """
        if self._client is None:
            raise ArmRefused("not_restarted", "the device has no control (property ControlUrl)")
        found: list[str] = []
        thread = threading.Thread(
            target=self._restart, args=(self._client, found), name="restart of the receiver", daemon=True
        )
        thread.start()
        thread.join(self._limit)
        if found and not thread.is_alive():
            self._say("")
            raise ArmRefused("not_restarted", found[0])

    def close(self) -> None:
        """Follow nothing any more."""
        self._ends.set()
        if self._client is not None:
            self._client.close()

    def _wake(self, client: ControlClient) -> None:
        try:
            client.wake()
        except NoAnswer as error:
            log.warning("workers that were taken away do not come back: %s", error)
            self._say(f"Workers that were taken away do not come back: {error}")
        else:
            self._say("")

    def _restart(self, client: ControlClient, found: list[str]) -> None:
        due = time.monotonic() + LONGEST
        by = f"by the control at {self._url}"
        self._say(f"The receiver is being restarted {by}.")
        try:
            status = client.restart(RECEIVER)
            while (part := status.part(RECEIVER)) is not None and part.state not in ("running", "error"):
                said = part.sentence or f"it is {part.state}"
                if time.monotonic() > due:
                    found.append(
                        f"the receiver was restarted {by}, and is not back after {LONGEST:g} s: {said}"
                    )
                    break
                self._say(f"The receiver is being restarted {by}: {said}.")
                status = client.status(seen=status.version, wait=POLL)
        except NoAnswer as error:
            found.append(f"the receiver is not restarted {by}: {error}")
        if found and not self._ends.is_set():
            log.error("%s", found[0])
        self._say(f"{found[0][:1].upper()}{found[0][1:]}" if found else "")

    def _say(self, sentence: str) -> None:
        if sentence != self.sentence and not self._ends.is_set():
            self.sentence = sentence
            self._changed()
