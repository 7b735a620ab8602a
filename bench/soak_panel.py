"""`make soak-panel`: a control panel that follows 200 series, and ten panels on one device.

A panel runs in a control room for months: its memory must not grow with the series that it has seen, and
no thread may be left once it is closed. Ten panels must hardly load a device: the processor time of its
server is measured without them and with them, in turns, idle and while a series runs.

Examples:
  python -m penstock.bench.soak_panel                      200 series, then ten panels
  python -m penstock.bench.soak_panel --series 60 --json   fewer, for a machine
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from penstock.beamline.demonstration import Demonstration
from penstock.hosts.child import PENSTOCK, Child

GROWTH_LIMIT = 50_000
"""Bytes per series, once caches are filled."""
WARM = 20
"""Series after which caches (fonts, icons, colour maps) are filled."""
EDGE = 15
"""Series at either end of which the median is taken: memory goes up and down by some pages."""
PANELS = 10
SERVER_LIMIT = 0.05
"""Share of one core, for all of them together."""
STRETCH = 10.0
"""Seconds of one measurement of processor time."""
PATIENCE = 30.0
DEADLINE = 5.0
"""Seconds in which every call that was under way has ended."""
TICKS = os.sysconf("SC_CLK_TCK")


class SoakError(Exception):
    """A step of the soak failed; the sentence says which."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """What was measured."""

    series: int
    growth: float
    """Bytes per series."""
    memory: int
    """Of the whole process at the end, in bytes."""
    threads_left: list[str]
    server_idle: float
    """Additional share of a core that the server needs for ten panels, without a series."""
    server_running: float
    """The same while a series of 50 frames/s runs."""

    @property
    def failures(self) -> list[str]:
        """Requirements that were not met."""
        found = []
        if self.growth >= GROWTH_LIMIT:
            found.append(
                f"the panel grew by {self.growth / 1e3:.1f} kB per series; "
                f"allowed are {GROWTH_LIMIT / 1e3:g} kB"
            )
        if self.threads_left:
            found.append(f"threads are left after closing: {', '.join(self.threads_left)}")
        for share, when in ((self.server_idle, "idle"), (self.server_running, "running")):
            if share >= SERVER_LIMIT:
                found.append(
                    f"{PANELS} panels cost the server of the {when} device {share:.1%} of a core; allowed is "
                    f"{SERVER_LIMIT:.0%}"
                )
        return found


def soak(
    demonstration: Demonstration, series: int, progress: Callable[[int], None]
) -> tuple[float, int, list[str]]:
    """Follow so many series in one panel; return growth in bytes per series, memory at the end in bytes, and
    threads left."""
    from silx.gui import qt

    from penstock.gui.model.actions import Action
    from penstock.gui.model.detector import DetectorModel
    from penstock.gui.model.tango.link import TangoDevice
    from penstock.gui.panel.detector_panel import DetectorPanel

    application = qt.QApplication.instance() or qt.QApplication(["soak-panel"])
    qt.qInstallMessageHandler(lambda *_: None)  # complaints of the offscreen platform

    def until(condition: Callable[[], object], what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            application.processEvents(qt.QEventLoop.AllEvents | qt.QEventLoop.WaitForMoreEvents, 20)
            if time.monotonic() > end:
                raise SoakError(f"{what}: not within {PATIENCE:g} s; {model.view().status}")

    def opened() -> DetectorPanel:
        name = f"tango://{demonstration.tango_host}/{demonstration.detector}"
        shown = DetectorPanel(DetectorModel(name, TangoDevice(name)))
        shown.resize(1280, 800)
        shown.show()
        return shown

    def closed(shown: DetectorPanel) -> set[threading.Thread]:
        shown.close()
        shown.wait_closed()
        shown.deleteLater()
        application.processEvents()
        # Threads that Python has not made are Tango's own, which stay, or omniORB's, which come and go.
        return {each for each in threading.enumerate() if not isinstance(each, threading._DummyThread)}

    wake = qt.QTimer()
    wake.start(20)
    panel = opened()
    model = panel.model
    until(lambda: model.view().here, "the device")
    before = closed(panel)
    panel = opened()
    model = panel.model
    until(lambda: model.view().here and model.view().state == "ON", "the device")
    for setting, text in (("ExposureTime", "1 ms"), ("nTriggers", "20"), ("TriggerMode", "INTERNAL")):
        model.set(setting, text)
    model.set("DestinationFilename", f"{demonstration.folder}/soak_0001.h5")
    until(lambda: not model.view().edits, "the settings")
    samples = []
    for number in range(series):
        last = model.view().last
        until(lambda: not model.view().allowed[Action.ARM], "ready to arm")
        model.do(Action.ARM)
        until(lambda: model.view().last != last and model.view().state == "ON", f"series {number + 1}")  # noqa: B023
        ended = model.view().last
        if ended is None or not ended.complete:
            raise SoakError(f"series {number + 1}: {model.view().status}")
        Path(ended.file).unlink()
        gc.collect()
        samples.append(_resident())
        progress(number + 1)
    left = closed(panel) - before
    end = time.monotonic() + DEADLINE
    while any(each.is_alive() for each in left) and time.monotonic() < end:
        time.sleep(0.05)  # a call under way, such as the search for a file, ends by its own deadline
    names = [each.name for each in left if each.is_alive()]
    return _growth(samples), samples[-1], names


def _growth(samples: list[int]) -> float:
    warm = samples[min(WARM, len(samples) // 3) :]
    edge = max(1, min(EDGE, len(warm) // 3))
    first, last = statistics.median(warm[:edge]), statistics.median(warm[-edge:])
    return (last - first) / max(1, len(warm) - edge)


def _resident() -> int:
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise SoakError("/proc/self/smaps_rollup names no Pss; this needs Linux 4.14 or later")


def many(demonstration: Demonstration, stretch: float) -> tuple[float, float]:
    """Return the additional share of a core that the server needs for ten panels: idle, and in a series."""
    import tango

    detector = tango.DeviceProxy(f"tango://{demonstration.tango_host}/{demonstration.detector}")
    detector.ExposureTime = 0.018

    def measure() -> tuple[float, float]:
        idle = _share(demonstration.server_pid, stretch)
        detector.Continuous()
        running = _share(demonstration.server_pid, stretch)
        detector.Stop()
        return idle, running

    without = [measure()]
    with ExitStack() as stack:
        for _ in range(PANELS):
            stack.enter_context(_panel(demonstration))
        with_them = [measure(), measure()]
    without.append(measure())
    idle, running = (
        statistics.mean(each[place] for each in with_them) - statistics.mean(each[place] for each in without)
        for place in (0, 1)
    )
    return idle, running


def _panel(demonstration: Demonstration) -> Child[bool]:
    return Child(
        "a panel",
        [*PENSTOCK, "panel", f"tango://{demonstration.tango_host}/{demonstration.detector}"],
        lambda line: True if line.startswith("following ") else None,
        deadline=60.0,
        environment={"QT_QPA_PLATFORM": "offscreen", "TANGO_HOST": demonstration.tango_host},
    )


def _share(pid: int, seconds: float) -> float:
    """Return the share of a core that a process takes, over so many seconds."""
    begun, ticks = time.monotonic(), _ticks(pid)
    threading.Event().wait(seconds)
    return (_ticks(pid) - ticks) / TICKS / (time.monotonic() - begun)


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def main() -> int:
    """Run it; return 0 if all requirements are met."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0], formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--series", type=int, default=200, metavar="N", help="series to follow (%(default)s)")
    parser.add_argument(
        "--stretch", type=float, default=STRETCH, metavar="S", help="seconds per measurement (%(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON only")
    args = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

    def progress(number: int) -> None:
        if not args.json and sys.stderr.isatty():
            print(f"\rseries {number} of {args.series}", end="", file=sys.stderr, flush=True)

    try:
        with (
            tempfile.TemporaryDirectory(prefix="penstock-soak-") as folder,
            Demonstration(Path(folder)) as line,
        ):
            growth, memory, left = soak(line, args.series, progress)
            idle, running = many(line, args.stretch)
    except SoakError as error:
        print(f"soak-panel: {error}", file=sys.stderr)
        return 1
    report = Report(
        series=args.series,
        growth=growth,
        memory=memory,
        threads_left=left,
        server_idle=idle,
        server_running=running,
    )
    if args.json:
        print(json.dumps({**asdict(report), "failures": report.failures}))
    else:
        print(
            f"\n{report.series} series in one panel: {report.growth / 1e3:+.1f} kB per series, "
            f"{report.memory / 1e6:.0f} MB at the end, threads left: {len(left)}\n"
            f"{PANELS} panels cost the device's server {idle:+.2%} of a core while it is idle, "
            f"{running:+.2%} while it takes 50 frames/s"
        )
        for failure in report.failures:
            print(f"FAILED: {failure}", file=sys.stderr)
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
