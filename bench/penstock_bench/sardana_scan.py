"""What a detector costs a Sardana scan, and how fast a continuous scan may be.

A step scan of the simulated detector is compared with the same scan of Sardana's own DummyTwoDController,
which takes no image and writes no file: in turns, in one Sardana, with the same motor and timer. Then
continuous scans of growing rate, until one loses a frame or a reference, or does not keep the pace.
"""

from __future__ import annotations

import json
import statistics
from functools import partial
from itertools import pairwise

import h5py
import numpy as np

from penstock.sardana.door import MacroTimeout
from penstock.sardana.laboratory.laboratory import Laboratory, LaboratoryFailed, Unit
from penstock_bench.results import Turn, Turns, add_difference
from penstock_bench.runner import Bench

EXPOSURE, POINTS = 0.01, 51
LOWEST, GROWTH = 125.0, 2.0
"""Hz of the first continuous scan; factor to the next one."""
SECONDS_OF_RATE, PACE = 5.0, 1.05
"""Length of a continuous scan; factor by which it may take longer."""
UNIT = Unit("sim", {"SensorWidth": 256, "SensorHeight": 256, "ReadoutTime": 1e-5})
TIMER, DUMMY, DETECTOR = "the timer alone", "DummyTwoD", "the detector"


def scans(bench: Bench, load: str) -> Turns:
    """Let timer, dummy and detector take the same step scan; then scan continuously, up to `hertz`."""
    try:
        with Laboratory(bench.folder / "laboratory", [UNIT]) as laboratory:
            for words in (
                ("defctrl", "DummyTwoDController", "dummyctrl"), ("defelem", "dummy2d", "dummyctrl", "1"),
                ("defmeas", "with_dummy", "ct01", "dummy2d"), ("defmeas", "with_detector", "ct01", UNIT.name),
                ("set_meas_conf", "ValueRefEnabled", "True", UNIT.name, "with_detector"),
                ("senv", "ScanFile", "bench.h5"), ("defmeas", "with_timer", "ct01"),
            ):  # fmt: skip
                laboratory.define(*words)
            groups = {TIMER: "with_timer", DUMMY: "with_dummy", DETECTOR: "with_detector"}
            takers = {name: partial(_per_point, laboratory, group) for name, group in groups.items()}
            turns = bench.in_turn(takers, warm_up=1)  # imports, and the filling of caches
            add_difference(turns, DUMMY, "per point, ms", "more than the dummy, ms")
            laboratory.define("senv", "ActiveMntGrp", laboratory.fly_group)
            hertz, is_sound = LOWEST, True
            while hertz <= bench.options["hertz"] and is_sound:
                bench.say(f"{hertz:g} Hz")
                turn, ending = _fly(laboratory, hertz)
                is_sound = ending == "finish" and sound(turn, hertz)
                turns[f"{hertz:g} Hz, {'sound' if is_sound else 'NOT sound'}"] = [turn]
                hertz *= GROWTH
    except (LaboratoryFailed, MacroTimeout) as error:
        raise RuntimeError(str(error)) from error
    return turns


def _per_point(laboratory: Laboratory, group: str) -> Turn:
    laboratory.define("senv", "ActiveMntGrp", group)
    laboratory.define("mv", "mot01", "0")
    laboratory.define("ascan", "mot01", "0", "0.1", str(POINTS - 1), str(EXPOSURE))
    with h5py.File(laboratory.data / "bench.h5", locking=False) as file:
        moments = file[_newest(file)]["measurement/dt"][()]
    return {"per point, ms": 1e3 * statistics.median(later - sooner for sooner, later in pairwise(moments))}


def _fly(laboratory: Laboratory, hertz: float) -> tuple[Turn, str]:
    points = max(11, round(SECONDS_OF_RATE * hertz) + 1)
    laboratory.define("mv", "mot01", "0")
    words = ("mot01", "0", "1", str(points - 1), str(0.9 / hertz), str(0.1 / hertz))
    run = laboratory.run("ascanct", *words, timeout=120.0)
    detector = laboratory.detector(UNIT.name)
    with h5py.File(laboratory.data / "bench.h5", locking=False) as file:
        status = file[_newest(file)][f"measurement/{UNIT.name}_status"][()]
    account = json.loads(detector.LastSeries)
    with h5py.File(account["file"], locking=False) as file:
        moments = file[detector.FileDataset].parent["timestamp"][()]
    seconds, lost = float(np.nanmax(moments) - np.nanmin(moments)), points - int((status == 1).sum())
    return {"points": float(points), "seconds": seconds, "lost": float(lost)}, run.ending


def sound(turn: Turn, hertz: float) -> bool:
    """Return whether nothing is missing and the pace was kept."""
    return not turn["lost"] and turn["seconds"] < PACE * (turn["points"] - 1) / hertz


def _newest(file: h5py.File) -> str:
    entries = [str(name) for name in file if name.startswith("entry")]
    return max(entries, key=lambda name: int(name.removeprefix("entry")))
