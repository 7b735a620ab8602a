"""The folders in which Sardana finds Penstock: those for its PoolPath, MacroPath and RecorderPath.

Sardana loads each file of these folders as a module of its own, and takes the classes and macros
that are defined in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent

CONTROLLERS: Final = HERE / "controllers"
"""Folder for the property PoolPath of a Pool."""
MACROS: Final = HERE / "macros"
"""Folder for the property MacroPath of a MacroServer."""
RECORDERS: Final = HERE / "recorders"
"""Folder for the property RecorderPath of a MacroServer."""


def is_ours(folder: str) -> bool:
    """Return whether a folder belongs to this or another installation of Penstock, even a removed one.

    A folder of the same name with other files, or fewer, is a user's own: it is never replaced.

    Args:
        folder: of a path property.
    """
    path = Path(folder)
    own = {each.name: each for each in (CONTROLLERS, MACROS, RECORDERS)}.get(path.name)
    if own is None or path.parent.name != "sardana":
        return False
    if path.parent.parent.name == "penstock":
        return True
    there = {each.name for each in path.glob("*.py")}  # a clone has them in DIRECTORY/sardana
    return there == {each.name for each in own.glob("*.py")}
