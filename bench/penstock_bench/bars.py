"""The bars: what a figure, or its ratio to a rival's, has to reach. This is the only place that says so."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable
from typing import NamedTuple

from penstock.stins.texts import plural
from penstock_bench.results import Group, median_error


class Bar(NamedTuple):
    """A requirement on one contender."""

    case: str
    of: str
    figure: str
    """One of its figures, or several that are added, see `Group.values`."""
    to: str = ""
    """Rival: then it is the ratio to its figure."""
    least: float | None = None
    most: float | None = None
    load: str = ""
    """Regular expression of whole names of loads; "" for all."""
    of_rounds: str = "median"
    """Or "worst"; or "within": the median less its standard error."""

    @property
    def wanted(self) -> str:
        """The bar as text, such as "≥ 0.9"."""
        return f"≥ {self.least:g}" if self.least is not None else f"≤ {self.most:g}"

    def on(self, group: Group) -> Verdict | None:
        """Judge what was measured; `None` if that says nothing about this bar."""
        if group.case != self.case or (self.load and not re.fullmatch(self.load, group.name)):
            return None
        values = (
            group.ratios(self.of, self.to, self.figure) if self.to else group.values(self.of, self.figure)
        )
        if not values:
            return None
        found = max(values) if self.of_rounds == "worst" else statistics.median(values)
        return Verdict(self, group, found - (median_error(values) if self.of_rounds == "within" else 0.0))


class Verdict(NamedTuple):
    """A bar, and what was found."""

    bar: Bar
    group: Group
    found: float

    @property
    def reached(self) -> bool:
        """True if it meets the bar."""
        bar = self.bar
        above = bar.least is None or self.found >= bar.least
        return above and (bar.most is None or self.found <= bar.most)


def verdicts(groups: Iterable[Group], bars: Iterable[Bar] | None = None) -> list[Verdict]:
    """Return every bar of what was measured."""
    found = (bar.on(group) for group in groups for bar in (BARS if bars is None else bars))
    return [verdict for verdict in found if verdict is not None]


C, BY_REFERENCE, WITH = "C: receive, pwrite", "by reference", "with six channels"
BARS = (
    # The receiver with one socket and one worker, on a RAM disk.
    *(Bar("contenders", "penstock", "frames/s", C, least=1.2 if load == "200 kB" else 1.0, load=load)
      for load in ("20 kB", "200 kB", "2 MB", "20 MB")),
    Bar("contenders", "penstock, unannounced", "frames/s", "penstock", least=0.85),
    Bar("contenders", "penstock", "frames/s", "naive", least=15.0, load="20 kB"),
    Bar("contenders", "penstock", "frames/s", "naive", least=4.0, load="200 kB"),
    Bar("contenders", "penstock", "frames/s", "naive", least=1.2, load="20 MB"),
    Bar("contenders", "penstock", "loop, µs", "bare pyzmq + h5py", most=1.25),
    # Two files; there is no bar for more, but every number has to store the same.
    Bar("files", "2 files", "receiver, µs", "1 file", most=1.15, load="20? MB, plain"),
    Bar("files", "2 files", "receiver, µs", "1 file", most=1.3, load=".* kB, plain|.* packed"),
    Bar("files", "content", "series that differ", most=0.0, of_rounds="worst"),
    Bar("latency", "RAM disk", "Arm → RUNNING, ms", most=150.0),
    Bar("latency", "disk, synced", "Arm → RUNNING, ms", most=150.0),
    Bar("latency", "RAM disk", "last frame → ON, ms", most=200.0),
    Bar("latency", "disk, synced", "last frame → ON, less its sync, ms", most=200.0),
    # 20 MB has no bar: a frame costs the loop as much as one of 2 MB, and the rate is a tenth.
    *(Bar(f"loop-{n}", f"{files} files, {plural(n, 'socket')}", "loop, µs",
          "live, 1 socket" if kb else f"live, {plural(n, 'socket')}", most=1.4 if kb else 1.15,
          load="200 kB" if kb else "2 MB")
      for kb in (True, False) for files in (2, 4) for n in (1, 2, 4)),
    # With 16 cores and more: GB/s of the receiver, and what is enough: see `cores.judged`.
    *(Bar("cores", f"judged: {what}", "of enough", least=1.0)
      for what in ("4 or 6 files", "2 modules", "4 modules", "live, 4 sockets")),
    Bar("viewer", "with a viewer", "loop, µs", "without", most=1.02, of_rounds="within"),
    Bar("viewer", "handing over", "share of the data path, %", most=2.0),
    Bar("viewer", "with a viewer", "frames got/s", least=4.0),
    Bar("consumers", BY_REFERENCE, "receiver, µs", "none", most=1.6, load="20 kB"),
    Bar("transforms", "the chain", "frames/s per thread", "libraries", least=0.9),
    Bar("eiger", "penstock", "frames/s", C, least=0.9, load="v[12], 1 kHz"),
    Bar("light", "light streamer", "files missing", most=0.0),
    Bar("window-frames", "window", "drawn/s", least=8.0, load="4 million pixels"),
    Bar("window-frames", "window", "drawn/s", least=4.0, load="16 million pixels"),
    Bar("window-frames", "window", "late, 99 %, ms", most=50.0),
    Bar("window-frames", "window", "late, worst, ms", most=200.0),
    Bar("window-frames", "window", "thread busy, %", most=50.0),
    Bar("window-file", "in the window", "opened in, s", most=1.0),
    Bar("window-results", "with the window", "late, 99 %, ms", most=50.0),
    Bar("window-results", "with the window", "drawn/s", least=5.0),
    Bar("window-results", "with the window", "frames done/s", "without", least=0.99),
    Bar("processing-cost", BY_REFERENCE, "added, µs", "loop", most=0.5, load=".* kB"),
    Bar("processing-cost", BY_REFERENCE, "added, µs", "loop", most=0.65, load=".* MB"),
    Bar("processing-cost", "by TCP", "added, µs", "loop", most=3.0),
    Bar("processing-cost", BY_REFERENCE, "receiver, µs", "none", most=1.6, load="20 kB"),
    # At a detector's rate, of the smallest frames; others are reported.
    Bar("processing-paced", BY_REFERENCE, "added, µs", "loop", most=1.2, load="16 kB.*"),
    Bar("processing-paced", "results", "late, 99 %, ms", most=50.0, load="16 kB.*"),
    *(Bar("processing-recorded", workers, "distributor, µs", most=500.0, load="plain")
      for workers in ("1 worker", "2 workers", "4 workers")),
    Bar("processing-sharing", "8 workers that wait", "frames/s", "1 worker that waits", least=7.5),
    Bar("processing-sharing", "8 workers that wait", "unlike an equal share, %", most=2.0),
    Bar("processing-sharing", "workers that compute", "receiver and distributor, % of workers", most=6.0),
    Bar("processing-kills", "3 workers", "longest pause, ms", most=100.0),
    Bar("processing-dranspose", BY_REFERENCE, "events/s", "dranspose", least=5.0, load="20 kB"),
    Bar("processing-dranspose", "by TCP", "events/s", "dranspose", least=2.5, load="20 kB"),
    Bar("processing-dranspose", BY_REFERENCE, "events/s", "dranspose", least=2.0, load="200 kB"),
    Bar("processing-pvapy", "penstock", "all, µs", "PvaPy", most=0.7, load="4096².*"),
    Bar("processing-pvapy", "penstock", "all, µs", "PvaPy", most=1.0, load="512².*"),
    Bar("processors-azimuthal", "worker", "µs per frame", "unpacking + product", most=1.25),
    Bar("processors-azimuthal", "worker", "µs per frame", "pyFAI in a worker", most=0.3),
    Bar("processors-azimuthal", "no matrix yet", "curve after its frame, ms", most=500.0),
    Bar("processors-azimuthal", "matrix there", "ready after, s", most=1.0),
    Bar("processors-azimuthal", "beside another geometry", "longest frame, ms", most=200.0),
    Bar("processors-electrons", "stempy", "µs per frame", "worker", least=5.0),
    Bar("processors-pvapy", "worker", "ours, µs", most=100.0),
    *(Bar(case, WITH, figure, "without", least, most)
      for case in ("processors-channels", "processors-epics")
      for figure, least, most in (("frames/s", 0.95, None), ("distributor, µs+workers, µs", None, 1.25))),
    *(Bar(case, WITH, "values lacking", most=0.0, load="1,000 frames/s", of_rounds="worst")
      for case in ("processors-channels", "processors-epics")),
    Bar("epics-camera", "penstock", "process, µs", "bare parts", most=2.5),
    Bar("epics-bridge", "penstock", "process, µs", "bare parts", most=1.5),
    Bar("sardana", "the detector", "more than the dummy, ms", most=50.0),
    Bar("soak", "data process", "of its budget, %", most=100.0),
    Bar("soak", "data process", "second half, % of the first", most=105.0),
    Bar("soak", "data process", "written, % of offered", most=70.0),
    Bar("soak-panel", "one panel", "growth per series, kB", most=50.0),
    Bar("soak-panel", "one panel", "threads left", most=0.0),
    Bar("soak-panel", "ten panels, idle", "more of a core, %", most=5.0),
    Bar("soak-panel", "ten panels, running", "more of a core, %", most=5.0),
)  # fmt: skip
