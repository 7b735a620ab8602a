"""Bad messages are counted by their kind, and the first few are logged."""

from __future__ import annotations

import pytest

from penstock.receiver.process.outputs import LOGGED_PER_KIND, BadMessages
from penstock.stins.errors import BlobError, StinsError


def test_each_kind_is_counted_by_itself_and_the_last_is_shown() -> None:
    bad = BadMessages("sim-1")
    for error in (StinsError("json", "no JSON"), StinsError("json", "none"), BlobError("size", "too short")):
        bad.take(error)
    assert bad.counts == {"json": 2, "size": 1}
    assert bad.last == "size: too short"


def test_the_first_few_of_a_kind_are_logged_and_the_last_of_them_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bad = BadMessages("sim-1")
    for _ in range(3 * LOGGED_PER_KIND):
        bad.take(StinsError("json", "no JSON"))
    said = [record.getMessage() for record in caplog.records]
    assert said[:-1] == ["sim-1: bad message, json: no JSON"] * (LOGGED_PER_KIND - 1)
    assert said[-1] == "sim-1: bad message, json: no JSON; more of this kind are only counted"
