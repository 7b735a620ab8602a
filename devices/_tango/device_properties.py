"""The properties of our Tango classes: read as text, and checked in one place before anything uses them.

Tango converts a property's text itself where a device is made, and a mistyped number costs the device, or the
whole server. So the classes of this package read the texts of the database themselves (`CheckedProperties`):
what is wrong with one is the sentence of the device's FAULT, and the same sentence is what
`penstock device --register` and `penstock register` answer.
"""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, NamedTuple
from urllib.parse import urlsplit

import tango
from tango.server import Device, device_property

from penstock.devices._tango.limits_in_words import number_of
from penstock.devices._tango.tango_text import tango_status
from penstock.hosts.version import version
from penstock.streamer.camera.settings import Parameter, Value

log = logging.getLogger(__name__)

NEAR = 0.8
"""Likeness, 0 to 1, of a name to one of ours, from which it is taken for a slip of the keyboard."""
WORDS: Mapping[str, bool] = {"true": True, "1": True, "false": False, "0": False}
"""What Tango writes of a boolean, in any case."""
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_HOST = re.compile(r"[0-9A-Za-z_](?:[0-9A-Za-z_.-]*[0-9A-Za-z_])?|[0-9A-Fa-f:.%a-z]*:[0-9A-Fa-f:.%a-z]*")
"""A name, an address of IPv4, or one of IPv6."""
_KINDS: Mapping[type, str] = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
DOCUMENTATION = "docs/reference/tango.md of Penstock's source"
"""What of it says what our devices do."""
HEALED_BY = "then call Init"


class PropertyRefused(Exception):
    """A property cannot have this value; the sentence says which it can have."""

    kind = "broken"


class Address(NamedTuple):
    """What a property that is an address must look like."""

    of: str
    """What is there."""
    example: str
    schemes: tuple[str, ...] = ("http", "https")


ADDRESSES: Mapping[str, Address] = {
    "ReceiverUrl": Address("its receiver's HTTP API", "http://daq-1:5000"),
    "PipelineUrl": Address("the pipeline's HTTP API", "http://daq-1:5100"),
    "ControlUrl": Address("the control of its programs on Kubernetes", "http://eiger-control:5300"),
    "StreamerControl": Address("a streamer on another host", "tcp://dcu-1:9998", ("tcp",)),
}
"""Addresses that are properties, by the name of the property."""


def property_value(parameter: Parameter, lines: Sequence[str]) -> Value:
    """Return the value of a property in the parameter's type.

    Args:
        parameter: the declaration.
        lines: as in Tango's database: Jive writes a list one entry per line; none for the default.

    Raises:
        PropertyRefused: it cannot have this value.
    """
    name = parameter.name
    texts = [text for line in lines if (text := line.strip())]
    if not lines:
        if parameter.required:
            raise PropertyRefused(f"the property {name} is not set; {_right(parameter)}")
        return parameter.default
    if len(texts) > 1 and not parameter.is_list:
        raise PropertyRefused(f"the property {name} has {len(texts)} lines; {_right(parameter)}, in one line")
    text = " ".join(texts)
    kind = type(parameter.default)
    value = _VALUES[kind](text)
    if value is None or not _is_right(parameter, value):
        shown = f'is "{text}"' if text else "is empty"
        raise PropertyRefused(f"the property {name} {shown}; {_right(parameter)}")
    return value


def _whole(text: str) -> int | None:
    return int(text) if _WHOLE.fullmatch(text) else None


_VALUES: Mapping[type, Callable[[str], Value | None]] = {
    bool: lambda text: WORDS.get(text.lower()),
    int: _whole,
    float: number_of,
    str: str,
}


def _is_right(parameter: Parameter, value: Value) -> bool:
    if isinstance(value, str):
        if parameter.choices and value not in parameter.choices:
            return False
        if not value:
            return not parameter.required
        address = ADDRESSES.get(parameter.name)
        return address is None or is_address(value, address)
    least, greatest = parameter.limits.minimum, parameter.limits.maximum
    return (least is None or value >= least) and (greatest is None or value <= greatest)


def is_address(text: str, address: Address) -> bool:
    """Return whether a text can be such an address."""
    try:
        parts = urlsplit(text)
        has_port = parts.port != 0 and (parts.port is not None or "tcp" not in address.schemes)
        is_bare = not (parts.query or parts.fragment) and bool(_HOST.fullmatch(parts.hostname or ""))
        return parts.scheme in address.schemes and is_bare and has_port
    except ValueError:
        return False


