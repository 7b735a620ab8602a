"""What a viewer costs: the figures, and one short measurement with a real receiver and viewer."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.bench import viewer
from penstock.bench.viewer import Case, Result, Window

CASE = Case(name="uint8", dtype="uint8", compression="none", pattern="noise", rate=10)


def window(thread: float, looks: float = 0.0) -> Window:
    return Window(thread=thread, process=2 * thread, http=100.0, frames=24, looks=looks)


def result(*ratios: float, looks: float = 5.0, hand_over: float = 10.0) -> Result:
    pairs = [(window(1000.0), window(1000.0 * ratio, looks)) for ratio in ratios]
    return Result(case=CASE, pairs=pairs, hand_over=hand_over)


def test_the_ratio_is_the_median_of_neighbours_and_its_error_knows_no_outliers() -> None:
    ratios = [0.98, 0.99, 1.0, 1.0, 1.01, 1.02] * 3
    calm, disturbed = result(*ratios), result(*ratios[:-1], 9.8)
    assert calm.ratio == disturbed.ratio == pytest.approx(1.0)
    assert 0.0 < calm.error < 0.02
    assert disturbed.error == pytest.approx(calm.error, abs=0.002)


def test_what_handing_over_takes_is_a_share_of_the_data_paths_time() -> None:
    # 5 looks a second of 10 µs, beside 10 frames a second of 1,000 µs.
    assert result(1.0, 1.0).share == pytest.approx(50 / 10_000)


@pytest.mark.parametrize(
    ("found", "reached"),
    [
        (result(1.0, 1.01, 1.0), True),
        (result(1.1, 1.1, 1.11), False),
        (result(1.0, 1.0, 1.0, hand_over=100.0), False),
        (result(1.0, 1.0, 1.0, looks=1.0), False),
    ],
    ids=["reached", "ratio", "share", "the viewer got too little"],
)
def test_the_bar(found: Result, reached: bool) -> None:
    assert found.reached is reached


@pytest.mark.slow
def test_a_receiver_is_measured_with_and_without_a_viewer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewer, "PATTERN", (False, True, True, False))
    monkeypatch.setattr(viewer, "SERIES_A_ROUND", 1)
    (found,) = viewer.measure(tmp_path, 1, lambda text: None, (CASE,))
    assert [(without.looks, seen.looks > 0) for without, seen in found.pairs] == [(0.0, True)] * 2
    for pair in found.pairs:
        for each in pair:
            assert 0 < each.thread <= each.process
    assert found.hand_over > 0
    assert not list(tmp_path.glob("*.h5")), "the file is removed"
