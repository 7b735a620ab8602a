"""Every property of every class, with what somebody may mistype in Jive."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from penstock.devices._server.registry import camera_names
from penstock.devices._server.server import server_classes, server_names
from penstock.devices._tango.device_properties import ADDRESSES, PropertyRefused, property_value
from penstock.streamer.camera.settings import Limits, Parameter, Value

TEXTS = (
    "",
    "abc",
    "29961.0",
    "-5",
    "99999999999999999999",
    "1e400",
    "nan",
    "None",
    "tcp://",
    "http://:1",
    "ü",
)
"""What no property takes, but for those that are any text."""


def properties() -> Iterator[tuple[str, Parameter]]:
    for server in server_names():
        for kind in server_classes(server):
            for parameter in kind.checked:
                yield f"{server}.{kind.__name__}.{parameter.name}", parameter


@pytest.mark.parametrize(
    "parameter", [each for _, each in properties()], ids=[name for name, _ in properties()]
)
def test_every_property_says_of_any_text_what_is_right(parameter: Parameter) -> None:
    kind = type(parameter.default)
    is_any_text = kind is str and not parameter.choices and parameter.name not in ADDRESSES
    for text in TEXTS:
        value, sentence = answer(parameter, text)
        if is_any_text and (text or not parameter.required):
            assert value == text
        elif value is None:
            shown = f'is "{text}"' if text else "is empty"
            assert re.match(f"the property {parameter.name} {shown}; (give|choose|set it to) .", sentence)
        elif kind is str:
            assert text in ("", *parameter.choices)
        else:
            assert type(value) is kind and is_within(value, parameter.limits)


def answer(parameter: Parameter, text: str) -> tuple[Value | None, str]:
    """The value of a property, or why it has none."""
    try:
        return property_value(parameter, [text]), ""
    except PropertyRefused as refused:
        return None, str(refused)


def is_within(value: Value, limits: Limits) -> bool:
    assert isinstance(value, int | float)
    return not (limits.minimum is not None and value < limits.minimum) and not (
        limits.maximum is not None and value > limits.maximum
    )


@pytest.mark.parametrize(
    "parameter", [each for _, each in properties()], ids=[name for name, _ in properties()]
)
def test_the_default_and_what_is_written_of_it_are_right(parameter: Parameter) -> None:
    if parameter.name in ("ReceiverUrl", "PipelineUrl", "Host"):
        with pytest.raises(PropertyRefused, match=f"the property {parameter.name} is not set; set it to the"):
            property_value(parameter, [])
        return
    assert property_value(parameter, []) == parameter.default
    assert property_value(parameter, [f" {parameter.default}\t"]) == parameter.default


@pytest.mark.parametrize(
    ("name", "lines", "value"),
    [
        ("DataPort", ["+8"], 8),
        ("ReceiverUrl", ["http://daq-1:5000"], "http://daq-1:5000"),
        ("ReceiverUrl", ["https://daq-1.example.org/penstock"], "https://daq-1.example.org/penstock"),
        ("ReceiverUrl", ["http://[::1]:5000"], "http://[::1]:5000"),
        ("StreamerControl", ["tcp://dcu-1:9998"], "tcp://dcu-1:9998"),
        ("StreamerControl", [""], ""),
        ("LiveImageRate", ["2e0"], 2.0),
        ("ShownFeatures", ["BlackLevel", "", " DeviceUserID "], "BlackLevel DeviceUserID"),
        ("ShownFeatures", ["BlackLevel, DeviceUserID"], "BlackLevel, DeviceUserID"),
        ("UdpSource", ["10.1.1.1", "10.1.1.2"], "10.1.1.1 10.1.1.2"),
        ("PacketResend", ["FALSE"], False),
        ("PacketResend", ["1"], True),
    ],
)
def test_what_is_right_is_taken(name: str, lines: list[str], value: Value) -> None:
    assert property_value(declared(name), lines) == value


@pytest.mark.parametrize(
    ("name", "lines", "sentence"),
    [
        ("DataPort", ["abc"], 'is "abc"; give a whole number from 0 to 65535, or'),
        ("DataPort", ["29961.0"], 'is "29961.0"; give a whole number from 0 to 65535, or'),
        ("DataPort", ["99999999"], 'is "99999999"; give a whole number from 0 to 65535, or'),
        ("DataPort", [""], "is empty; give a whole number from 0 to 65535, or"),
        ("DataPort", ["1", "2"], "has 2 lines; give a whole number from 0 to 65535, or"),
        ("BuffersMB", ["100000000"], 'is "100000000"; give a whole number from 1 to 1000000 MB, or'),
        ("LiveImageRate", ["0"], 'is "0"; give a number from 0.01 to 100 Hz, or delete it for 5.0'),
        ("LiveImageRate", ["-3"], 'is "-3"; give a number from 0.01 to 100 Hz, or delete it for 5.0'),
        ("PacketResend", ["maybe"], 'is "maybe"; give true or false, or delete it for true'),
        ("StreamerControl", ["garbage"],
         'is "garbage"; set it to the address of a streamer on another host, such as tcp://'),
        ("StreamerControl", ["tcp://dcu-1"],
         'is "tcp://dcu-1"; set it to the address of a streamer on another host, such as tcp://'),
        ("ReceiverUrl", [""], "is empty; set it to the address of its receiver's HTTP API, such as"),
        ("ReceiverUrl", ["None"], 'is "None"; set it to the address of its receiver\'s HTTP API, such as'),
        ("ReceiverUrl", ["http://a b:5000"], 'is "http://a b:5000"; set it to the address of'),
        ("ReceiverUrl", ["http://.:5000"], 'is "http://.:5000"; set it to the address of'),
        ("ReceiverUrl", ["http://h:5000/x?y"], 'is "http://h:5000/x?y"; set it to the address of'),
        ("PixelType", ["float16"], 'is "float16"; choose '),
        ("Host", [""], "is empty; set it to the name or address of the control unit"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_what_is_right(name: str, lines: list[str], sentence: str) -> None:
    with pytest.raises(PropertyRefused) as refused:
        property_value(declared(name), lines)
    assert str(refused.value).startswith(f"the property {name} {sentence}")


def declared(name: str) -> Parameter:
    """The declaration of a property of this name, of any class."""
    return next(parameter for _, parameter in properties() if parameter.name == name)


def test_all_cameras_are_among_the_servers() -> None:
    assert set(camera_names()) < set(server_names())
