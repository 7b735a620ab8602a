"""When Python looks for unreachable objects."""

from __future__ import annotations

import gc
import subprocess

import pytest

from penstock.hosts.child import PYTHON
from penstock.service.garbage import no_search


def imports_what_is_missing() -> None:
    with no_search():
        assert not gc.isenabled()
        raise ImportError("missing")


def test_they_are_searched_for_again_after_an_import_that_fails() -> None:
    with pytest.raises(ImportError, match="missing"):
        imports_what_is_missing()
    assert gc.isenabled()


def test_a_search_does_not_look_at_what_was_there_before() -> None:
    code = (
        "import gc; from penstock.service import garbage; before = len(gc.get_objects()); garbage.stays(); "
        "print(before > 1000 and len(gc.get_objects()) < 100 and gc.collect() == 0)"
    )
    done = subprocess.run([*PYTHON, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
