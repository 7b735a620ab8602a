"""What costs a receiver how much: short measurements with real processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock_bench import receiver_costs
from penstock_bench.receiver_costs import files, regions, viewer
from penstock_bench.results import Frames
from penstock_bench.runner import Bench

pytestmark = pytest.mark.slow


def test_every_series_goes_into_one_file_and_into_three_and_contents_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    content = receiver_costs.content

    def looked_at(file: Path) -> str:
        seen.append(sorted(path.name for path in tmp_path.glob("*.h5")))
        return content(file)

    monkeypatch.setattr(receiver_costs, "content", looked_at)
    # Six blocks of two frames.
    packed = Frames(name="", shape=(1000, 2000), count=12, rate=100.0, compression="bslz4", pattern="spots")
    turns = files(Bench(folder=tmp_path, options={"files": 3}), packed)
    one, several = ["1.h5"], ["3.h5", "3_part1.h5", "3_part2.h5", "3_part3.h5"]
    assert seen == [one, several] * 4
    assert turns["content"] == [{"series that differ": 0.0}]
    assert all(turn["receiver, µs"] > 0 for name, (turn,) in turns.items() if name != "content")
    assert not list(tmp_path.glob("*.h5")) and not list(tmp_path.glob("*.yaml"))


def test_a_receiver_is_measured_with_and_without_a_viewer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiver_costs, "PATTERN", (False, True, True, False))
    frames = Frames(name="", shape=(2000, 2000), count=60, rate=10, dtype="uint8")
    turns = viewer(Bench(folder=tmp_path), frames)
    assert [len(turns[name]) for name in ("without", "with a viewer")] == [2, 2]
    assert all(turn["loop, µs"] > 0 and turn["receiver, µs"] > 0 for turn in turns["without"])
    assert all(turn["frames got/s"] > 0 for turn in turns["with a viewer"])
    assert turns["handing over"][0]["share of the data path, %"] > 0
    assert not list(tmp_path.glob("*.h5")), "the file is removed"


def test_a_receiver_is_measured_with_each_number_of_regions(tmp_path: Path) -> None:
    frames = Frames(name="", shape=(1000, 1000), count=60, rate=60, compression="bslz4", pattern="powder")
    turns = regions(Bench(folder=tmp_path), frames)
    assert list(turns) == ["0 regions", "1 regions", "4 regions"]
    assert all(turn["loop, µs"] > 0 and turn["receiver, µs"] > 0 for (turn,) in turns.values())
    assert turns["0 regions"][0]["more than without, µs"] == 0
