"""`make test` runs the few tests that fail once more, alone, and says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / ".ci" / "tests"
TESTS = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("number", range({tests}))
def test_of_chance(number):
    seen = Path(f"seen-{{number}}")
    if not seen.exists() or {always}:
        seen.touch()
        raise AssertionError("on a busy machine")

def test_of_another_kind():
    with Path("runs").open("a") as runs:
        runs.write("x")
"""
ALONE = "passed alone"


@pytest.mark.parametrize(
    ("tests", "always", "status", "again"),
    [(0, False, 0, False), (2, False, 0, True), (2, True, 1, True), (6, False, 1, False)],
)
def test_a_few_that_fail_are_run_alone_once_more(
    tests: int, always: bool, status: int, again: bool, tmp_path: Path
) -> None:
    (tmp_path / "test_some.py").write_text(TESTS.format(tests=tests, always=always))
    done = subprocess.run(
        [sys.executable, SCRIPT, "-n", "2"], cwd=tmp_path, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stdout + done.stderr
    assert ("Once more, alone: " in done.stdout) is again
    assert (ALONE in done.stdout) is (again and not status)
    if ALONE in done.stdout:
        assert "test_some.py::test_of_chance[1]" in done.stdout.partition(ALONE)[2]
    assert (tmp_path / "runs").read_text() == "x", "what has passed is not run again"


def test_an_error_of_pytest_itself_stays_one(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, SCRIPT, "--no-such-option"], cwd=tmp_path, check=False)
    assert done.returncode == 4
