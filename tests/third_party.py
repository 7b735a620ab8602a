"""Other people's programs, each in an environment of its own that `make judges` makes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import hdf5_contents

FOLDER = Path(__file__).resolve().parent.parent / ".venv-judges"


def program_of(name: str, program: str) -> Path:
    """Path of a program of a judge; the test is skipped where it is missing, but not by `make test-slow`."""
    path = FOLDER / name / "bin" / program
    if not path.is_file():
        if os.environ.get("PENSTOCK_JUDGES"):
            pytest.fail(f"{path} is missing, though `make judges` should have made it")
        pytest.skip(f"{path} is missing; `make judges` makes it")
    return path


def python36() -> Path:
    """Python 3.6 with pyzmq; the test is skipped where `make judges` found no Python 3.6 to make it of."""
    path = FOLDER / "python36" / "bin" / "python"
    if not path.is_file():
        pytest.skip(f"{path} is missing; `make judges` makes it where there is a Python 3.6")
    return path


def read_by_older_hdf5(*files: Path) -> None:
    """HDF5 1.14 reads the same in these files as ours, and Debian's HDF5 1.10 their structure."""
    command = [str(program_of("hdf5", "python")), hdf5_contents.__file__, *map(str, files)]
    judged = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert judged.returncode == 0, judged.stderr
    for file, line in zip(files, judged.stdout.splitlines(), strict=True):
        theirs = json.loads(line)
        assert theirs.pop("HDF5") < "2"
        assert theirs == hdf5_contents.contents(str(file)), file
    for file in files:
        dumped = subprocess.run([_h5dump(), "-H", file], capture_output=True, text=True, timeout=120)
        assert (dumped.returncode, dumped.stderr) == (0, ""), (file, dumped.stderr)
        assert 'GROUP "/"' in dumped.stdout


def _h5dump() -> str:
    """The program; the test is skipped where it is missing, but not by `make test-slow`."""
    if (path := shutil.which("h5dump")) is None:
        if os.environ.get("PENSTOCK_JUDGES"):
            pytest.fail("h5dump is missing, though `make judges` should have installed hdf5-tools")
        pytest.skip("h5dump is missing; `make judges` installs it")
    return path


def read_nxmx(file: Path) -> Any:
    """What nxmx finds in a file, see `nxmx_contents`."""
    script = Path(__file__).with_name("nxmx_contents.py")
    command = [str(program_of("hdf5", "python")), str(script), str(file)]
    judged = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert judged.returncode == 0, judged.stderr
    return json.loads(judged.stdout)
