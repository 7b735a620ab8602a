"""Other people's programs, each in an environment of its own that `make judges` makes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / ".venv-judges"


def program_of(name: str, program: str) -> Path:
    """Path of a program of a judge; the test is skipped where it is missing, but not by `make test-slow`."""
    path = FOLDER / name / "bin" / program
    if not path.is_file():
        if os.environ.get("PENSTOCK_JUDGES"):
            pytest.fail(f"{path} is missing, though `make judges` should have made it")
        pytest.skip(f"{path} is missing; `make judges` makes it")
    return path
