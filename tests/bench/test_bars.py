"""Bars say what has to be reached, of figures and loads that there are."""

from __future__ import annotations

import re

import pytest

from penstock_bench.bars import BARS, Bar, verdicts
from penstock_bench.cases import CASES
from penstock_bench.results import Turns
from tests.bench.canned import group, results

BY_NAME = {case.name: case for case in CASES}


@pytest.mark.parametrize("bar", BARS, ids=lambda bar: f"{bar.case} {bar.of} {bar.figure} {bar.load}")
def test_a_bar_belongs_to_a_case_and_its_loads_and_has_one_limit(bar: Bar) -> None:
    names = [str(getattr(load, "name", load)) for load in BY_NAME[bar.case].loads]
    assert not bar.load or any(re.fullmatch(bar.load, name) for name in names)
    assert (bar.least is None) != (bar.most is None)


def test_every_bar_of_the_page_is_judged_in_a_whole_run() -> None:
    of_page = {group.case for group in results().groups}
    found = {verdict.bar for verdict in verdicts(results().groups)}
    assert found == {bar for bar in BARS if bar.case in of_page}
    assert all(verdict.reached for verdict in verdicts(results().groups))


def turns(**figures: dict[str, list[float]]) -> Turns:
    """Turns of contenders: by name, and by figure, a value for each round."""
    return {
        name: [dict(zip(of, values, strict=True)) for values in zip(*of.values(), strict=True)]
        for name, of in figures.items()
    }


TWO_FILES = {"1 file": {"receiver, µs": [100.0]}, "2 files": {"receiver, µs": [116.0]}}
LOOP = {
    "live, 1 socket": {"loop, µs": [100.0, 200.0, 300.0]},
    "live, 4 sockets": {"loop, µs": [200.0, 400.0, 600.0]},
}


