"""Live processing: a scientist's class, run on every frame by as many workers as there are.

What a class is made of: `from penstock.processing import Processor, Mean`. The names are imported when they
are asked for: programs that need the client or the messages alone do without NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.processing.accumulate import Events, Max, Mean, Min, Sum
    from penstock.processing.describe import Axis, Plot
    from penstock.processing.processor import Frame, Processor
    from penstock.processing.series import Series

_MODULES = {
    "Axis": "describe", "Events": "accumulate", "Frame": "processor", "Max": "accumulate",
    "Mean": "accumulate", "Min": "accumulate", "Plot": "describe", "Processor": "processor",
    "Series": "series", "Sum": "accumulate",
}  # fmt: skip

__all__ = ["Axis", "Events", "Frame", "Max", "Mean", "Min", "Plot", "Processor", "Series", "Sum"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
