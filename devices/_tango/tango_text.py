"""Text for Tango's strings, which take the 256 characters of Latin-1 and refuse all others.

Names of files may have any character: a folder may be called β; clients reach it through a link.

PyTango's server sends strings of attributes and commands in Latin-1, as clients read them. It would send
Status and the text of errors in UTF-8: read as Latin-1, an umlaut becomes two other characters.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec


def tango_text(text: str) -> str:
    """Return the text with escapes for characters that Tango does not take: "/data/\\u03b2/x.h5"."""
    return text.encode("latin-1", "backslashreplace").decode("latin-1")


def tango_status(text: str) -> str:
    """Return the text of Status, in ASCII: "/data/gr\\xf6\\xdfe.h5".

    `DeviceProxy.status()` of PyTango reads UTF-8 and raises otherwise, all other ways to read it Latin-1.
    """
    return text.encode("ascii", "backslashreplace").decode()


def tango_error(text: str) -> bytes:
    """Return the text of an error as it is to be sent, in Latin-1, as every client reads it."""
    return text.encode("latin-1", "backslashreplace")


def tango_value(value: Any) -> Any:
    """Return the value of an attribute, by `tango_text` if it is a text."""
    return tango_text(value) if isinstance(value, str) else value


def tango_json(value: Any) -> str:
    """Return the value as JSON in ASCII characters, without loss."""
    return json.dumps(msgspec.to_builtins(value))
