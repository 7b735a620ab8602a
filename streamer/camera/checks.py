"""Checks of a user's settings against a camera's declarations; each refusal names value and limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
