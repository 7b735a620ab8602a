"""Checks of a user's settings against a camera's declarations, where each refusal names value and limit; and
of what a unit has made of them, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from penstock.streamer.camera.driver import Refused
from penstock.streamer.camera.settings import STANDARD, Limits, Parameter, Settings, TriggerMode, Value
from penstock.streamer.camera.unit import FrameFormat, Unit

ROTATIONS = (0, 90, 180, 270)


def complete_properties(kind: type[Unit], given: Mapping[str, object]) -> dict[str, Value]:
    """Return the properties of a unit: the given ones, checked, and the defaults of the others.

    Raises:
        Refused: unknown name, wrong type, out of range.
    """
    declared = {parameter.name: parameter for parameter in kind.properties}
    values = {name: parameter.default for name, parameter in declared.items()}
    values.update(_checked(given, declared, {}, f"property of {kind.__name__}"))
    return values


def check_values(
    values: Mapping[str, object], parameters: Iterable[Parameter], limits: Mapping[str, Limits]
) -> dict[str, Value]:
    """Return values for a camera's own parameters, converted to their types and checked.

    Raises:
        Refused: unknown name, not writable, wrong type, not a choice, out of range.
    """
    declared = {parameter.name: parameter for parameter in parameters}
    checked = _checked(values, declared, limits, "parameter")
    for name in checked:
        if not declared[name].writable:
            raise Refused("not_writable", f"{name} can only be read")
    return checked


def check_settings(settings: Settings, kind: type[Unit], limits: Mapping[str, Limits]) -> None:
    """Check the standard settings of a series against the limits of a unit.

    Raises:
        Refused: a value out of range, a trigger mode that the camera does not have.
    """
    values: dict[str, object] = {
        "ExposureTime": settings.exposure_time,
        "LatencyTime": settings.latency_time,
        "nTriggers": settings.n_triggers,
        "nFramesPerTrigger": settings.n_frames_per_trigger,
    }
    _checked(values, {parameter.name: parameter for parameter in STANDARD}, limits, "parameter")
    if settings.trigger_mode not in kind.trigger_modes:
        raise Refused(
            "out_of_range",
            f"TriggerMode {settings.trigger_mode}: {kind.__name__} has {', '.join(kind.trigger_modes)}",
        )
    if settings.n_triggers == 0 and settings.trigger_mode is not TriggerMode.INTERNAL:
        raise Refused(
            "out_of_range",
            "nTriggers 0 takes frames until Stop, with TriggerMode INTERNAL only; now it is "
            f"{settings.trigger_mode}: set nTriggers to 1 or more, or TriggerMode to INTERNAL",
        )
    if settings.rotation not in ROTATIONS:
        raise Refused("out_of_range", f"Rotation {settings.rotation}; allowed are 0, 90, 180 and 270 degrees")


def check_orientation(settings: Settings, frames: FrameFormat) -> None:
    """Check that frames can be rotated and mirrored as set.

    Raises:
        Refused: the frames are compressed.
    """
    turned = settings.rotation or settings.fliplr or settings.flipud
    if turned and frames.compression != "none":
        raise Refused(
            "out_of_range",
            "Rotation, Fliplr and Flipud need uncompressed frames, the camera gives "
            f"{frames.compression}; set Compression to none",
        )


def _checked(
    values: Mapping[str, object],
    declared: Mapping[str, Parameter],
    limits: Mapping[str, Limits],
    what: str,
) -> dict[str, Value]:
    checked: dict[str, Value] = {}
    for name, value in values.items():
        parameter = declared.get(name)
        if parameter is None:
            raise Refused("unknown_parameter", f"no {what} is called {name}; there are {', '.join(declared)}")
        checked[name] = _typed(parameter, value)
        _within(parameter, checked[name], parameter.limits)
        _within(parameter, checked[name], limits.get(name, Limits()))
    return checked


def _typed(parameter: Parameter, value: object) -> Value:
    wanted = type(parameter.default)
    if wanted is float and type(value) is int:
        return float(value)
    if type(value) is not wanted:
        raise Refused(
            "wrong_type",
            f"{parameter.name} must be {wanted.__name__}, it is {type(value).__name__}: {value!r}",
        )
    if parameter.choices and value not in parameter.choices:
        raise Refused(
            "out_of_range", f"{parameter.name} {value!r}; possible are {', '.join(parameter.choices)}"
        )
    return value


def _within(parameter: Parameter, value: Value, limits: Limits) -> None:
    if isinstance(value, str | bool):
        return
    unit = f" {parameter.unit}" if parameter.unit else ""
    # Written so that NaN is refused too.
    if limits.minimum is not None and not value >= limits.minimum:
        raise Refused(
            "out_of_range", f"{parameter.name} {value}{unit}; the least is {limits.minimum:g}{unit}"
        )
    if limits.maximum is not None and not value <= limits.maximum:
        raise Refused(
            "out_of_range", f"{parameter.name} {value}{unit}; the greatest is {limits.maximum:g}{unit}"
        )


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
