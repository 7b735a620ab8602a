"""Cases of one test, some of which run each time and the others only with the slow tests."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest


def breadth(cases: Mapping[str, Any], *, often: Collection[str]) -> list[Any]:
    """Return the parameters of `parametrize`, with the names as ids; those not in `often` are slow."""
    assert set(often) <= set(cases)
    return [
        pytest.param(case, id=name, marks=() if name in often else pytest.mark.slow)
        for name, case in cases.items()
    ]
