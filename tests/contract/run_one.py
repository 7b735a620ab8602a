"""One test of a suite, called for a test class that was made just now."""

from __future__ import annotations

import inspect
from contextlib import ExitStack
from typing import Any


def run(suite: object, test: str, **given: Any) -> None:
    """Call this test with what is given, and with what the suite opens, such as `rig` by `opened_rig`."""
    method = getattr(suite, test)
    with ExitStack() as stack:
        for name in inspect.signature(method).parameters:
            if name not in given:
                given[name] = stack.enter_context(getattr(suite, f"opened_{name}")())
        method(**given)
