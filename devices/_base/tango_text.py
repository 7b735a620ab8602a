"""Text in Tango's strings, which take the 256 characters of Latin-1 and refuse all others.

Names of files have any: a folder may be called β, and a client reaches it by a link.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec


def tango_text(text: str) -> str:
    """Return the text with escapes for what Tango does not take: "/data/\\u03b2/x.h5"."""
    return text.encode("latin-1", "backslashreplace").decode("latin-1")


def tango_value(value: Any) -> Any:
    """Return the value of an attribute, as Tango takes it if it is a text."""
    return tango_text(value) if isinstance(value, str) else value


def tango_json(value: Any) -> str:
    """Return the value as JSON of ASCII characters, which loses nothing."""
    return json.dumps(msgspec.to_builtins(value))
