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


LEFT = """
import gc, weakref
from penstock.service import garbage

class Garbage:
    pass

left = Garbage()
left.itself, reference, before = left, weakref.ref(left), len(gc.get_objects())
del left
garbage.stays()
print(before > 1000, reference() is None, len(gc.get_objects()) < 100, gc.collect())
"""


def test_a_search_does_not_look_at_what_was_there_before_except_for_garbage() -> None:
    done = subprocess.run([*PYTHON, "-c", LEFT], capture_output=True, text=True, check=True)
    assert done.stdout == "True True True 0\n"