def _right(parameter: Parameter) -> str:
    """Return what would be right, as a request."""
    if address := ADDRESSES.get(parameter.name):
        otherwise = "" if parameter.required else ', or "" for none'
        return f"set it to the address of {address.of}, such as {address.example}{otherwise}"
    if parameter.required:
        return f"set it to the {parameter.doc[:1].lower()}{parameter.doc[1:].rstrip('.')}"
    if parameter.choices:
        return f"choose {', '.join(parameter.choices)}"
    kind = type(parameter.default)
    between = "" if kind is bool else _between(parameter)
    default = f'"{parameter.default}"' if kind is str else str(parameter.default)
    return f"give {_KINDS[kind]}{between}, or delete it for {default.lower() if kind is bool else default}"


def _between(parameter: Parameter) -> str:
    unit = f" {parameter.unit}" if parameter.unit else ""
    least, greatest = (
        None if end is None else f"{end:.12g}" for end in (parameter.limits.minimum, parameter.limits.maximum)
    )
    if least is None and greatest is None:
        return f" in {parameter.unit}" if unit else ""
    if least is None:
        return f" up to {greatest}{unit}"
    return f" of {least}{unit} or more" if greatest is None else f" from {least} to {greatest}{unit}"


class CheckedProperties(Device):
    """A Tango device whose properties are read as text: `init_device` never raises because of one.

    With a wrong one State is FAULT, and Status says what is right, until the next Init.
    """

    checked: ClassVar[tuple[Parameter, ...]] = ()
    """Declarations of all its properties."""
    has_wrong_property = False
    broken = ""
    """Why State is FAULT whatever the device follows: the sentence for Status; "" if it is not."""

    def get_device_properties(self, ds_class: tango.DeviceClass | None = None) -> None:
        """Read and check the properties; one that cannot be used has its default."""
        values: dict[str, Value] = {each.name: each.default for each in self.checked}
        problems = []
        try:
            lines = _in_database(self.get_name(), list(values))
            self._warn_of_misspelt(list(values))
        except tango.DevFailed as error:
            lines = {}
            problems.append(
                f"the Tango database does not say this device's properties "
                f"({' '.join(error.args[0].desc.split())}); wait until it answers"
            )
        else:
            for parameter in self.checked:
                try:
                    values[parameter.name] = property_value(parameter, lines.get(parameter.name, ()))
                except PropertyRefused as refused:
                    problems.append(str(refused))
        self._tango_properties.update(values)
        self.add_version_info("Penstock", version())
        self.add_version_info("Penstock.documentation", DOCUMENTATION)
        self.has_wrong_property = bool(problems)
        self.broken = f"{self.get_name()}: {'; '.join(problems)}; {HEALED_BY}." if problems else ""
        if problems:
            log.error("%s", self.broken)

    def _warn_of_misspelt(self, names: list[str]) -> None:
        """Warn in the log of properties in the database that nobody reads, if one of ours may be meant."""
        if not tango.Util._UseDb or tango.Util._FileDb:
            return
        database = tango.Util.instance().get_database()
        for given in database.get_device_property_list(self.get_name(), "*").value_string:
            known = {name.lower(): name for name in names}
            near = difflib.get_close_matches(given.lower(), known, n=1, cutoff=NEAR)
            if given.lower() not in known and near:
                log.warning(
                    "%s: there is no property %s; perhaps %s is meant", self.get_name(), given, known[near[0]]
                )

    def refuse_if_broken(self) -> None:
        """Refuse a command.

        Raises:
            PropertyRefused: State is FAULT because of `broken`.
        """
        if self.broken:
            raise PropertyRefused(self.broken)

    def dev_state(self) -> tango.DevState:
        """Return FAULT, or the state of what the device follows."""
        return tango.DevState.FAULT if self.broken else self.followed_state()

    def dev_status(self) -> str:
        """Return the sentence that explains the state."""
        return tango_status(self.broken or self.followed_status())

    def followed_state(self) -> tango.DevState:
        """Return the state of what the device follows."""
        raise NotImplementedError

    def followed_status(self) -> str:
        """Return the sentence that explains it."""
        raise NotImplementedError


def _in_database(device: str, names: list[str]) -> Mapping[str, Sequence[str]]:
    """Return the texts of the properties that are set; none without a database.

    Raises:
        tango.DevFailed: the database does not answer.
    """
    if not tango.Util._UseDb:
        return {}
    found = tango.Util.instance().get_database().get_device_property(device, names)
    return {name: list(texts) for name, texts in found.items()}


def declared(parameter: Parameter) -> device_property:
    """Return the Tango property of a parameter, for the class's list, which wizards show."""
    required = "Required. " if parameter.required else ""
    unit = f" Unit: {parameter.unit}." if parameter.unit else ""
    return device_property(
        dtype=type(parameter.default), default_value=parameter.default,
        doc=f"{required}{parameter.doc}{unit}",
    )  # fmt: skip
