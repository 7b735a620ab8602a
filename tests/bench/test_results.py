"""Figures of rounds; results outlive the process that measured them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from penstock_bench.results import Frames, Turns, add_difference, load, mean, median_error
from tests.bench.canned import group, results


def test_ratios_are_those_of_neighbouring_turns() -> None:
    ours, theirs = ([{"frames/s": rate} for rate in rates] for rates in ([1500.0, 105.0], [1000.0, 100.0]))
    found = group("contenders", "20 kB", {"penstock": ours, "naive": theirs})
    assert found.ratios("penstock", "naive", "frames/s") == [1.5, 1.05]
    assert found.ratios("penstock", "bare", "frames/s") == []


def test_figures_that_are_joined_are_added_and_one_that_a_contender_lacks_is_nothing() -> None:
    turns: Turns = {"a": [{"loop, µs": 1.0, "I/O, µs": 2.0}], "b": [{"loop, µs": 4.0}]}
    found = group("", "", turns)
    assert found.values("a", "loop, µs+I/O, µs") == [3.0] and found.values("b", "loop, µs+I/O, µs") == [4.0]
    assert found.values("b", "I/O, µs") == []
    assert found.figures == ["loop, µs", "I/O, µs"]


def test_what_is_added_is_compared_within_a_round() -> None:
    turns: Turns = {
        "none": [{"receiver, µs": 20.0 * busy} for busy in (1, 5)],
        "loop": [{"receiver, µs": 60.0 * busy, "loop, µs": 10.0 * busy} for busy in (1, 5)],
    }
    add_difference(turns, "none", "receiver, µs+loop, µs", "added, µs")
    assert [turn["added, µs"] for turn in turns["loop"]] == [50.0, 250.0]
    assert [turn["added, µs"] for turn in turns["none"]] == [0.0, 0.0]


def test_a_mean_comes_with_its_standard_error_and_that_of_a_median_knows_no_outliers() -> None:
    assert mean([1.0, 2.0, 3.0]) == (2.0, pytest.approx(3**-0.5)) and mean([4.0]) == (4.0, 0.0)
    calm = [0.98, 0.99, 1.0, 1.0, 1.01, 1.02] * 3
    assert 0.0 < median_error(calm) < 0.02
    assert median_error([*calm[:-1], 9.8]) == pytest.approx(median_error(calm), abs=0.002)


def test_frames_know_their_bytes_and_how_many_messages_may_wait() -> None:
    small = Frames(name="20 kB", shape=(100, 100), count=9)
    assert (small.nbytes, small.mark, small.of(3).count, small.of(3, 50.0).rate) == (20_000, 64, 3, 50.0)
    assert Frames(name="2 MB", shape=(1000, 1000), count=1).mark == 8


def test_results_are_read_back_as_they_were_saved(tmp_path: Path) -> None:
    file, whole = tmp_path / "results.json", results()
    whole.save(file)
    assert msgspec.json.encode(load(file)) == msgspec.json.encode(whole)
    assert list(tmp_path.iterdir()) == [file]


def test_a_group_takes_the_place_of_an_earlier_measurement_of_the_same() -> None:
    found = results()
    number = len(found.groups)
    found.put(group("workers", "2 MB", {"1 × 1": [{"frames/s": 1.0}]}))
    assert len(found.groups) == number
    there = found.get("workers", "2 MB")
    assert there is not None and there.values("1 × 1", "frames/s") == [1.0]


def test_a_file_that_holds_something_else_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text('{"machine": 3}')
    with pytest.raises(ValueError, match=r"results\.json has no results"):
        load(file)
