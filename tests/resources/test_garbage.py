"""When Python looks for unreachable objects."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from penstock.resources.garbage import no_search

PROGRAM = """
import atexit, sys
from penstock.resources.garbage import no_search_at_the_end

class Circle:
    def __init__(self):
        self.myself = self
    def __del__(self):
        print("searched", flush=True)

if sys.argv[1] == "quickly":
    no_search_at_the_end()
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


def imports_what_is_missing() -> None:
    with no_search():
        assert not gc.isenabled()
        raise ImportError("missing")


def test_they_are_searched_for_again_after_an_import_that_fails() -> None:
    with pytest.raises(ImportError, match="missing"):
        imports_what_is_missing()
    assert gc.isenabled()
