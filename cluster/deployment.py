"""One Deployment: how many pods it has, and what changes their number."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from penstock.cluster.followed import Followed
from penstock.cluster.kubernetes import Deployments, KubernetesRefused, Scale
from penstock.cluster.states import SETTLES
from penstock.stins.texts import plural

log = logging.getLogger(__name__)

LONGEST_END = 60.0
"""Seconds for which a restart waits for pods to end."""
LOOK = 0.1
"""Seconds between two looks at them."""
AGAIN = 2.0
"""Seconds after which Kubernetes is asked again to start what a restart has stopped."""


class Deployment:
    """The Deployment of a part. Its commands may come from several threads.

    Args:
        name: of the Deployment.
        part: of the part, for the log.
        count: pods after a start.
        kubernetes: where it is scaled.
        pause: returns the seconds between two questions for its scale.
        ends: set when the control ends.
    """

    def __init__(
        self, name: str, part: str, count: int, kubernetes: Deployments, pause: Callable[[], float],
        ends: threading.Event,
    ) -> None:  # fmt: skip
        self.name, self._part, self.count = name, part, count
        self._kubernetes, self._ends = kubernetes, ends
        self.scale = Followed(lambda: kubernetes.scale(name), KubernetesRefused, pause)
        self.doing = ""
        """What a restart waits for; a sentence."""
        self.programs: list[Followed[Any]] = []
        """Programs that run in it."""
        self._lock = threading.Lock()
        self._orders = 0
        self._changed = time.monotonic()
        self._restarts: threading.Thread | None = None

    @property
    def settles(self) -> bool:
        """True if the number of its pods was changed a short time ago."""
        return time.monotonic() - self._changed < SETTLES

    def set(self, count: int) -> None:
        """Let it have so many pods; a restart that is under way is over.

        Raises:
            KubernetesRefused: Kubernetes does not do it.
        """
        with self._lock:
            self._scale(count)
            self._orders += 1
            self.doing = ""

    def restart(self) -> None:
        """Stop it, and start it once no pod is left; returns when it is being stopped.

        Raises:
            KubernetesRefused: Kubernetes does not do it.
        """
        with self._lock:
            self._scale(0)
            self._orders += 1
            self.doing = "it is being restarted"
            self._restarts = threading.Thread(
                target=self._start_again, args=(self._orders,), name=f"restart of {self._part}", daemon=True
            )
            self._restarts.start()

    def join(self) -> None:
        """Wait for a restart, which does not wait any more once the control ends."""
        if self._restarts is not None:
            self._restarts.join()

    def _scale(self, count: int) -> None:
        found = self._kubernetes.set(self.name, count)
        log.info(
            "%s: %s %s of Deployment %s",
            self._part,
            "starts" if count else "stops",
            count or "all",
            self.name,
        )
        self.scale.put(found)
        for each in self.programs:
            each.forget()
        if count:
            self.count = count
        self._changed = time.monotonic()

    def _start_again(self, order: int) -> None:
        due = time.monotonic() + LONGEST_END
        while (left := _left(self.scale.answer)) and time.monotonic() < due and not self._ends.is_set():
            if not self._say(order, f"the restart waits until {plural(left, 'pod')} of {self.name} ended"):
                return
            self._ends.wait(LOOK)
        if left and not self._ends.is_set():
            log.warning(
                "%s: started although %s of %s has not ended", self._part, plural(left, "pod"), self.name
            )
        while True:
            with self._lock:
                if order != self._orders:
                    return
                try:
                    self._scale(self.count)
                except KubernetesRefused as error:
                    self.doing = f"it was stopped, and is not started again yet: {error}"
                    log.error("%s: %s", self._part, self.doing)
                else:
                    self.doing = ""
                    return
            if self._ends.wait(AGAIN):
                return

    def _say(self, order: int, sentence: str) -> bool:
        with self._lock:
            if order == self._orders:
                self.doing = sentence
            return order == self._orders


def _left(scale: Scale | None) -> int:
    """Return how many pods have still to end; at least 1 while that is unknown."""
    return 1 if scale is None else scale.running
