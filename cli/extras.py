"""How to install what a command needs."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

CONSTRAINTS = "constraints.txt"


class _Directory(msgspec.Struct):
    editable: bool = False


class _Origin(msgspec.Struct):
    """`direct_url.json` of an installed distribution (PEP 610)."""

    url: str
    dir_info: _Directory = msgspec.field(default_factory=_Directory)


def install_command(extras: str) -> str:
    """Return a command for the shell that adds extras of Penstock, from where it was installed.

    Args:
        extras: their names, separated by commas.
    """
    try:
        text = distribution("penstock").read_text("direct_url.json")
        origin = msgspec.json.decode(text or "null", type=_Origin | None)
    except (PackageNotFoundError, msgspec.DecodeError):
        origin = None
    if origin is None:
        return f"pip install 'penstock[{extras}]'"
    place = urlsplit(origin.url)
    if place.scheme != "file":
        return f"pip install 'penstock[{extras}] @ {origin.url}'"
    folder = Path(unquote(place.path))
    flag = "-e " if origin.dir_info.editable else ""
    # The clone has the versions that were tested together.
    tested = f"-c '{folder / CONSTRAINTS}' " if (folder / CONSTRAINTS).is_file() else ""
    return f"pip install {tested}{flag}'{folder}[{extras}]'"
