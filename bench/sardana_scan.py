"""`make bench-sardana`: what a detector costs a Sardana scan, and how fast a continuous scan may be.

A step scan of the simulated detector is compared with the same scan of Sardana's own DummyTwoDController,
which takes no image and writes no file: in turns, in one Sardana, with the same motor and timer. Then
continuous scans of growing rate, until one loses a frame or a reference, or does not keep the pace.

Examples:
  python -m penstock.bench.sardana_scan                     seven turns of 51 points, then the rates
  python -m penstock.bench.sardana_scan --turns 3 --json    fewer, for a machine
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import h5py
import numpy as np

from penstock.hosts.child import ProcessFailed
from penstock.sardana.door import MacroTimeout
from penstock.sardana.laboratory.laboratory import Laboratory, LaboratoryFailed, Unit

LIMIT = 0.050
"""Seconds per point that the detector may cost more than the dummy."""
EXPOSURE = 0.01
POINTS = 51
RATES = (100, 200, 500, 1000, 2000, 4000, 8000)
"""Hz."""
SECONDS_OF_RATE = 5.0
UNIT = Unit("sim", {"SensorWidth": 256, "SensorHeight": 256, "ReadoutTime": 1e-5})
DUMMY = "dummy2d"


@dataclass(frozen=True, kw_only=True)
class Rate:
    """One continuous scan."""

    hertz: int
    points: int
    seconds: float
    """From the first frame to the last, by the host's clock."""
    lost: int
    """Points without a frame or without a reference."""
    ending: str

    @property
    def sound(self) -> bool:
        """True if nothing is missing and the pace was kept."""
        return (
            self.ending == "finish" and not self.lost and self.seconds < 1.05 * (self.points - 1) / self.hertz
        )


@dataclass(frozen=True, kw_only=True)
class Report:
    """What was measured."""

    exposure: float
    timer: list[float]
    """Seconds per point without any image, median of each turn."""
    dummy: list[float]
    """The same with Sardana's dummy."""
    detector: list[float]
    rates: list[Rate]

    @property
    def overhead(self) -> float:
        """Additional seconds per point with the detector: median over the turns."""
        return statistics.median(
            ours - theirs for ours, theirs in zip(self.detector, self.dummy, strict=True)
        )

    @property
    def highest(self) -> int:
        """Highest rate in Hz up to which every scan was sound."""
        sound = 0
        for rate in self.rates:
            if not rate.sound:
                break
            sound = rate.hertz
        return sound


def measure(folder: Path, turns: int, rates: Sequence[int]) -> Report:
    """Set the laboratory up and measure.

    Raises:
        ProcessFailed, LaboratoryFailed: a part of it cannot be set up.
        MacroTimeout: a scan hangs.
    """
    with Laboratory(folder, [UNIT]) as laboratory:
        laboratory.define("defctrl", "DummyTwoDController", "dummyctrl")
        laboratory.define("defelem", DUMMY, "dummyctrl", "1")
        laboratory.define("defmeas", "with_dummy", "ct01", DUMMY)
        laboratory.define("defmeas", "with_detector", "ct01", UNIT.name)
        laboratory.define("set_meas_conf", "ValueRefEnabled", "True", UNIT.name, "with_detector")
        laboratory.define("senv", "ScanFile", "bench.h5")
        laboratory.define("defmeas", "with_timer", "ct01")
        timer: list[float] = []
        dummy: list[float] = []
        detector: list[float] = []
        groups = (("with_timer", timer), ("with_dummy", dummy), ("with_detector", detector))
        for turn in range(turns + 1):
            for group, into in groups:
                seconds = _per_point(laboratory, group)
                if turn:  # the first includes imports and the filling of caches
                    into.append(seconds)
        laboratory.define("senv", "ActiveMntGrp", laboratory.fly_group)
        found: list[Rate] = []
        for hertz in rates:
            found.append(_fly(laboratory, hertz))
            if not found[-1].sound:
                break
    return Report(exposure=EXPOSURE, timer=timer, dummy=dummy, detector=detector, rates=found)


def _per_point(laboratory: Laboratory, group: str) -> float:
    laboratory.define("senv", "ActiveMntGrp", group)
    laboratory.define("mv", "mot01", "0")
    laboratory.define("ascan", "mot01", "0", "0.1", str(POINTS - 1), str(EXPOSURE))
    with h5py.File(laboratory.data / "bench.h5", locking=False) as file:
        moments = file[_newest(file)]["measurement/dt"][()]
    return float(statistics.median(later - sooner for sooner, later in pairwise(moments)))


def _fly(laboratory: Laboratory, hertz: int) -> Rate:
    points = max(11, round(SECONDS_OF_RATE * hertz) + 1)
    laboratory.define("mv", "mot01", "0")
    period = 1.0 / hertz
    seconds = str(period * 0.9)
    run = laboratory.run(
        "ascanct", "mot01", "0", "1", str(points - 1), seconds, str(period * 0.1), timeout=120.0
    )
    detector = laboratory.detector(UNIT.name)
    with h5py.File(laboratory.data / "bench.h5", locking=False) as file:
        status = file[_newest(file)][f"measurement/{UNIT.name}_status"][()]
    account = json.loads(detector.LastSeries)
    with h5py.File(account["file"], locking=False) as file:
        moments = file[detector.FileDataset].parent["timestamp"][()]
    return Rate(
        hertz=hertz, points=points, seconds=float(np.nanmax(moments) - np.nanmin(moments)),
        lost=points - int((status == 1).sum()), ending=run.ending,
    )  # fmt: skip


def _newest(file: h5py.File) -> str:
    entries = [str(name) for name in file if name.startswith("entry")]
    return max(entries, key=lambda name: int(name.removeprefix("entry")))


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; return 0 if the limit is kept."""
    title, _, text = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=title, epilog=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--rates", type=int, nargs="*", default=RATES, metavar="HZ")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        try:
            report = measure(Path(folder), args.turns, args.rates)
        except (ProcessFailed, LaboratoryFailed, MacroTimeout) as error:
            print(f"bench-sardana: {error}", file=sys.stderr)
            return 2
    if args.json:
        print(json.dumps({**asdict(report), "overhead": report.overhead, "highest": report.highest}))
    else:
        _print(report)
    return 0 if report.overhead <= LIMIT else 1


def _print(report: Report) -> None:
    kept = "kept" if report.overhead <= LIMIT else "NOT kept"
    print(
        f"Step scan of {POINTS} points of {EXPOSURE * 1e3:g} ms, per point, {len(report.dummy)} turns:\n"
        f"  the timer alone      {statistics.median(report.timer) * 1e3:6.1f} ms\n"
        f"  Sardana's DummyTwoD  {statistics.median(report.dummy) * 1e3:6.1f} ms\n"
        f"  the detector         {statistics.median(report.detector) * 1e3:6.1f} ms\n"
        f"  difference           {report.overhead * 1e3:6.1f} ms   (limit {LIMIT * 1e3:g} ms: {kept})\n"
        "Continuous scans (ascanct):"
    )
    for rate in report.rates:
        word = "sound" if rate.sound else "NOT sound"
        print(
            f"  {rate.hertz:5d} Hz  {rate.points:6d} points  {rate.seconds:6.2f} s  {rate.lost} lost  "
            f"{rate.ending}: {word}"
        )
    print(f"  highest rate without loss: {report.highest} Hz")


if __name__ == "__main__":
    sys.exit(main())
