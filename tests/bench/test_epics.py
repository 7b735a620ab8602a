"""What EPICS costs: each part with small frames, and what is said of it."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import pytest
from rich.console import Console

from penstock.bench import epics_pvapy, epics_report, in_child
from penstock.bench.epics import BRIDGE, CAMERA, Result, measure
from penstock.bench.epics_pvapy import Streaming, Turn
from penstock.bench.pipeline import Frames
from penstock.bench.pvapy_programs import Consumer, alone, source, within
from penstock.cli.main import main
from tests.third_party import program_of

CASE = Frames(name="64²", shape=(64, 64), count=40, rate=100.0, dtype="uint8")


def streaming(penstock: list[dict[str, float]]) -> Streaming:
    pvapy = Turn(spent={"source": 60.0, "consumers 1": 40.0}, missed=0.0)
    ours = [Turn(spent=spent, missed=0.004) for spent in penstock]
    return Streaming(case=CASE, consumers=2, stages=2, pvapy=[pvapy] * len(ours), penstock=ours)


@pytest.mark.slow
def test_camera_and_bridge_are_measured_beside_their_bare_parts(tmp_path: Path) -> None:
    said: list[str] = []
    found = list(measure(tmp_path, 1, said.append, [CASE]))
    assert [result.part for result in found] == [CAMERA, BRIDGE]
    for result in found:
        assert len(result.ours) == len(result.bare) == 1
        assert result.ours[0] > 0 and result.bare[0] > 0
    assert said == [f"{part}, 64², round {number} of 1" for part in (CAMERA, BRIDGE) for number in (0, 1)]


def test_the_median_of_the_rounds_is_compared_with_the_bar() -> None:
    result = Result(part=BRIDGE, case=CASE, ours=[30.0, 14.0, 10.0], bare=[10.0, 10.0, 10.0])
    assert result.ratio == pytest.approx(1.4) and result.reached
    assert not Result(part=BRIDGE, case=CASE, ours=[16.0], bare=[10.0]).reached
    assert Result(part=CAMERA, case=CASE, ours=[16.0], bare=[10.0]).reached


@pytest.mark.slow
@pytest.mark.parametrize(("consumers", "stages"), [(1, 1), (2, 2)])
def test_streaming_test_of_pvapy_is_measured_with_and_without_a_bridge(
    consumers: int, stages: int, tmp_path: Path
) -> None:
    program_of("processing", "pvapy-ad-sim-server")
    said: list[str] = []
    (found,) = epics_pvapy.measure(tmp_path, 1, said.append, [CASE.of(100)], [(consumers, stages)])
    of_consumers = {f"consumers {number}" for number in range(1, stages + 1)}
    (pvapy,), (ours,) = found.pvapy, found.penstock
    assert set(pvapy.spent) == {"source"} | of_consumers
    assert set(ours.spent) == {"generator", "receiver", "bridge"} | of_consumers
    assert all(spent > 0 for turn in (pvapy, ours) for spent in turn.spent.values())
    assert pvapy.missed <= 0.01 and ours.missed <= 0.01 and found.ratio > 0
    assert said[1:] == [
        f"pvapy, 64², {consumers} × {stages}, {who}, round 1 of 1" for who in ("PvaPy", "penstock")
    ]


@pytest.mark.slow
def test_a_run_in_which_frames_are_missed_says_nothing(tmp_path: Path) -> None:
    programs = program_of("processing", "pvapy-ad-sim-server").parent
    environment = alone()
    with ExitStack() as processes:
        source(programs, "T:IMAGE", CASE, environment, processes)
        half, other = (
            Consumer(tmp_path, programs, "T:IMAGE", 64, environment, processes, share=2) for _ in range(2)
        )
        _, missed = within([[half, other]], dict, CASE, 20)
        assert missed == 0.0
        with pytest.raises(RuntimeError, match=r"have missed 50\.0% of the frames"):
            within([[half]], dict, CASE, 20)


def test_streaming_table_has_both_totals_and_what_of_ours_is_receiver_and_bridge() -> None:
    spent = [
        {"generator": 20.0, "receiver": 50.0, "bridge": 70.0 + more, "consumers 1": 60.0}
        for more in (0.0, 50.0, 900.0)
    ]
    found = streaming(spent)
    assert found.ratio == 2.5
    console = Console(width=120)
    with console.capture() as printed:
        console.print(epics_report.streaming_table([found]))
    assert printed.get().splitlines()[-2].replace("│", "").split() == [
        "64²,", "100/s", "2", "→", "2", "100", "250", "2.50", "50", "120", "0.0%,", "0.4%",
    ]  # fmt: skip


def test_without_pvapy_it_says_what_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(in_child, "judges_path", lambda: None)
    assert main(["bench", "--epics", "--part", "pvapy", "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out) == []
    assert "not measured: beside pvaccess" in said.err and "make judges installs it" in said.err


def test_a_part_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--epics", "--part", "none"]) == 2
    assert "--part none; give one of camera, bridge, pvapy" in capsys.readouterr().err
