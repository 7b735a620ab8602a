"""Protocol errors."""

from __future__ import annotations

import pytest

from penstock.stins.errors import MAX_SENTENCE, BlobError, LocalError, RemoteError, StinsError


@pytest.mark.parametrize(
    ("kind", "addressee"), [(RemoteError, "peer"), (BlobError, "peer"), (LocalError, "caller")]
)
def test_every_error_says_who_must_mend_it(kind: type[StinsError], addressee: str) -> None:
    error = kind("some_kind", "a sentence")
    assert (error.kind, error.addressee, str(error)) == ("some_kind", addressee, "a sentence")


def test_a_sentence_that_quotes_megabytes_is_cut() -> None:
    assert len(str(RemoteError("some_kind", "x" * 10**6))) <= MAX_SENTENCE + 2
