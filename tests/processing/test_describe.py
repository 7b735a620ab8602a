"""What a processor says of its results is checked before it is sent."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.processing import Axis, Plot, wire
from penstock.processing.describe import check
from penstock.processing.wire import descriptions

Q = Axis("q", np.arange(3), "1/nm", "q")


def test_a_description_travels_whole() -> None:
    plots = check([
        Plot(
            "I", "I_errors", (Q,), "counts", "intensity", "NXazint1d",
            {"beam/energy": (12.4, "keV"), "a": True},
        ),
        Plot("map", axes=(Q, Axis("row", [4, 5]))),
    ])  # fmt: skip
    texts, arrays = descriptions.texts(plots)

    message = wire.from_worker(wire.encode(wire.Started(series=1, plots=texts)))

    assert isinstance(message, wire.Started)
    found = descriptions.plots(message.plots, [array.tobytes() for array in arrays])
    assert found[1] == plots[1] and found[0].axes == plots[0].axes
    assert found[0].fields == {"beam/energy": (12.4, "keV"), "a": True}


def test_parts_of_other_axes_are_refused() -> None:
    texts, _ = descriptions.texts(check([Plot("I", axes=(Q,))]))
    with pytest.raises(ValueError, match="0 parts came, not one for each axis"):
        descriptions.plots(texts, [])


@pytest.mark.parametrize(
    ("plots", "says"),
    [
        ([Plot("I"), Plot("I")], "result I is described twice"),
        ([Plot("a b")], "'a b' is no name"),
        ([Plot("I", axes=(Axis("I", [1.0]),))], "axis I of I has the name of a result; rename it"),
        ([Plot("I", axes=(Axis("q", [np.nan]),))], "axis q of I is no array"),
        ([Plot("I", axes=(Axis("q", np.ones((2, 2))),))], "axis q of I is no array"),
        ([Plot("I", axes=(Q,)), Plot("J", axes=(Axis("q", [1.0]),))], "there are two axes q, and they are"),
        ([Plot("I", definition="azint")], "definition 'azint' is none of NeXus"),
        ([Plot("I", fields={"/x": 1})], "field '/x' of I is no path"),
    ],
)
def test_what_cannot_be_used_is_said(plots: list[Plot], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        check(plots)
