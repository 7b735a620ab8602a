"""Counts and quoted words in sentences."""

from __future__ import annotations

import pytest

from penstock.stins.texts import plural


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0 frames"), (1, "1 frame"), (2, "2 frames"), (None, "an unknown number of frames")],
)
def test_a_count_agrees_with_what_is_counted(count: int | None, said: str) -> None:
    assert plural(count, "frame") == said


def test_a_verb_agrees_too_where_both_forms_are_given() -> None:
    assert plural(1, "frame is", "frames are") == "1 frame is"
    assert plural(3, "frame is", "frames are") == "3 frames are"
