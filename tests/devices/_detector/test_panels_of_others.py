"""What Jive and ATKPanel make of the declarations of every device class, by the rules of these panels.

ATK takes the wheel of a number from `%W.Pf` and `%Wd` alone, and from any other format as from `%5.2f` and
`%5d`; before the point it has W - P digits. ATKPanel shows what is of display level OPERATOR.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import tango
from tango.server import Device, attribute

from penstock.devices._detector.detector_class import detector_class
from penstock.devices._server.registry import camera_class, camera_names
from penstock.devices._server.server import SERVICES
from penstock.devices._tango.attributes import tango_format
from penstock.streamer.camera.settings import Limits, Parameter, Value

EXPERT = {
    "detector": {"Parameters", "LastSeries", "Metadata"},
    "PenstockReceiver": set(),
    "PenstockPipeline": {"Parameters", "ConfigureOutcome"},
}
"""JSON of many hundred characters, which would make every field of ATKPanel as wide."""


def wheel(form: str, kind: type) -> tuple[int, int]:
    """The digits of ATK's wheel before and behind the point."""
    taken = re.fullmatch(r"%(\d+)(?:\.(\d+))?([fd])", form)
    if taken is None or (taken[3] == "d") != (kind is int):
        taken = re.fullmatch(r"%(\d+)(?:\.(\d+))?([fd])", "%5d" if kind is int else "%5.2f")
    assert taken is not None
    places = int(taken[2] or 0)
    return int(taken[1]) - places, places


def shown(value: float, form: str, kind: type) -> float:
    """What a wheel shows of a value, and writes when an arrow is clicked: it has no other digits."""
    whole, places = wheel(form, kind)
    return float(f"{abs(value) % 10**whole:.{places}f}") * (-1 if value < 0 else 1)


def test_the_rules_are_those_by_which_wrong_numbers_were_seen() -> None:
    assert shown(12400.0, "%.9g", float) == 400.0
    assert shown(0.00012345, "%.9g", float) == 0.0
    assert shown(123456, "%d", int) == 23456


def classes() -> Iterator[tuple[str, type[Device]]]:
    for name in camera_names():
        yield name, detector_class(camera_class(name))
    for name, made in SERVICES.items():
        yield name, made()


@pytest.mark.parametrize(
    ("name", "made"), list(classes()), ids=lambda each: each if isinstance(each, str) else ""
)
def test_every_number_that_can_be_set_has_all_its_digits_on_a_wheel(name: str, made: type[Device]) -> None:
    numbers = 0
    for attribute_name, declared in attributes_of(made).items():
        kind = {tango.CmdArgType.DevDouble: float, tango.CmdArgType.DevLong64: int}.get(declared.attr_type)
        if declared.attr_write is tango.AttrWriteType.READ or kind is None:
            continue
        options = declared._kwargs
        form, greatest, least = (options.get(key) for key in ("format", "max_value", "min_value"))
        for value in (greatest, least, 9_999_999_999 if greatest is None else None):
            if value is not None:
                assert shown(value, form, kind) == value, (attribute_name, form, value)
        if kind is float and (greatest is None or greatest >= 1):
            assert shown(0.000012345, form, kind) == 0.000012345, (attribute_name, form)
        numbers += 1
    assert numbers or name == "PenstockPipeline"


@pytest.mark.parametrize(
    ("name", "made"), list(classes()), ids=lambda each: each if isinstance(each, str) else ""
)
def test_texts_for_programs_alone_are_for_experts(name: str, made: type[Device]) -> None:
    found = {
        attribute_name
        for attribute_name, declared in attributes_of(made).items()
        if declared.display_level is tango.DispLevel.EXPERT
    }
    assert found == EXPERT.get(name, EXPERT["detector"])


@pytest.mark.parametrize(
    ("default", "limits", "form"),
    [
        (0.0, Limits(), "%19.9f"),
        (0.0, Limits(0.0, None), "%19.9f"),
        (0.0, Limits(0.0, 1e6), "%16.9f"),
        (0.0, Limits(-1234.5, 9.0), "%13.9f"),
        (0.0, Limits(0.0, 1e-3), "%10.9f"),
        (0, Limits(0, None), "%10d"),
        (0, Limits(1, 2**31 - 1), "%10d"),
        (0, Limits(1, 1000), "%4d"),
        (0, Limits(-100, 7), "%3d"),
    ],
)
def test_the_format_follows_from_the_limits(default: Value, limits: Limits, form: str) -> None:
    assert tango_format(Parameter(name="Gain", default=default, doc="", limits=limits)) == form


def test_what_is_only_read_keeps_its_format_and_a_camera_files_own_still_loads() -> None:
    assert (
        tango_format(Parameter(name="Gain", default=1.0, doc="", format="%4.1f", writable=False)) == "%4.1f"
    )
    assert tango_format(Parameter(name="Gain", default=1.0, doc="", writable=False)) == "%.9g"
    assert tango_format(Parameter(name="Gain", default=1.0, doc="", format="%.7g")) == "%19.9f"
    assert tango_format(Parameter(name="Gain", default="low", doc="")) == ""


def attributes_of(made: type[Device]) -> dict[str, attribute]:
    """The declarations of a class, by name."""
    found: dict[str, attribute] = made.TangoClassClass.attr_list
    return found
