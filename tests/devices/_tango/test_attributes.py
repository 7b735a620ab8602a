"""What a parameter declares is what Tango is told: the tables are checked one by one."""

from __future__ import annotations

import pytest
import tango

from penstock.devices._detector.detector_class import detector_class
from penstock.devices._series.settings import ValueRefused
from penstock.devices._tango import attributes
from penstock.devices._tango.attributes import attribute_options, check_value, limit_options
from penstock.devices.simulator import Simulator
from penstock.streamer.camera.settings import STANDARD, Limits, Parameter


def test_every_type_of_a_parameter_has_its_tango_type() -> None:
    assert dict(attributes.TANGO_TYPE) == {
        bool: tango.CmdArgType.DevBoolean,
        int: tango.CmdArgType.DevLong64,
        float: tango.CmdArgType.DevDouble,
        str: tango.CmdArgType.DevString,
    }


def test_each_limit_goes_to_the_option_of_its_own_name() -> None:
    # One model of this field maps the greatest value to the least alarm; so all four letters count.
    assert dict(attributes.LIMIT_OPTION) == {"minimum": "min_value", "maximum": "max_value"}
    assert set(attributes.LIMIT_OPTION) == set(Limits.__struct_fields__)


@pytest.mark.parametrize(
    ("limits", "kind", "options"),
    [
        (Limits(1, 5), float, {"min_value": 1.0, "max_value": 5.0}),
        (Limits(1, 5), int, {"min_value": 1, "max_value": 5}),
        (Limits(0.0, None), float, {"min_value": 0.0}),
        (Limits(None, 7), int, {"max_value": 7}),
        (Limits(), float, {}),
        (Limits(0, 1), bool, {}),
        (Limits(0, 1), str, {}),
    ],
)
def test_limits_become_options(limits: Limits, kind: type, options: dict[str, float]) -> None:
    assert limit_options(limits, kind) == options


def test_a_declaration_reaches_tango_whole() -> None:
    parameter = Parameter(
        name="Threshold", default=5.0, doc="Of the counter.", unit="eV", limits=Limits(2.0, 9.0),
        format="%.7g", memorized=True,
    )  # fmt: skip
    assert attribute_options(parameter) == {
        "name": "Threshold", "label": "Threshold", "dtype": tango.CmdArgType.DevDouble, "unit": "eV",
        "format": "%10.9f", "min_value": 2.0, "max_value": 9.0, "doc": "Of the counter.",
        "memorized": True, "hw_memorized": True, "access": tango.AttrWriteType.READ_WRITE,
        "change_event_implemented": True, "change_event_detect": False,
        "archive_event_implemented": True, "archive_event_detect": True,
    }  # fmt: skip


@pytest.mark.parametrize("form", ["%6.2f", "%8.6f", "%.5g", "%g", "%.3e", "%d"])
def test_a_format_that_rounds_what_can_be_set_is_refused(form: str) -> None:
    with pytest.raises(ValueError, match=f'Gain: the format "{form}" rounds what a client has set'):
        Parameter(name="Gain", default=1.0, doc="Of a new camera.", format=form)
    assert Parameter(name="Gain", default=1.0, doc="", format=form, writable=False).format == form


@pytest.mark.parametrize("value", [0.18734, 512.123, 1.23456e-5, 12658.2278, -20.05, 1 / 3, 2e-5 / 3, 0.0])
def test_what_any_display_makes_of_a_value_asks_for_no_change(value: float) -> None:
    parameter = Parameter(name="Gain", default=1.0, doc="Of a new camera, without a format.")
    form = attribute_options(parameter)["format"]
    assert form == "%19.9f"
    jive, taurus = float(form % value), float(f"{value:.9f}")
    for written in (value, jive, taurus):
        assert attributes.is_as_displayed(parameter, written, value)
    assert not attributes.is_as_displayed(parameter, value * 1.001 + 1e-12, value)
    shown = attributes.as_displayed(parameter, value)
    assert shown == float(form % shown) == float(f"{shown:.9f}")


def test_what_can_only_be_read_has_no_limits_and_no_memory() -> None:
    parameter = Parameter(
        name="Temperature", default=1.0, doc="x", limits=Limits(0.0, 1.0), memorized=True, writable=False
    )
    options = attribute_options(parameter)
    assert options["access"] is tango.AttrWriteType.READ
    assert not {"min_value", "max_value", "memorized", "hw_memorized"} & set(options)


def test_choices_stand_in_the_documentation_and_are_enforced() -> None:
    parameter = Parameter(name="Gain", default="low", doc="Amplifier.", choices=("low", "high"))
    assert attribute_options(parameter)["doc"] == "Amplifier. One of: low, high."
    assert check_value(parameter, "high") == "high"
    with pytest.raises(ValueRefused, match='Gain has no choice "mid"; choose low, high'):
        check_value(parameter, "mid")


def test_a_class_is_generated_for_each_camera() -> None:
    made = detector_class(Simulator)
    assert made.__name__ == made.TangoClassName == "Simulator"
    declared = set(made.TangoClassClass.attr_list)
    for parameter in (*STANDARD, *Simulator.parameters):
        assert parameter.name in declared
    shown = "FrameTime FrameRate ReadoutTime nFramesAcquired nFramesReceived nFramesWritten nFramesMissing"
    assert set(shown.split()) <= declared
    assert {"ReadyForSwTrigger", "TriggerModes", "LiveImage", "SerialNumber"} <= declared
    commands = set(made.TangoClassClass.cmd_list)
    wanted = "Arm Stop SoftwareTrigger Trigger Abort Live Continuous RestartReceiver Reset"
    assert set(wanted.split()) <= commands
    properties = set(made.TangoClassClass.device_property_list)
    assert {"ReceiverUrl", "StreamerControl", "DataPort"} <= properties
    assert {parameter.name for parameter in Simulator.properties} <= properties
