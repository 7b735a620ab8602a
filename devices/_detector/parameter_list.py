"""The parameters of a detector in the order of a panel, as a JSON list: the Tango attribute Parameters.

Units, limits and descriptions are in Tango's attribute configuration. This list holds what Tango has no place
for: the group of a parameter, the choices of a text, and how a number that can be set is written for a
reader, since Tango's own format says how many wheels panels have for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.devices._series.settings import PERIOD_ATTRIBUTES
from penstock.devices._tango.tango_text import tango_json
from penstock.streamer.camera.checks import ROTATIONS
from penstock.streamer.camera.settings import STANDARD, Parameter

ATTRIBUTE = Parameter(
    name="Parameters", default="[]", writable=False, expert=True,
    doc="Parameters in the order of a panel, as a JSON list: name, group (series, camera, reading), choices, "
    "and the format of a float.",
)  # fmt: skip
BEFORE_PERIODS = "LatencyTime"
"""It is followed by FrameTime and FrameRate, which set it."""


def parameter_list(
    own: Iterable[Parameter], identity: Iterable[Parameter], trigger_modes: Sequence[str]
) -> str:
    """Return the JSON list.

    Args:
        own: parameters that the camera declares.
        identity: properties of the unit that are shown as attributes.
        trigger_modes: trigger modes of this unit.
    """
    narrowed = {"TriggerMode": trigger_modes, "Rotation": [str(angle) for angle in ROTATIONS]}
    periods = [parameter for parameter in PERIOD_ATTRIBUTES if parameter.writable]
    fixed = [parameter for parameter in PERIOD_ATTRIBUTES if not parameter.writable]
    series: list[Parameter] = []
    for parameter in STANDARD:
        series += [parameter, *periods] if parameter.name == BEFORE_PERIODS else [parameter]
    own = list(own)
    camera = [parameter for parameter in own if parameter.writable]
    readings = [*(parameter for parameter in own if not parameter.writable), *fixed, *identity]
    entries = [
        {
            "name": parameter.name,
            "group": group,
            "choices": list(narrowed.get(parameter.name, parameter.choices)),
            **({"format": parameter.shown_as} if parameter.shown_as else {}),
        }
        for group, parameters in (("series", series), ("camera", camera), ("reading", readings))
        for parameter in parameters
    ]
    return tango_json(entries)
