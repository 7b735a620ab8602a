"""What Tango's errors mean to the user of the panel: pure functions."""

from __future__ import annotations

import os
import re

import tango

NO_DATABASE = frozenset({"API_CantConnectToDatabase", "API_DatabaseCacheAccess", "API_TangoHostNotSet"})
NO_DEVICE = frozenset({"DB_DeviceNotDefined", "API_DeviceNotDefined"})
NO_SERVER = frozenset({
    "API_DeviceNotExported", "API_CantConnectToDevice", "API_ServerNotRunning", "API_DeviceNotFound",
    "API_CorbaException", "API_CommunicationFailed",
})  # fmt: skip
_ESCAPE = re.compile(r"\\x[0-9a-f]{2}|\\u(?!d[89a-f])[0-9a-f]{4}|\\U000[0-9a-f]{5}")
"""Escapes of Python's "backslashreplace"."""
TIMED_OUT = "API_DeviceTimedOut"


def away(name: str, error: tango.DevFailed) -> str:
    """Return why a device cannot be reached, and what to look at."""
    device = short(name)
    reasons = {each.reason for each in error.args}
    # A database that went away later is a device that cannot be reached.
    about_database = any("sys/database/" in each.desc for each in error.args)
    if reasons & NO_DATABASE or (about_database and reasons & NO_SERVER):
        return f"{database(name)} does not answer. Is it running, and is TANGO_HOST right?"
    if reasons & NO_DEVICE:
        return f"{database(name)} knows no device {device}. Is the name right? `penstock register` adds some."
    # A ping reports it only in the words of CORBA.
    if TIMED_OUT in reasons or any("CallTimedout" in each.desc for each in error.args):
        return f"{device} does not answer in time. Is its host very busy, or the network slow?"
    if reasons & NO_SERVER:
        return (
            f"The device server of {device} is not running or not reachable. Start it (Astor, systemd, or "
            "`penstock device`)."
        )
    return f"{device} cannot be reached: {sentence(error)}"


def refusal(name: str, error: tango.DevFailed) -> str:
    """Return why a call was refused: the device's own sentence, where it is one."""
    device = short(name)
    reasons = {each.reason for each in error.args}
    if TIMED_OUT in reasons:
        return f"{device} has not answered in time; what was asked may still be done. See its state."
    if reasons & NO_SERVER:
        return f"{device} could not be reached: is its server running?"
    return sentence(error)


def no_text(name: str, text: str) -> str:
    """Return why a text cannot be an attribute's value."""
    strange = "".join(dict.fromkeys(character for character in text if ord(character) > 255))
    return (
        f'{name}: Tango takes Latin-1 characters only, which "{strange:.20}" is not; choose others, or write '
        "\\u03b1 and the like in JSON"
    )


def unescaped(text: str) -> str:
    """Return a text that a device has escaped for Tango, with its letters: "gr\\xf6\\xdfe" is "größe"."""
    return _ESCAPE.sub(lambda found: chr(int(found[0][2:], 16)), text)


def short(name: str) -> str:
    """Return the three parts of a device's name."""
    return "/".join(name.split("/")[-3:])


def sentence(error: tango.DevFailed) -> str:
    """Return what the device says itself."""
    return unescaped(" ".join(error.args[0].desc.split())) or str(error.args[0].reason)


def database(device: str = "") -> str:
    """Return the Tango database of a device in words."""
    named = re.match(r"(?:tango:)?//([^/]+)/", device)
    host = named[1] if named else os.environ.get("TANGO_HOST") or tango.ApiUtil.get_env_var("TANGO_HOST")
    return f"The Tango database at {host}" if host else "The Tango database (TANGO_HOST names none)"
