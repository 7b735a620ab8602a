"""What a check of a file says in the panel."""

from __future__ import annotations

import json

import pytest

from penstock.gui.panel.series.files import verdict


def answer(*sentences: str, clean: bool = False) -> str:
    findings = [{"level": "problem", "kind": "x", "sentence": sentence} for sentence in sentences]
    return json.dumps({"clean": clean, "files": [{"file": "x.h5", "clean": clean, "findings": findings}]})


def test_a_clean_file() -> None:
    assert verdict(answer(clean=True), "") == ("The file is clean.", True)


def test_problems_are_said_and_many_are_cut() -> None:
    assert verdict(answer("2 frames are missing: 4-5"), "") == (
        "The file is not clean: 2 frames are missing: 4-5", False,
    )  # fmt: skip
    words, _ = verdict(answer(*(f"p{n}" for n in range(9))), "")
    assert words == "The file is not clean: p0; p1; p2; p3 (and 5 more)"


@pytest.mark.parametrize("output", ["", "not JSON", "[]", '{"files": []}'])
def test_a_check_that_died_says_so(output: str) -> None:
    assert verdict(output, "Traceback …\nMemoryError\n") == (
        "The check ended unexpectedly: MemoryError", False,
    )  # fmt: skip


def test_a_file_that_cannot_be_opened() -> None:
    text = json.dumps(
        {"clean": False, "files": [{"file": "x", "error": "x is no HDF5 file", "clean": False}]}
    )
    assert verdict(text, "") == ("x is no HDF5 file", False)
