"""Where workers on the distributor's machine connect: a socket in a folder that only its user may enter.

By TCP every user of the machine could say hello, and would be sent frames and source text.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

MOST = 60
"""Characters of the folder's parent: the name of a socket has 107 at most."""
_PREFIX, _NAME, _SCHEME = "penstock-workers-", "socket", "ipc://"


def make_folder() -> Path:
    """Return a new folder, mode 0700, where temporary files go; in /tmp if that name is too long.

    Raises:
        OSError: it cannot be made.
    """
    parent = tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent if len(parent) <= MOST else "/tmp"))


def endpoint(folder: Path) -> str:
    """Return the endpoint in a folder."""
    return f"{_SCHEME}{folder / _NAME}"


def remove_folder(folder: Path) -> None:
    """Remove a folder, and the socket in it."""
    shutil.rmtree(folder, ignore_errors=True)


def remove(address: str) -> None:
    """Remove the folder of an endpoint, which a killed distributor has left; of others do nothing."""
    path = Path(address.removeprefix(_SCHEME))
    if address.startswith(_SCHEME) and path.name == _NAME and path.parent.name.startswith(_PREFIX):
        remove_folder(path.parent)
