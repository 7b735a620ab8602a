"""What macros print about a detector, in 80 columns."""

from __future__ import annotations

import difflib
import json
import textwrap
from collections.abc import Iterator
from typing import Any, Final

import tango

from penstock.sardana.channel.client import ACTIVE, ChannelClient, NotReady, sentence
from penstock.sardana.channel.sentences import limits, outside_limits
from penstock.stins.texts import plural

WIDTH: Final = 80
NAME: Final = 28
"""Columns for the name of a parameter."""


class NoSuchValue(Exception):
    """A parameter or a value that cannot be set; the sentence has the remedy."""


def status_lines(channel: ChannelClient) -> Iterator[str]:
    """Yield state, series, frames, file, the device's own sentence, and what would prevent a scan."""
    try:
        device = channel.detector
        state, status = device.state(), device.status()
        series, file = device.SeriesId, device.FileWritten
        frames = f"{device.nFramesAcquired:,} of {plural(device.nFramesPlanned, 'frame')}"
        armed_by = device.ArmedBy if state in ACTIVE else ""
    except tango.DevFailed as error:
        yield f"{channel.name}  {channel.detector_name}  does not answer"
        yield from _wrapped(channel.sentence_of(error))
        return
    yield f"{channel.name}  {channel.detector_name}  {state}"
    if series:
        yield f"  series  {series}, {frames}"
        yield f"  file    {file or 'none'}"
    if armed_by:
        yield f"  armed   by {armed_by}"
    yield from _wrapped(status)
    if state is tango.DevState.ON:
        try:
            channel.check_ready()
        except NotReady as error:
            yield from _wrapped(f"Not ready for a scan. {error}")


def parameter_lines(device: tango.DeviceProxy) -> Iterator[str]:
    """Yield parameters with value, unit and limits or choices, as the device declares them."""
    entries = json.loads(device.Parameters)
    configuration = {info.name: info for info in device.get_attribute_config([e["name"] for e in entries])}
    group = ""
    for entry in entries:
        if entry["group"] != group:
            group = entry["group"]
            yield f"{group}:"
        info = configuration[entry["name"]]
        unit = "" if info.unit == "No unit" else info.unit
        value = " ".join(part for part in (_text(read(device, entry["name"])), unit) if part)
        yield from _row(entry["name"], value, _range(entry, info))


def write(device: tango.DeviceProxy, name: str, text: str) -> None:
    """Set a parameter from a text.

    Raises:
        NoSuchValue: there is no such parameter, it is read-only, the text is not a valid value, or the device
            refuses it.
    """
    names = {entry["name"].lower(): entry["name"] for entry in json.loads(device.Parameters)}
    if name.lower() not in names:
        near = ", ".join(difflib.get_close_matches(name, names.values()))
        remedy = f"similar ones: {near}" if near else "the macro det_setup shows all"
        raise NoSuchValue(f"{device.dev_name()} has no parameter {name}; {remedy}")
    info = device.get_attribute_config(names[name.lower()])
    if info.writable == tango.AttrWriteType.READ:
        raise NoSuchValue(f"{info.name} can only be read")
    put(device, info.name, _value(info, text), shown_value=text)


def put(device: tango.DeviceProxy, name: str, value: Any, shown: str = "", shown_value: str = "") -> None:
    """Set a parameter.

    Args:
        device: the detector's.
        name: of its attribute.
        value: of the attribute's type.
        shown: what the user calls it, where it is not the attribute's name.
        shown_value: what the user has written.

    Raises:
        NoSuchValue: the device refuses it; the sentence says what is allowed.
    """
    try:
        device.write_attribute(name, value)
    except tango.DevFailed as error:
        why = outside_limits(device, name, error) or sentence(error)
        raise NoSuchValue(f"{shown or name} = {shown_value or _text(value)}: {why}") from error


def read(device: tango.DeviceProxy, name: str) -> Any:
    """Return the value of an attribute; `None` while the device has none."""
    try:
        answer = device.read_attribute(name)
    except tango.DevFailed:
        return None
    return None if answer.quality is tango.AttrQuality.ATTR_INVALID else answer.value


def _value(info: Any, text: str) -> Any:
    kind = info.data_type
    try:
        if kind == tango.CmdArgType.DevBoolean:
            return {"true": True, "1": True, "on": True, "false": False, "0": False, "off": False}[
                text.lower()
            ]
        if kind in (tango.CmdArgType.DevDouble, tango.CmdArgType.DevFloat):
            return float(text)
        if kind != tango.CmdArgType.DevString:
            return int(text)
    except (KeyError, ValueError):
        wanted = "true or false" if kind == tango.CmdArgType.DevBoolean else "a number"
        raise NoSuchValue(f"{info.name} = {text}: write {wanted}") from None
    return text


def _range(entry: dict[str, Any], info: Any) -> str:
    if entry["choices"]:
        return ", ".join(str(choice) for choice in entry["choices"])
    return limits(info)


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _row(name: str, value: str, allowed: str) -> Iterator[str]:
    head = f"  {name:<{NAME}}{value or '-'}"
    if not allowed:
        yield head
    elif len(head) < 50 and len(head) + 2 + len(allowed) <= WIDTH:
        yield f"{head:<48}  {allowed}" if 50 + len(allowed) <= WIDTH else f"{head}  {allowed}"
    else:
        yield head
        yield from textwrap.wrap(
            allowed, WIDTH, initial_indent=" " * (NAME + 2), subsequent_indent=" " * (NAME + 2)
        )


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent="  ", subsequent_indent="  ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
