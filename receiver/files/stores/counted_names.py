"""Names of the files and datasets that virtual datasets show: "%b" is a number, "%%" a percent sign.

Source: `H5Pset_virtual` in HDF5's reference manual.
"""

from __future__ import annotations

import re

NUMBER = re.compile(r"%(%|b)")


def is_counted(name: str) -> bool:
    """Return whether a name has a place for a number."""
    return any(match[1] == "b" for match in NUMBER.finditer(name))


def numbered(name: str, number: int = 0) -> str:
    """Return the name with this number."""
    return NUMBER.sub(lambda match: "%" if match[1] == "%" else str(number), name)


def escaped(name: str) -> bytes:
    """Return the name of a file or dataset as a mapping has it, with no number in it."""
    return name.replace("%", "%%").encode()
