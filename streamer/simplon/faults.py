"""What a simulated control unit does wrong on request."""

from __future__ import annotations

import msgspec


class Faults(msgspec.Struct, forbid_unknown_fields=True):
    """Faults that last until they are changed; the fields are the keys of `PUT /simulator/faults`."""

    slow_arm: float = 0.0
    """Seconds that `arm` takes longer."""
    slow_put: float = 0.0
    """Seconds that a PUT of a config takes longer, as the energy of a real detector does."""
    slow_initialize: float = 0.0
    errors: dict[str, int] = {}
    """HTTP status by path without version, such as {"detector/command/arm": 500}."""
    drop_stream: bool = False
    """Nothing leaves the stream; `stream/status/dropped` counts."""
    stays_armed: bool = False
    """Series that are armed from now on stay armed after their last frame; the end message goes out when
    they are disarmed."""
    changed: dict[str, float | int | str | bool] = {}
    """Keys of `detector/config` that the next PUT changes too, once."""
