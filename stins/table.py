"""Tables of states: which state follows a state and an event."""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

S = TypeVar("S", bound=Enum)
E = TypeVar("E", bound=Enum)


class IllegalEvent(Exception):
    """An event that a table does not allow now; nothing was changed."""


class Table(dict[tuple[S, E], S]):
    """The state that follows, by state and event; an event that has no row is illegal."""

    def after(self, state: S, event: E) -> S:
        """Return the state that follows.

        Raises:
            IllegalEvent: the table has no such row.
        """
        try:
            return self[state, event]
        except KeyError:
            raise IllegalEvent(f"{event.name} while {state.value}") from None

    def allowed(self, state: S) -> list[E]:
        """Return the events that a state allows, in the order of the table."""
        return [event for before, event in self if before is state]
