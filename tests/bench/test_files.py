"""Several files beside one: what the bars say, and a tiny comparison with real processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.bench import files
from penstock.bench.files import Comparison, Load, compare

TINY = Load(name="packed", frames=12, frame_bytes=4_000_000, rate=100.0, bar=9.0, packed=True)
"""Six blocks of two frames."""


@pytest.mark.parametrize(
    ("number", "us", "equal", "reached"),
    [(2, 115.0, True, True), (2, 116.0, True, False), (4, 190.0, True, True), (4, 90.0, False, False)],
)
def test_two_files_have_a_bar_and_every_number_must_store_the_same(
    number: int, us: float, equal: bool, reached: bool
) -> None:
    load = Load(name="2 MB", frames=1, frame_bytes=2_000_000, rate=1.0, bar=1.15)
    cpu_us = {1: [100.0], number: [us]}

    assert Comparison(load=load, cpu_us=cpu_us, flat_out_us=cpu_us, equal=equal).reached is reached


@pytest.mark.slow
def test_a_comparison_writes_every_series_into_one_file_and_into_three(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    content = files._content

    def looked_at(file: Path) -> str:
        seen.append(sorted(path.name for path in tmp_path.glob("*.h5")))
        return content(file)

    monkeypatch.setattr(files, "_content", looked_at)

    (case,) = compare(tmp_path, 3, 1, lambda text: None, (TINY,))

    one, several = ["1.h5"], ["3.h5", "3_part1.h5", "3_part2.h5", "3_part3.h5"]
    assert seen == [one, several] * 2
    assert case.equal
    assert [len(cpu[number]) for cpu in (case.cpu_us, case.flat_out_us) for number in (1, 3)] == [1] * 4
    assert not list(tmp_path.glob("*.h5")) and not list(tmp_path.glob("*.yaml"))
