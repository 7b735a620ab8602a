"""A control panel that runs for long, as in a control room.

Its memory must not grow with the series that it has seen, and no thread may be left once it is closed. Ten
panels must hardly load a device: the processor time of its server is measured without them and with them,
idle and while a series runs.
"""

from __future__ import annotations

import gc
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from penstock.beamline.demonstration import Demonstration
from penstock.hosts.child import PENSTOCK, Child
from penstock_bench.receivers import DEADLINE, poll, process_seconds, pss, says
from penstock_bench.results import Turn, Turns
from penstock_bench.runner import Bench

WARM, EDGE = 20, 15
"""Series after which the panel's caches (fonts, icons, colour maps) are filled; series at either end of which
the median is taken: memory goes up and down by some pages."""
PANELS = 10
CLOSING_SECONDS = 5.0
"""In which every call that was under way has ended."""


def panel(bench: Bench, load: str) -> Turns:
    """Let one panel follow so many `series`, and ten panels share a device, measured for `seconds` each."""
    with Demonstration(bench.folder / "panel") as line:
        one = follow(line, bench.options["series"], bench.say)
        bench.say("ten panels")
        idle, running = many(line, bench.options["seconds"])
    more = {"ten panels, idle": idle, "ten panels, running": running}
    return {"one panel": [one]} | {name: [{"more of a core, %": 100 * share}] for name, share in more.items()}


def follow(demonstration: Demonstration, series: int, say: Callable[[str], None]) -> Turn:
    """Follow so many series in one panel."""
    from silx.gui import qt

    from penstock.gui.model.actions import Action
    from penstock.gui.model.detector import DetectorModel
    from penstock.gui.model.tango.link import TangoDevice
    from penstock.gui.panel.detector_panel import DetectorPanel

    application = qt.QApplication.instance() or qt.QApplication(["soak-panel"])
    qt.qInstallMessageHandler(lambda *_: None)  # complaints of the offscreen platform

    def process_events(seconds: float) -> None:
        flags = qt.QEventLoop.AllEvents | qt.QEventLoop.WaitForMoreEvents
        application.processEvents(flags, round(seconds * 1000))

    def wait(condition: Callable[[Any], object], what: str) -> None:
        poll(lambda: model.view(), condition, f"{what}: not", sleep=process_events)

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
    shown = opened()
    model = shown.model
    wait(lambda view: view.here, "the device")
    before = closed(shown)
    shown = opened()
    model = shown.model
    wait(lambda view: view.here and view.state == "ON", "the device")
    for setting, text in (("ExposureTime", "1 ms"), ("nTriggers", "20"), ("TriggerMode", "INTERNAL")):
        model.set(setting, text)
    model.set("DestinationFilename", f"{demonstration.folder}/soak_0001.h5")
    wait(lambda view: not view.edits, "the settings")
    samples = []
    for number in range(1, series + 1):
        last = model.view().last
        wait(lambda view: not view.allowed[Action.ARM], "ready to arm")
        model.do(Action.ARM)
        wait(lambda view: view.last != last and view.state == "ON", f"series {number}")  # noqa: B023
        ended = model.view().last
        if ended is None or not ended.complete:
            raise RuntimeError(f"series {number}: {model.view().status}")
        Path(ended.file).unlink()
        gc.collect()
        samples.append(pss("self"))
        say(f"series {number} of {series}")
    left = closed(shown) - before
    end = time.monotonic() + CLOSING_SECONDS
    for thread in left:  # a call under way, such as the search for a file, ends by its own deadline
        thread.join(max(0.0, end - time.monotonic()))
    alive = float(sum(each.is_alive() for each in left))
    return {
        "growth per series, kB": growth(samples) / 1e3, "memory, MB": samples[-1] / 1e6,
        "threads left": alive, "series": float(series),
    }  # fmt: skip


def growth(samples: Sequence[int]) -> float:
    """Return by how many bytes per series the memory has grown, once caches are filled."""
    warm = samples[min(WARM, len(samples) // 3) :]
    edge = max(1, min(EDGE, len(warm) // 3))
    first, last = statistics.median(warm[:edge]), statistics.median(warm[-edge:])
    return (last - first) / max(1, len(warm) - edge)


def many(demonstration: Demonstration, seconds: float) -> tuple[float, float]:
    """Return the additional share of a core that the server needs for ten panels: idle, and in a series."""
    import tango

    name = f"tango://{demonstration.tango_host}/{demonstration.detector}"
    detector, pid = tango.DeviceProxy(name), demonstration.server_pid
    detector.ExposureTime = 0.018

    def share() -> float:
        begun, spent = time.monotonic(), process_seconds(pid)
        time.sleep(seconds)
        return (process_seconds(pid) - spent) / (time.monotonic() - begun)

    def shares() -> tuple[float, float]:
        idle = share()
        detector.Continuous()
        running = share()
        detector.Stop()
        return idle, running

    without = [shares()]
    with ExitStack() as stack:
        around = {"QT_QPA_PLATFORM": "offscreen", "TANGO_HOST": demonstration.tango_host}
        argv = [*PENSTOCK, "panel", name]
        for _ in range(PANELS):
            shown = Child("a panel", argv, says("following "), deadline=DEADLINE, environment=around)
            stack.enter_context(shown)
        beside = [shares(), shares()]
    without.append(shares())
    (idle, running), (alone, alone_running) = (
        tuple(map(statistics.mean, zip(*each, strict=True))) for each in (beside, without)
    )
    return idle - alone, running - alone_running
