"""JSON in a Tango string, which takes the 256 characters of Latin-1 and refuses all others."""

from __future__ import annotations

import json
from typing import Any

import msgspec


def tango_json(value: Any) -> str:
    """The value as JSON of ASCII characters: names of files have any, which JSON can write as escapes."""
    return json.dumps(msgspec.to_builtins(value))
