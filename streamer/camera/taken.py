"""What a unit has made of the settings of a series, in words, where it is something else."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.streamer.camera.settings import Settings, Value

TOLERANCE = 0.01
"""Relative difference of a number that goes without saying."""


def differences(asked: Settings, taken: Settings, readout: float) -> str:
    """Return a sentence about the settings that are not as asked; "" if there are none.

    Args:
        asked: as they were set.
        taken: as the unit has them, see `Unit.as_prepared`.
        readout: least dead time of the unit, in seconds.
    """
    found = list(_different(asked, taken, readout))
    return f"The detector has made {', '.join(found)}; the file says what it has taken." if found else ""


def _different(asked: Settings, taken: Settings, readout: float) -> Iterator[str]:
    def period(settings: Settings) -> float:
        return settings.exposure_time + max(settings.latency_time, readout)

    pairs: dict[str, tuple[Value, Value]] = {
        "ExposureTime": (asked.exposure_time, taken.exposure_time),
        "FrameTime": (period(asked), period(taken)),
    }
    pairs |= {name: (value, taken.camera.get(name, value)) for name, value in asked.camera.items()}
    for name, (wanted, got) in pairs.items():
        if not _alike(wanted, got):
            yield f"{name} {_shown(got)} of {_shown(wanted)}"


def _alike(wanted: Value, got: Value) -> bool:
    if isinstance(wanted, str | bool) or isinstance(got, str | bool):
        return wanted == got
    return abs(got - wanted) <= TOLERANCE * max(abs(wanted), abs(got))


def _shown(value: Value) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
