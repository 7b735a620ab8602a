"""Sums of raw words say that they are none of charge."""

from __future__ import annotations

import pytest

from penstock.receiver.validity.raw_words import JUNGFRAU, note


@pytest.mark.parametrize(
    ("description", "dtype", "expected"),
    [
        ("JUNGFRAU", "uint16", JUNGFRAU), ("PSI JUNGFRAU 4M", None, JUNGFRAU), ("JUNGFRAU", "float32", ""),
        ("EIGER", "uint16", ""), (None, "uint16", ""), (5, "uint16", ""),
    ],
)  # fmt: skip
def test_words_of_a_jungfrau_are_said(description: object, dtype: str | None, expected: str) -> None:
    assert note({"description": description}, dtype) == expected
