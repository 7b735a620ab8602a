"""The Tango classes of cameras, generated from the cameras' declarations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import tango
from tango.server import command

from penstock.devices._detector.detector import IDENTITY, PROPERTIES, Detector
from penstock.devices._detector.parameter_list import ATTRIBUTE as PARAMETERS
from penstock.devices._detector.streamer_link import streamer_properties
from penstock.devices._detector.view_attributes import view_parameters
from penstock.devices._series.refusals import ArmRefused
from penstock.devices._series.settings import DEVICE_SETTINGS, PERIOD_ATTRIBUTES
from penstock.devices._tango.attributes import declare
from penstock.devices._tango.device_properties import declared
from penstock.devices._tango.faults import as_tango_error
from penstock.devices._tango.tango_text import tango_json
from penstock.streamer.camera.features import HasFeatures
from penstock.streamer.camera.own_stream import StreamingDetector
from penstock.streamer.camera.settings import STANDARD, Parameter, Value
from penstock.streamer.camera.unit import Unit


@command(dtype_out=str, doc_out="JSON list of objects, as GetFeature returns one")
def ListFeatures(self: Detector) -> str:
    """Return the features of the camera that no attribute declares, with values, limits and choices."""
    with as_tango_error("ListFeatures"):
        return tango_json(self.features.list())


@command(
    dtype_in=str, doc_in="name of the feature", dtype_out=str,
    doc_out="JSON object: name, kind, value, writable, set_by, unit, limits, choices, doc, group",
)  # fmt: skip
def GetFeature(self: Detector, name: str) -> str:
    """Return one feature of the camera as it is now."""
    with as_tango_error("GetFeature"):
        return tango_json(self.features.get(name))


@command(
    dtype_in=(str,), doc_in="name and value; a command has no value", dtype_out=str,
    doc_out="JSON object as of GetFeature, with the value that the camera has made of it",
)  # fmt: skip
def SetFeature(self: Detector, name_and_value: Sequence[str]) -> str:
    """Set a feature of the camera, or execute a command of it; in the state ON only."""
    with as_tango_error("SetFeature"):
        if len(name_and_value) not in (1, 2):
            raise ArmRefused(
                "wrong_arguments", f"SetFeature takes a name and a value, not {len(name_and_value)} texts"
            )
        name, value = (*name_and_value, "")[:2]
        return tango_json(self.features.set(name, value))


COMMANDS: Mapping[str, Any] = {each.__name__: each for each in (ListFeatures, GetFeature, SetFeature)}
"""The commands by name, as members of a class."""


def detector_class(camera: type[Unit]) -> type[Detector]:
    """Return the Tango class of a camera, with the camera's name.

    Its attributes are the standard parameters, those of the device and of the camera, and the values that
    every series has; its device properties are those of the camera, of its streamer and of `Detector`.
    """
    mine = camera.parameters
    if issubclass(camera, StreamingDetector):
        # The box keeps its settings; Tango must not overwrite them with outdated memorized values.
        mine = tuple(msgspec.structs.replace(parameter, memorized=False) for parameter in mine)
    own = {parameter.name: parameter for parameter in (*STANDARD, *DEVICE_SETTINGS, *mine)}
    body: dict[str, Any] = {
        "__doc__": camera.__doc__,
        "__module__": camera.__module__,
        "camera": camera,
        "parameters": own,
    }
    for parameter in (*camera.properties, *streamer_properties(camera)):
        body[parameter.name] = declared(parameter)
    body["checked"] = (*PROPERTIES, *camera.properties, *streamer_properties(camera))
    identity = [
        msgspec.structs.replace(parameter, writable=False)
        for parameter in camera.properties
        if parameter.name in IDENTITY
    ]
    shown = [
        *own.values(),
        *PERIOD_ATTRIBUTES,
        *identity,
        PARAMETERS,
        *view_parameters(camera),
    ]
    for parameter in shown:
        body.update(_attribute_body(parameter))
    if issubclass(camera, HasFeatures):
        body |= COMMANDS
    return type(camera.__name__, (Detector,), body)


def _attribute_body(parameter: Parameter) -> dict[str, Any]:
    """Return the attribute and its methods, as members of the class."""
    name = parameter.name
    hooks = {"fget": f"_read_{name}"}
    body: dict[str, Any] = {hooks["fget"]: _reader(name)}
    if parameter.writable:
        hooks["fset"] = f"_write_{name}"
        body[hooks["fset"]] = _writer(name)
        if parameter not in DEVICE_SETTINGS:
            hooks["fisallowed"] = f"_allow_{name}"
            body[hooks["fisallowed"]] = _gate(name)
    # Not under its own name: a device property may have the same name (ReadoutTime).
    body[f"attribute_{name}"] = declare(parameter, **hooks)
    return body


def _reader(name: str) -> Callable[[Detector], Any]:
    def read(self: Detector) -> Any:  # the value, or (value, time, quality)
        return self.read_value(name)

    return read


def _writer(name: str) -> Callable[[Detector, Value], None]:
    def write(self: Detector, value: Value) -> None:
        self.write_value(name, value)

    return write


def _gate(name: str) -> Callable[[Detector, tango.AttReqType], bool]:
    def allowed(self: Detector, request: tango.AttReqType) -> bool:
        return request != tango.AttReqType.WRITE_REQ or self.write_allowed(name)

    return allowed
