"""Bars are judged by neighbouring turns; results outlive the process that measured them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from penstock.bench.contenders import BARE, NAIVE, PENSTOCK_RECEIVER, WRITE_LIMIT
from penstock.bench.load import Case
from penstock.bench.report import what
from penstock.bench.results import BARS, Latency, Measurement, load, mean, verdicts_on
from tests.bench.canned import files, results, run


def measured(contender: str, rates: list[float], thread_us: float = 100.0) -> Measurement:
    case = Case(contender=contender, frame_bytes=20_000, frames=10)
    return Measurement(case=case, runs=[run(10, rate, thread_us) for rate in rates])


def test_a_ratio_is_the_median_of_those_of_neighbouring_turns() -> None:
    ours = measured(PENSTOCK_RECEIVER, [1500.0, 105.0, 101.0])  # something else runs from now on
    theirs = measured(WRITE_LIMIT, [1000.0, 100.0, 100.0])

    (verdict,) = verdicts_on([ours, theirs])

    assert verdict.ratio == pytest.approx(1.05)
    assert verdict.reached and verdict.required == "≥ 1"


def test_a_bar_of_the_frame_rate_is_a_least_ratio_and_one_of_the_thread_a_greatest() -> None:
    ours = measured(PENSTOCK_RECEIVER, [100.0], thread_us=126.0)
    slow = measured(NAIVE, [10.0])
    bare = measured(BARE, [100.0], thread_us=100.0)

    rate, thread = verdicts_on([ours, slow, bare])

    assert (rate.ratio, rate.reached) == (pytest.approx(10.0), False)
    assert (thread.ratio, thread.reached) == (pytest.approx(1.26), False)


def test_a_series_whose_number_of_frames_was_not_announced_is_compared_with_one_where_it_was() -> None:
    ours = measured(PENSTOCK_RECEIVER, [100.0])
    case = msgspec.structs.replace(ours.case, announced=False)
    unannounced = Measurement(case=case, runs=[run(10, 86.0)])
    live = Measurement(case=msgspec.structs.replace(ours.case, storage="live"), runs=[run(10, 500.0)])

    (verdict,) = verdicts_on([ours, unannounced, live])

    assert (verdict.ratio, verdict.reached) == (pytest.approx(0.86), True)
    assert what(verdict) == "frame rate, unannounced"


def test_what_has_no_rival_in_the_same_run_is_not_judged() -> None:
    assert verdicts_on([measured(PENSTOCK_RECEIVER, [100.0])]) == []


def test_every_bar_is_judged_in_a_whole_run() -> None:
    assert [verdict.bar for verdict in verdicts_on(results().of("contenders"))] == list(BARS)


def test_a_mean_comes_with_its_standard_error() -> None:
    assert mean([1.0, 2.0, 3.0]) == (2.0, pytest.approx(3**-0.5))
    assert mean([4.0]) == (4.0, 0.0)


def test_results_are_read_back_as_they_were_saved(tmp_path: Path) -> None:
    file, whole = tmp_path / "results.json", results()

    whole.save(file)

    assert msgspec.json.encode(load(file)) == msgspec.json.encode(whole)
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_that_holds_something_else_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text('{"machine": 3}')

    with pytest.raises(ValueError, match=r"results\.json has no results"):
        load(file)


def test_two_files_must_be_cheap_and_write_the_same() -> None:
    cpu_us = {1: [100.0, 200.0, 100.0], 2: [130.0, 250.0, 140.0]}

    assert files(cpu_us).ratio == pytest.approx(1.3)
    assert files(cpu_us).reached
    assert not files(cpu_us, equal=False).reached
    assert not files({1: [100.0], 2: [131.0]}).reached
    assert not files(cpu_us, bar=1.15).reached


def test_a_series_may_take_as_long_to_end_as_its_disk_takes_to_sync() -> None:
    fast = Latency(storage="ram", synced=False, arm=[0.1, 0.15, 9.0], end=[0.2], sync=[])
    synced = Latency(storage="disk", synced=True, arm=[0.1], end=[0.5], sync=[0.3])

    assert fast.reached and synced.reached
    assert not msgspec.structs.replace(fast, arm=[0.151]).reached
    assert not msgspec.structs.replace(synced, sync=[0.29]).reached
