"""Sentences that scans and macros share."""

from __future__ import annotations

from typing import Any, Final

import tango

OUTSIDE_LIMITS: Final = "API_WAttrOutsideLimit"
NO_LIMIT: Final = "Not specified"


def in_use(detector: str, armed_by: str, status: str) -> str:
    """Return the sentence about somebody else's series, or the channel's own from before a restart."""
    return (
        f"{detector} runs a series of somebody else, or one from before a restart of the Pool, armed by "
        f"{armed_by or 'an unknown client'}: {status} Stop it there, or send the command Stop to {detector}"
    )


def no_files(detector: str, channel: str) -> str:
    """Return the refusal if a file is wanted from a detector that writes none."""
    return (
        f"{detector} writes no files, because its SaveRaw is false; set it to true (det_setup {channel} "
        "SaveRaw true)"
    )


def not_answering(detector: str, why: str = "") -> str:
    """Return the sentence for a detector whose server is away."""
    return (
        f"the detector device {detector} does not answer{f' ({why})' if why else ''}; is its server running?"
    )


def limits(info: Any) -> str:
    """Return the limits in the configuration of an attribute, "1 to 10"; "" for none."""
    low, high = (limit if limit != NO_LIMIT else "" for limit in (info.min_value, info.max_value))
    if low and high:
        return f"{low} to {high}"
    return f"at least {low}" if low else f"at most {high}" if high else ""


def outside_limits(device: tango.DeviceProxy, name: str, error: tango.DevFailed) -> str:
    """Return what is allowed, where Tango itself refused a value; its own sentence does not say.

    Args:
        device: the detector's.
        name: of the attribute.
        error: of the attempt to write it.
    """
    if error.args[0].reason != OUTSIDE_LIMITS:
        return ""
    try:
        info = device.get_attribute_config(name)
    except tango.DevFailed:
        return ""
    unit = f" {info.unit}" if info.unit not in ("", "No unit") else ""
    return f"allowed: {limits(info) or 'a finite number'}{unit}"
