"""References: text and back."""

from __future__ import annotations

import pytest

from penstock.sardana.reference import Reference, parse


def test_a_reference_survives_the_way_through_sardana() -> None:
    reference = Reference("/data/a b/scan_0001.h5", "entry/instrument/sim_1/data", 17)
    assert reference.text == "h5file:///data/a b/scan_0001.h5::entry/instrument/sim_1/data[17]"
    assert parse(reference.text) == reference


@pytest.mark.parametrize("text", ["", "h5file:///a.h5", "h5file:///a.h5::data", "file:///a.tiff", "nan"])
def test_what_is_no_reference_to_a_frame(text: str) -> None:
    assert parse(text) is None
