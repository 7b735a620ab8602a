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


@pytest.mark.parametrize("char", ["\n", "\r", "\x1b", "\0", "\x85", "\u2028", "\u202e", "\udc80"])
def test_what_could_forge_a_line_or_steer_a_terminal_is_escaped(char: str) -> None:
    sentence = str(RemoteError("some_kind", f"series \u201ca{char}b\u201d is µ"))
    assert sentence == f"series \u201ca{ascii(char)[1:-1]}b\u201d is µ"
    assert sentence.isprintable() and sentence.encode()


def test_escapes_take_no_more_room_than_is_allowed() -> None:
    assert len(str(RemoteError("some_kind", "\U000e0001" * 10**6))) <= MAX_SENTENCE + 2
