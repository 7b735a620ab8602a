"""When `Check` is asked: after changes, and again where no event tells that its answer has changed."""

from __future__ import annotations

from collections.abc import Callable

from penstock.gui.model.answers import Check
from penstock.gui.model.calls import Later

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
