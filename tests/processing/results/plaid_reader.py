"""Print as JSON what plaid's reader finds in a file: python plaid_reader.py FILE, in plaid's environment."""

import json
import sys
from pathlib import Path

import h5py
import plaid

sys.path.insert(0, str(Path(plaid.__file__).parent))  # its modules import each other so
from plaid.io import load_file, read_from_dict

found = load_file(sys.argv[1])
with h5py.File(sys.argv[1]) as file:
    data = read_from_dict(file, {name: found[name] for name in ("I", "I_error")})
print(
    json.dumps(
        {
            "I": data["I"].tolist(),
            "errors": None if data["I_error"] is None else data["I_error"].tolist(),
            **{name: None if found[name] is None else found[name].tolist() for name in ("q", "tth")},
            "instrument": found["instrument_name"],
        }
    )
)
