"""Names of Tango devices, as people type them."""

from __future__ import annotations

import re

from penstock.stins.errors import UserError

_PART = r"[^/\s#?]+"
_NAME = re.compile(
    rf"(?:(?:tango:)?//(?P<host>[^/\s:]+):(?P<port>\d+)/)?(?P<short>{_PART}/{_PART}/{_PART})", re.IGNORECASE
)


class BadDeviceName(UserError, ValueError):
    """No device can be called so; the sentence says how names look."""


def checked(text: str) -> str:
    """Return the name without surrounding blanks.

    Raises:
        BadDeviceName: it does not have three parts, or is preceded by something other than a Tango database.
    """
    name = text.strip()
    found = _NAME.fullmatch(name)
    if found is None or (found["port"] is not None and not 0 < int(found["port"]) < 65536):
        raise BadDeviceName(
            f'"{text}" is not a device name: that has three parts, such as sim/det/1, and in front of them, '
            "if the device is in another database than TANGO_HOST's, tango://HOST:PORT/"
        )
    return name


def key(name: str) -> str:
    """Return the same text for all spellings of one name: Tango ignores case."""
    return name.lower().removeprefix("tango:").removeprefix("//")