@pytest.mark.parametrize(
    ("case", "load", "measured", "missed"),
    [
        # of neighbouring turns the median counts: something else runs in one round
        ("contenders", "20 kB", {"penstock": {"frames/s": [1500.0, 99.0, 101.0]},
                                 "C: receive, pwrite": {"frames/s": [1000.0, 100.0, 100.0]}}, 0),
        ("contenders", "20 kB", {"penstock": {"frames/s": [100.0], "loop, µs": [126.0]},
                                 "naive": {"frames/s": [10.0], "loop, µs": [1.0]},
                                 "bare pyzmq + h5py": {"frames/s": [9e9], "loop, µs": [100.0]}}, 2),
        ("contenders", "20 kB", {"penstock": {"frames/s": [100.0]},
                                 "penstock, unannounced": {"frames/s": [84.0]}}, 1),
        ("files", "2 MB, plain", TWO_FILES, 1),
        ("files", "20 kB, plain", TWO_FILES, 0),
        ("files", "20 kB, plain", {"content": {"series that differ": [1.0]}}, 1),
        ("latency", "RAM disk", {"RAM disk": {"Arm → RUNNING, ms": [100.0, 151.0, 9e3],
                                              "last frame → ON, ms": [200.0, 200.0, 200.0]}}, 1),
        ("loop-1", "2 MB", {**LOOP, "4 files, 1 socket": {"loop, µs": [114.0, 232.0, 345.0]}}, 0),
        ("loop-4", "2 MB", {**LOOP, "4 files, 4 sockets": {"loop, µs": [228.0, 464.0, 690.0]}}, 0),
        ("loop-4", "200 kB", {**LOOP, "4 files, 4 sockets": {"loop, µs": [228.0, 464.0, 690.0]}}, 1),
        ("viewer", "uint16, 8 MB", {"without": {"loop, µs": [1000.0] * 3},
                                    "with a viewer": {"loop, µs": [1000.0, 1010.0, 1000.0],
                                                      "frames got/s": [5.0] * 3}}, 0),
        ("viewer", "uint16, 8 MB", {"without": {"loop, µs": [1000.0] * 3},
                                    "with a viewer": {"loop, µs": [1100.0, 1100.0, 1110.0],
                                                      "frames got/s": [1.0] * 3}}, 2),
        ("viewer", "uint16, 8 MB", {"handing over": {"share of the data path, %": [5.0]}}, 1),
        ("consumers", "20 kB", {"none": {"receiver, µs": [10.0, 90.0, 10.0]},
                                "by reference": {"receiver, µs": [15.0, 99.0, 99.0]}}, 0),
        ("eiger", "v1, 1 kHz", {"penstock": {"frames/s": [800.0, 800.0, 990.0]},
                                "C: receive, pwrite": {"frames/s": [1000.0] * 3}}, 1),
        ("eiger", "v1, as fast as taken", {"penstock": {"frames/s": [800.0]},
                                           "C: receive, pwrite": {"frames/s": [1000.0]}}, 0),
        ("window-frames", "16 million pixels", {"window": {"drawn/s": [3.9], "late, 99 %, ms": [60.0],
                                                           "late, worst, ms": [201.0],
                                                           "thread busy, %": [51.0]}}, 4),
        ("window-file", "100,000 frames", {"in the window": {"opened in, s": [0.2, 1.1, 1.4]},
                                           "by the command": {"opened in, s": [9.0] * 3}}, 1),
        ("window-results", "100 curves/s", {"without": {"frames done/s": [100.0]},
                                            "with the window": {"frames done/s": [98.0], "drawn/s": [4.9],
                                                                "late, 99 %, ms": [51.0]}}, 3),
        ("processing-cost", "20 kB", {"loop": {"added, µs": [50.0, 250.0, 50.0]},
                                      "by reference": {"added, µs": [30.0, 150.0, 30.0]},
                                      "by TCP": {"added, µs": [150.0, 750.0, 150.0]}}, 1),
        ("processing-cost", "4.2 MB", {"loop": {"added, µs": [50.0]},
                                       "by reference": {"added, µs": [30.0]}}, 0),
        ("processing-paced", "4.2 MB at 60/s", {"results": {"late, 99 %, ms": [60.0]}}, 0),
        ("processing-paced", "16 kB at 600/s", {"results": {"late, 99 %, ms": [60.0]}}, 1),
        ("processing-recorded", "plain", {"2 workers": {"distributor, µs": [400.0, 501.0, 600.0]}}, 1),
        ("processing-recorded", "packed", {"2 workers": {"distributor, µs": [9e9]}}, 0),
        ("processing-sharing", "20 kB", {"1 worker that waits": {"frames/s": [50.0, 40.0]},
                                         "8 workers that wait": {"frames/s": [380.0, 304.0],
                                                                 "unlike an equal share, %": [1.0, 4.0]}}, 1),
        ("processing-kills", "20 kB at 1000/s", {"3 workers": {"longest pause, ms": [200.0]}}, 1),
        ("processing-dranspose", "20 kB", {"dranspose": {"events/s": [1000.0]},
                                           "by reference": {"events/s": [6000.0]},
                                           "by TCP": {"events/s": [2000.0]}}, 1),
        ("processing-pvapy", "4096² at 60/s", {"PvaPy": {"all, µs": [100.0, 100.0]},
                                               "penstock": {"all, µs": [60.0, 80.0]}}, 0),
        ("processors-channels", "1,000 frames/s", {"without": {"frames/s": [1000.0] * 2},
                                                   "with six channels": {"frames/s": [940.0, 950.0],
                                                                         "values lacking": [0.0, 1.0]}}, 2),
        ("epics-camera", "512² at 200/s", {"bare parts": {"process, µs": [10.0]},
                                           "penstock": {"process, µs": [16.0]}}, 0),
        ("epics-bridge", "512² at 200/s", {"bare parts": {"process, µs": [10.0] * 3},
                                           "penstock": {"process, µs": [30.0, 16.0, 10.0]}}, 1),
        ("cores", "2 MB", {"judged: 2 modules": {"of enough": [0.9]}}, 1),
        ("soak", "", {"data process": {"of its budget, %": [101.0], "second half, % of the first": [106.0],
                                       "written, % of offered": [98.0]}}, 3),
        ("soak-panel", "", {"one panel": {"growth per series, kB": [51.0], "threads left": [1.0]},
                            "ten panels, idle": {"more of a core, %": [4.0]}}, 2),
    ],
)  # fmt: skip
def test_what_misses_its_bars(
    case: str, load: str, measured: dict[str, dict[str, list[float]]], missed: int
) -> None:
    found = verdicts([group(case, load, turns(**measured))])
    assert sum(not verdict.reached for verdict in found) == missed


def test_what_has_no_rival_in_the_same_run_is_not_judged() -> None:
    assert verdicts([group("contenders", "20 kB", turns(penstock={"frames/s": [100.0]}))]) == []


def test_a_bar_is_told_as_a_limit() -> None:
    assert Bar("", "", "", least=0.9).wanted == "≥ 0.9" and Bar("", "", "", most=15.0).wanted == "≤ 15"
