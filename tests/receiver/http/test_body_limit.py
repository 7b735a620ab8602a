"""How long a request says that its body is."""

from __future__ import annotations

import pytest

from penstock.receiver.http.body_limit import _announced


@pytest.mark.parametrize(
    ("said", "length"),
    [
        (b"", 0),
        (b"0", 0),
        (b"-1", 0),
        (b"1000000", 1_000_000),
        (b"0" * 30 + b"5", 5),
        (b"9" * 19, 10**19 - 1),
        (b"9" * 20, 10**20 - 1),
        (b"9" * 24, 10**20 - 1),
        (b"9" * 5000, 10**20 - 1),
    ],
)
def test_a_length_of_any_number_of_digits_is_understood_as_far_as_it_matters(
    said: bytes, length: int
) -> None:
    assert _announced({"type": "http", "headers": [(b"content-length", said)]}) == length
