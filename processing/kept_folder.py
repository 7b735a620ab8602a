"""The folder for what is expensive to make and is kept: matrices, compiled functions."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "PENSTOCK_CACHE"


class NoFolderError(OSError):
    """The folder cannot be made; the sentence says which variable names another one."""


def folder(name: str) -> Path:
    """Return a folder of this user's, which is made: $PENSTOCK_CACHE/name, or ~/.cache/penstock/name.

    Raises:
        NoFolderError: it cannot be made.
    """
    given = os.environ.get(VARIABLE, "")
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    path = Path(given or f"{home}/penstock").expanduser() / name
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise NoFolderError(
            f"{path} cannot be made ({why}): let {VARIABLE} name a folder that workers can write"
        ) from error
    return path
