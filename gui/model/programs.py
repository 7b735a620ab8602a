"""A detector's programs on Kubernetes as a panel shows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.cluster.models import Part

BAD = frozenset({"away", "error", "unknown"})
GOOD = frozenset({"running"})


@dataclass(frozen=True)
class Column:
    """One column of the table."""

    title: str
    text: Callable[[Part], str]


def _pods(part: Part) -> str:
    if part.wanted is None:
        return "unknown"
    there = f"{part.running:,} of {part.wanted:,}"
    return there if part.connected is None else f"{there}, {part.connected:,} connected"


COLUMNS = (
    Column("Part", lambda part: part.name),
    Column("State", lambda part: part.state),
    Column("Pods", _pods),
    Column("It says", lambda part: ": ".join(filter(None, (part.says, part.sentence)))),
)
STATE = 1


def why_not(part: Part | None) -> str:
    """Return why a part can be neither started nor stopped; "" if it can."""
    if part is None:
        return "Choose a part first."
    return "" if part.deployment else f"{part.name} runs in the receiver's pod: choose the receiver."


def question(part: Part, does: str) -> str:
    """Return what to ask before a part is stopped or restarted; "" if nothing is lost by it.

    Args:
        part: as it is now.
        does: what is to be done, such as "Restart".
    """
    if part.says != "running":
        return ""
    asked = f"A series runs. {does} {part.name}?"
    if part.kind == "receiver":
        return (
            f"{asked} A receiver with on_terminate: resume goes on with the series once it is there again; "
            "frames wait in the streamer meanwhile."
        )
    return f"{asked} Frames that it does not take live are taken from the file."
