"""A process that ends without a last search for garbage."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import atexit, sys
from penstock.resources.quick_end import end_quickly

class Circle:
    def __init__(self):
        self.myself = self
    def __del__(self):
        print("searched", flush=True)

if sys.argv[1] == "quickly":
    end_quickly()
atexit.register(print, "ended", flush=True)
Circle()
"""


@pytest.mark.parametrize(("how", "printed"), [("quickly", ["ended"]), ("as usual", ["ended", "searched"])])
def test_what_runs_at_the_end_runs_and_unreachable_objects_are_not_searched_for(
    how: str, printed: list[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == printed
    assert done.stderr == ""
