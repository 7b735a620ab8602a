"""Where Sardana finds Penstock: the folders for its PoolPath, MacroPath and RecorderPath.

Sardana loads each file of these folders as a module of its own, and takes the classes and macros
that are defined in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent

CONTROLLERS: Final = HERE / "controllers"
"""For the property PoolPath of a Pool."""
MACROS: Final = HERE / "macros"
"""For the property MacroPath of a MacroServer."""
RECORDERS: Final = HERE / "recorders"
"""For the property RecorderPath of a MacroServer."""


def is_ours(folder: str) -> bool:
    """Tell whether a folder belongs to this or another installation of Penstock, there still or not.

    Args:
        folder: of a path property.
    """
    path = Path(folder)
    if path.name not in {each.name for each in (CONTROLLERS, MACROS, RECORDERS)}:
        return False
    return path.parts[-3:-1] == ("penstock", "sardana") or any(path.glob("penstock_*.py"))
