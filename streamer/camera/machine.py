"""The state of an engine and its message, moved by a table."""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import Enum
from threading import Lock
from typing import Generic, TypeVar

from penstock.stins.table import IllegalEvent, Table
from penstock.streamer.camera.driver import Refused

log = logging.getLogger(__name__)
S = TypeVar("S", bound=Enum)
E = TypeVar("E", bound=Enum)


class Machine(Generic[S, E]):
    """A state and its message; thread-safe. Each transition is logged once, with both states and the cause.

    Args:
        table: rows state × event.
        state: the first one.
        fault: the state of a fault, whose transition is logged as an error.
        refusal: the sentence for an event that is illegal now.
        changed: called after each transition.
        ignored: rows that change nothing.
    """

    def __init__(
        self, table: Table[S, E], state: S, fault: S, refusal: Callable[[Machine[S, E], E], str],
        changed: Callable[[], None] = lambda: None, ignored: frozenset[tuple[S, E]] = frozenset(),
    ) -> None:  # fmt: skip
        self._lock = Lock()
        self._table, self._fault, self._refusal, self._changed = table, fault, refusal, changed
        self._ignored = ignored
        self.state = state
        self.message = ""
        self.moves = 0
        """Number of transitions, which tells whether a snapshot is outdated."""

    def fire(self, event: E, cause: str, *, seen: int | None = None) -> bool:
        """Make the transition of `event`.

        Args:
            event: event of the table.
            cause: message of the new state.
            seen: `moves` when the cause was found; the event is ignored if the state has changed since.

        Returns:
            True if it was made; false if `seen` is outdated, or it is ignored in this state.

        Raises:
            Refused: "illegal_state", the table has no such transition; nothing changed.
        """
        with self._lock:
            if (seen is not None and seen != self.moves) or (self.state, event) in self._ignored:
                return False
            before = self.state
            self.state = self.after(event)
            self.message = cause
            self.moves += 1
        level = logging.ERROR if self.state is self._fault else logging.INFO
        log.log(level, "%s -> %s (%s): %s", before.value, self.state.value, event.value, cause)
        self._changed()
        return True

    def after(self, event: E) -> S:
        """Return the state to which `event` would lead.

        Raises:
            Refused: "illegal_state", the event is illegal now.
        """
        try:
            return self._table.after(self.state, event)
        except IllegalEvent:
            raise Refused("illegal_state", self._refusal(self, event)) from None
