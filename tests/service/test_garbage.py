"""When Python looks for unreachable objects."""

from __future__ import annotations

import gc

import pytest

from penstock.service.garbage import no_search


def imports_what_is_missing() -> None:
    with no_search():
        assert not gc.isenabled()
        raise ImportError("missing")


def test_they_are_searched_for_again_after_an_import_that_fails() -> None:
    with pytest.raises(ImportError, match="missing"):
        imports_what_is_missing()
    assert gc.isenabled()
