"""The features of a camera: what its GenICam description (XML) offers, with limits and choices.

Names and categories: "GenICam Standard Features Naming Convention" (SFNC) 2.7; the kinds of nodes: "GenICam
Standard" (GenApi) 2.1, section 2.8.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from ctypes import c_int64
from math import isfinite
from typing import Any
from xml.etree import ElementTree

from penstock.devices._genicam.aravis import pair, xml
from penstock.devices._genicam.device import Device
from penstock.streamer.camera.features import Feature
from penstock.streamer.camera.settings import Limits, Value
from penstock.streamer.camera.unit import CameraError

KIND_OF_NODE = {
    **dict.fromkeys(("Integer", "IntReg", "MaskedIntReg", "IntSwissKnife", "IntConverter"), "integer"),
    **dict.fromkeys(("Float", "FloatReg", "SwissKnife", "Converter"), "float"),
    **dict.fromkeys(("String", "StringReg"), "string"),
    "Boolean": "boolean", "Enumeration": "enumeration", "Command": "command",
}  # fmt: skip
WRITABLE = (1, 2)
"""ARV_GC_ACCESS_MODE_WO, _RW (arvgcenums.h:61-66)."""
UNLIMITED = 2**53
"""A bound beyond this is that of the number's own type, and none of the camera."""
WORDS = {"true": True, "1": True, "on": True, "false": False, "0": False, "off": False}

SET_BY = {
    "Width": "AOIWidth", "Height": "AOIHeight", "OffsetX": "AOILeft", "OffsetY": "AOITop",
    "PixelFormat": "PixelFormat", "PixelSize": "PixelFormat", "PixelCoding": "PixelFormat",
    **dict.fromkeys(("ExposureTime", "ExposureTimeAbs", "ExposureTimeRaw", "ExposureAuto"), "ExposureTime"),
    **dict.fromkeys(("Gain", "GainAbs", "GainRaw", "GainAuto", "GainSelector"), "Gain"),
    **dict.fromkeys(
        (
            "AcquisitionFrameRate", "AcquisitionFrameRateAbs", "AcquisitionFrameRateRaw",
            "AcquisitionFrameRateEnable", "AcquisitionFrameRateEnabled",
        ),
        "FrameTime",
    ),
    **dict.fromkeys(("TriggerMode", "TriggerSelector", "TriggerSoftware"), "TriggerMode"),
    "TriggerSource": "TriggerSource", "GevSCPSPacketSize": "PacketSize", "GevSCPD": "PacketDelay",
    **dict.fromkeys(
        (
            "AcquisitionMode", "AcquisitionStart", "AcquisitionStop", "AcquisitionAbort", "AcquisitionArm",
            "ExposureMode", "TriggerDelay", "TriggerDelayAbs", "TriggerDivider", "TriggerMultiplier",
            "ChunkModeActive", "PayloadSize", "TLParamsLocked",
            "GevSCDA", "GevSCPHostPort", "GevSCPSFireTestPacket", "GevCCP",
        ),
        "Arm",
    ),
}  # fmt: skip
"""Attribute or command that sets a feature in its place; all others can be set."""


def set_by(name: str) -> str:
    """Return the attribute or command that sets a feature; "" if none does."""
    return SET_BY.get(name, "")


