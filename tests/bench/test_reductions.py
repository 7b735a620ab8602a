"""What the built-in processors cost: the bars, and short measurements beside the programs of others."""

from __future__ import annotations

import json
from importlib import import_module

import pytest

from penstock.bench import in_child, reductions, reductions_epics, reductions_report
from penstock.bench.pipeline import Frames
from penstock.bench.reductions import PARTS, Figure, NotMeasured, measured, median_ratio
from penstock.cli.main import main
from tests.third_party import program_of


def figure(found: float, **keys: object) -> Figure:
    return Figure(part="a", text="b", found=found, bar=5.0, values={"x": [1.0, 3.0, 2.0]}, **keys)  # type: ignore[arg-type]


def test_a_bar_is_the_most_or_the_least() -> None:
    assert figure(5.0).reached and not figure(5.1).reached
    assert figure(5.0, least=True).reached and not figure(4.9, least=True).reached
    assert median_ratio([4, 90, 8], [2, 3, 2]) == 4


def test_a_part_that_cannot_be_measured_is_said_and_the_others_are_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def found(names: object, rounds: int, progress: object) -> list[object]:
        return [NotMeasured("a: there is no b"), figure(6.0)]

    monkeypatch.setattr(reductions_report, "measured", found)
    assert reductions_report.report([], 3, as_json=True) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["figures"][0]["reached"] is False
    assert "not measured: a: there is no b" in said.err and "MISSED" in said.err


@pytest.mark.parametrize("name", ["electrons", "pvapy"])
def test_a_part_without_the_programs_of_others_says_what_installs_them(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_child, "judges_path", lambda: None)
    with pytest.raises(NotMeasured, match="make judges installs it"):
        list(import_module(PARTS[name]).measure(1, lambda text: None))


def test_a_part_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--reductions", "--part", "none"]) == 2
    assert f"--part none; give one of {', '.join(PARTS)}" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("name", ["electrons", "pvapy"])
def test_a_short_measurement_has_figures(name: str) -> None:
    program_of("processing", "python")
    (found,) = measured([name], 1, lambda text: None)
    assert isinstance(found, reductions.Figure) and found.found > 0
    assert all(len(rounds) == 1 for rounds in found.values.values())


@pytest.mark.slow
def test_azimuthal_integration_is_measured_beside_pyfai_and_is_equal() -> None:
    found = list(measured(["azimuthal"], 1, lambda text: None))
    assert len(found) == 5
    assert all(isinstance(each, Figure) and each.found >= 0 for each in found)


@pytest.mark.slow
def test_six_epics_records_are_joined_to_frames_in_a_short_measurement() -> None:
    frames = Frames(name="short", shape=(100, 100), count=500, rate=250.0)
    rate, spent, lacking = reductions_epics.measure(1, lambda text: None, (frames,))
    assert rate.found > 0 and spent.found > 0
    assert lacking.found < 0.1 * 6 * frames.count  # all but what a busy machine keeps the IOC from
