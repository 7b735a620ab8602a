"""The state of a part: a table of what Kubernetes says, and whether the program answers."""

from __future__ import annotations

from typing import Literal

from penstock.cluster.kubernetes import Scale
from penstock.cluster.models import StateName

Pods = Literal["none", "fewer", "all", "more"]
SETTLES = 60.0
"""Seconds for which a program that does not answer is starting."""
TABLE: dict[tuple[bool, Pods], tuple[StateName, StateName]] = {
    # some are wanted, of which there are: while it does not answer, once it does
    (False, "none"): ("off", "ending"),
    (False, "more"): ("ending", "ending"),
    (True, "none"): ("starting", "starting"),
    (True, "fewer"): ("starting", "starting"),
    (True, "all"): ("away", "running"),
    (True, "more"): ("ending", "ending"),
}


def state_of(
    scale: Scale | None, *, answers: bool, failed: bool = False, asleep: bool = False, settles: bool = False
) -> StateName:
    """Return the state of a part.

    Args:
        scale: what Kubernetes says; `None` while it does not.
        answers: whether the program answers over HTTP; of workers, whether all are connected.
        failed: whether it says that it is in error.
        asleep: whether it was taken away because no series ran.
        settles: whether it was started a short time ago, and has not answered since.
    """
    if scale is None:
        return "unknown"
    found = TABLE[scale.wanted > 0, pods(scale)][answers]
    if found == "away" and settles:
        return "starting"
    if found == "running" and failed:
        return "error"
    return "asleep" if found == "off" and asleep else found


def pods(scale: Scale) -> Pods:
    """Return how many of the wanted pods there are."""
    if scale.running > scale.wanted:
        return "more"
    if not scale.running:
        return "none"
    return "all" if scale.running == scale.wanted else "fewer"