class Features:
    """The features of one open camera.

    Args:
        device: the camera.

    Raises:
        CameraError: it has no description that can be read.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        try:
            root = ElementTree.fromstring(xml(device.lib, device.handle))
        except ElementTree.ParseError as error:
            raise CameraError(f"the GenICam description of {device.name} cannot be read: {error}") from error
        self._nodes = {node.get("Name", ""): node for node in root.iter() if _tag(node) in KIND_OF_NODE}
        self._groups = {
            feature: category.get("Name", "")
            for category in root.iter()
            if _tag(category) == "Category"
            for feature in _texts(category, "pFeature")
        }

    def list(self) -> list[Feature]:
        """Return all that are in a category and available now."""
        return [self._feature(name) for name in self._groups if name in self._nodes and self._available(name)]

    def get(self, name: str) -> Feature:
        """Return one feature; see `HasFeatures`."""
        if name not in self._nodes or not self._available(name):
            near = difflib.get_close_matches(name, self._groups, 3, 0.5)
            raise CameraError(
                f"this camera has no feature {name}; "
                + (f"perhaps {' or '.join(near)} is meant" if near else "ListFeatures lists them")
            )
        return self._feature(name)

    def set(self, name: str, value: Value) -> Feature:
        """Set one feature; see `HasFeatures`."""
        if (owner := set_by(name)) == "Arm":
            raise CameraError(f"{name} is set by Arm, for each series; it cannot be set here")
        if owner:
            raise CameraError(f"{name} is set by the attribute {owner}; write that")
        feature = self.get(name)
        if not feature.writable:
            raise CameraError(f"{name} can only be read, with the camera's present settings")
        if feature.kind == "command":
            self._device.lib.camera_execute_command(self._device.camera, name.encode())
        elif feature.choices and str(value) not in feature.choices:
            raise CameraError(f'{name} has no choice "{value}"; choose {", ".join(feature.choices)}')
        else:
            put, kind = self._setter(feature.kind)
            put(self._device.camera, name.encode(), _typed(feature, value, kind))
        self._device.learn()
        return self._feature(name)

    def _available(self, name: str) -> bool:
        return bool(self._device.lib.camera_is_feature_available(self._device.camera, name.encode()))

    def _feature(self, name: str) -> Feature:
        node, lib = self._nodes[name], self._device.lib
        kind = KIND_OF_NODE[_tag(node)]
        writable = lib.device_get_feature_access_mode(self._device.handle, name.encode()) in WRITABLE
        limits, choices = Limits(), ()
        if kind in ("integer", "float") and writable:
            limits = self._limits(name, kind)
        if kind == "enumeration":
            choices = self._ask(
                lambda: lib.strings(
                    lib.camera_dup_available_enumerations_as_strings, self._device.camera, name.encode()
                ),
                (),
            )
        return Feature(
            name=name, kind=kind, value=None if kind == "command" else self._value(name, kind),
            writable=writable, set_by=set_by(name), unit=next(_texts(node, "Unit"), ""), limits=limits,
            choices=choices, doc=" ".join(next(_texts(node, "Description", "ToolTip"), "").split()),
            group=self._groups.get(name, ""),
        )  # fmt: skip

    def _value(self, name: str, kind: str) -> Value | None:
        lib = self._device.lib
        read: Callable[[int, bytes], Any] = {
            "integer": lib.camera_get_integer, "float": lib.camera_get_float,
            "boolean": lib.camera_get_boolean,
        }.get(kind, lib.camera_get_string)  # fmt: skip
        value = self._ask(lambda: read(self._device.camera, name.encode()), None)
        if isinstance(value, bytes):
            return value.decode(errors="replace")
        return bool(value) if kind == "boolean" and value is not None else value

    def _limits(self, name: str, kind: str) -> Limits:
        lib = self._device.lib
        ask, number = (
            (lib.camera_get_integer_bounds, c_int64)
            if kind == "integer"
            else (lib.camera_get_float_bounds, None)
        )
        keys = {"kind": number} if number else {}
        low, high = self._ask(lambda: pair(ask, self._device.camera, name.encode(), **keys), (None, None))
        return Limits(*(None if each is None or abs(each) > UNLIMITED else each for each in (low, high)))

    def _setter(self, kind: str) -> tuple[Callable[..., None], type]:
        lib = self._device.lib
        return {
            "integer": (lib.camera_set_integer, int), "float": (lib.camera_set_float, float),
            "boolean": (lib.camera_set_boolean, bool),
        }.get(kind, (lib.camera_set_string, str))  # fmt: skip

    @staticmethod
    def _ask(ask: Callable[[], Any], otherwise: Any) -> Any:
        try:
            return ask()
        except CameraError:
            return otherwise


def _typed(feature: Feature, value: Value, kind: type) -> Any:
    """Return a value as the library takes it.

    Raises:
        CameraError: it is none of the feature's type.
    """
    try:
        if kind is bool:
            return int(value) if isinstance(value, bool) else int(WORDS[str(value).strip().lower()])
        if kind is int:
            return _in_64_bits(int(str(value), 0))
        return str(value).encode() if kind is str else _finite(float(value))
    except (KeyError, ValueError) as error:
        raise CameraError(f"{feature.name} is of type {feature.kind}, and {value!r} is not") from error


def _in_64_bits(number: int) -> int:
    """Return a number; ctypes would pass the lower 64 bits of a greater one."""
    if not -(2**63) <= number < 2**63:
        raise ValueError(number)
    return number


def _finite(number: float) -> float:
    """Return a number; one that is none passes every check of limits."""
    if not isfinite(number):
        raise ValueError(number)
    return number


def _tag(node: ElementTree.Element) -> str:
    return node.tag.rpartition("}")[2]


def _texts(node: ElementTree.Element, *tags: str) -> Iterator[str]:
    """Yield the texts of the children with one of these tags, in the order of the tags."""
    for tag in tags:
        yield from (child.text or "" for child in node if _tag(child) == tag)


def names_of(text: str) -> Sequence[str]:
    """Return the names in the property ShownFeatures."""
    return text.replace(",", " ").split()
