"""The measurement of DECTRIS streams takes whole series through a real receiver."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.bench.dectris import STREAMS, measure


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind == "dectris-v2" else pytest.mark.slow) for kind in STREAMS]
)
def test_a_series_is_taken_whole_and_its_file_removed(kind: str, tmp_path: Path) -> None:
    assert measure(kind, 20_000, 5, tmp_path) > 0
    assert not list(tmp_path.glob("*.h5"))
