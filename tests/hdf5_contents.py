"""Everything that HDF5 reads in a file: run by an older HDF5 too, whose Python has h5py and hdf5plugin only.

python hdf5_contents.py FILE …      one line of JSON for each file
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the filters)


def contents(path: str) -> dict[str, list[Any]]:
    """Shape, type and hash of the values of each dataset, and the attributes of everything, by name."""
    found: dict[str, list[Any]] = {}

    def look(name: str, item: Any) -> None:
        attributes = {key: str(plain(item.attrs[key])) for key in sorted(item.attrs)}
        found[name] = [attributes]
        if isinstance(item, h5py.Dataset):
            values = item[()]
            text = h5py.check_string_dtype(item.dtype) is not None
            raw = str(plain(values)).encode() if text else values.tobytes()
            found[name] += [list(item.shape), str(item.dtype), hashlib.sha256(raw).hexdigest()]

    with h5py.File(path, "r") as file:
        look("/", file)
        file.visititems(look)
    return found


def plain(value: Any) -> Any:
    """The value without NumPy, whose options for printing other packages change."""
    return value.tolist() if hasattr(value, "tolist") else value


if __name__ == "__main__":
    for path in sys.argv[1:]:
        print(json.dumps({"HDF5": h5py.version.hdf5_version, **contents(path)}))
