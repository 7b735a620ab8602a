"""The shared libraries in which hdf5plugin ships its filters.

They are found without importing hdf5plugin, which imports h5py: that takes longer than everything else that
a worker of live processing needs.
"""

from __future__ import annotations

import ctypes
from importlib.util import find_spec
from pathlib import Path


def load(name: str) -> ctypes.CDLL:
    """Return one of hdf5plugin's libraries; ctypes releases the interpreter lock while it is called.

    Raises:
        ModuleNotFoundError: hdf5plugin is not installed.
        OSError: it has no such library.
    """
    spec = find_spec("hdf5plugin")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("hdf5plugin is not installed", name="hdf5plugin")
    return ctypes.CDLL(str(Path(spec.origin).parent / "plugins" / name))
