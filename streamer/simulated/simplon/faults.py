"""Faults of a simulated control unit on request."""

from __future__ import annotations

import msgspec


class Faults(msgspec.Struct, forbid_unknown_fields=True):
    """Faults that last until they are changed; the fields are the keys of `PUT /simulator/faults`."""

    slow_arm: float = 0.0
    """Additional seconds that `arm` takes."""
    slow_put: float = 0.0
    """Additional seconds that a PUT of a configuration takes, as with the energy of a real detector."""
    slow_initialize: float = 0.0
    """Additional seconds that `initialize` takes."""
    errors: dict[str, int] = {}
    """HTTP status by path without the version, such as {"detector/command/arm": 500}."""
    drop_stream: bool = False
    """The stream drops all messages; `stream/status/dropped` counts them."""
    stays_armed: bool = False
    """Series that are armed from now on stay armed after their last frame; they
    send the end message when disarmed."""
    changed: dict[str, float | int | str | bool] = {}
    """Values of `detector/config` that the next PUT also changes, once."""
