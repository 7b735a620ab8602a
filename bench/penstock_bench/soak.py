"""What runs for long: a receiver whose file system is slower than the source, and a control panel.

The receiver's memory must stay under its budget, and every frame must be in the file. A file system is made
slow by the attribute S of its folder (chattr +S): every write waits for the disk, as on a file system mounted
with -o sync. That needs no privileges, and works on ext4, XFS and Btrfs; nothing makes a RAM disk slow.
Series follow each other, each about a minute long; a file is removed once its series is accounted for. The
queue of ZeroMQ and that of a consumer that does not read are full all the time: that is where memory goes.

A panel runs in a control room for months: its memory must not grow with the series that it has seen, and no
thread may be left once it is closed. Ten panels must hardly load a device: the processor time of its server
is measured without them and with them, idle and while a series runs.
"""

from __future__ import annotations

import fcntl
import gc
import math
import os
import statistics
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import zmq

from penstock.beamline.demonstration import Demonstration
from penstock.hosts.child import PENSTOCK, Child, free_port
from penstock.receiver.config import ReceiverConfig
from penstock.receiver.models import SeriesCheck
from penstock.receiver.process import memory
from penstock_bench.receivers import (
    DEADLINE,
    Receiver,
    process_seconds,
    pss,
    remove,
    sending,
    until,
)
from penstock_bench.results import Frames, Turn, Turns
from penstock_bench.runner import Bench, NotMeasured

FRAMES = Frames(name="20 kB", shape=(100, 100), count=400, rate=4_000)
"""80 MB/s are offered; the first series, of so many frames, measures the speed of the file system."""
MARK, QUEUE_MB = 4_000, 50.0
"""Messages that ZeroMQ may queue: 80 MB; queue of the consumer that does not read."""
SERIES_SECONDS, SAMPLE_SECONDS = 60.0, 0.25
"""Length of a series, by the speed of the one before, at most a quarter of the whole; between two samples."""
SETTLED = 120.0
"""Seconds until which queues fill: before, growth says nothing."""
FS_IOC_GETFLAGS, FS_IOC_SETFLAGS, FS_SYNC_FL = 0x80086601, 0x40086602, 0x8
"""ioctl_iflags(2), on 64-bit Linux."""
WARM, EDGE = 20, 15
"""Series after which the panel's caches (fonts, icons, colour maps) are filled; series at either end of which
the median is taken: memory goes up and down by some pages."""
PANELS = 10
CLOSING_SECONDS = 5.0
"""In which every call that was under way has ended."""

Samples = list[tuple[float, int]]
"""Moments, and proportional set size in bytes."""


def receiver(bench: Bench, load: str) -> Turns:
    """Let a receiver write to the disk, slowly, for so many `seconds`."""
    return bench.in_turn(
        {"data process": partial(soak, bench.on_disk(), bench.options["seconds"], bench.say)}
    )


def soak(folder: Path, seconds: float, say: Callable[[str], None]) -> Turn:
    """Run it.

    Raises:
        NotMeasured: the file system cannot be made slow.
        RuntimeError: a frame is unaccounted for.
    """
    make_slow(folder)
    consumer = f"tcp://127.0.0.1:{free_port()}"
    source = {"endpoints": [f"tcp://127.0.0.1:{free_port()}"], "high_water_mark": MARK}
    forward = {"name": "stuck", "endpoint": consumer, "queue_mb": QUEUE_MB}
    entry: dict[str, Any] = {"source": source, "data_root": str(folder), "forward": [forward]}
    config = msgspec.convert(entry, ReceiverConfig)
    budget = memory.bound(memory.parts(config, memory.Sizes.of(FRAMES.nbytes)))
    with ExitStack() as processes:
        keys = {"memory_mb": math.ceil(budget / 1e6)}
        own = Receiver(folder, FRAMES, processes, source=source, forward=forward, entry=keys)
        context = processes.enter_context(zmq.Context())
        stuck = processes.enter_context(context.socket(zmq.PULL))
        stuck.set(zmq.RCVHWM, 1)
        stuck.connect(consumer)
        own.connected()
        own.client.check(SeriesCheck(filename="", frames=1, frame_bytes=FRAMES.nbytes))
        data, http = processes.enter_context(_watch(own.data)), processes.enter_context(_watch(own.http))
        began, frames, writing, series = time.monotonic(), 0, 0.0, 0
        say("measuring the file system")
        rate = FRAMES.count / _stored(own, folder, FRAMES.count)
        # One series at least: on a busy machine the measurement alone may take all the time.
        while (left := seconds - (time.monotonic() - began)) > 0 or not series:
            number = max(FRAMES.count, int(rate * min(SERIES_SECONDS, seconds / 4, left)))
            took = _stored(own, folder, number)
            frames, writing, series, rate = frames + number, writing + took, series + 1, number / took
            say(f"{time.monotonic() - began:.0f} of {seconds:.0f} s: {frames:,} frames, {rate:,.0f}/s")
        status = own.client.status()
        if status.errors:
            raise RuntimeError(f"there were bad messages: {status.errors}")
        lost = status.consumers[0].dropped
    return figures(time.monotonic() - began, data, http, budget) | {
        "frames": float(frames), "series": float(series),
        "written, % of offered": 100 * frames / writing / FRAMES.rate,
        "dropped for the consumer": float(lost),
    }  # fmt: skip


def figures(seconds: float, data: Samples, http: Samples, budget: int) -> Turn:
    """Return the figures of the samples; before queues are full, there is no growth."""
    most, middle = max(nbytes for _, nbytes in data), (data[0][0] + data[-1][0]) / 2
    turn = {"memory, MB": most / 1e6, "of its budget, %": 100 * most / budget}
    if seconds >= SETTLED:
        early, late = (
            max(nbytes for moment, nbytes in data if (moment > middle) is is_late)
            for is_late in (False, True)
        )
        turn["second half, % of the first"] = 100 * late / early
    return turn | {"HTTP process, MB": max(nbytes for _, nbytes in http) / 1e6}


def make_slow(folder: Path) -> None:
    """Let every write in this folder wait for the disk: new files inherit the attribute."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        flags = struct.unpack("l", fcntl.ioctl(descriptor, FS_IOC_GETFLAGS, struct.pack("l", 0)))[0]
        fcntl.ioctl(descriptor, FS_IOC_SETFLAGS, struct.pack("l", flags | FS_SYNC_FL))
    except OSError as error:
        raise NotMeasured(
            f"files in {folder} cannot be made slow ({error.strerror}): its file system has no attribute S; "
            "give --disk on ext4, XFS or Btrfs"
        ) from error
    finally:
        os.close(descriptor)


def _stored(own: Receiver, folder: Path, frames: int) -> float:
    """Let it take one series of so many frames; return the seconds that it took."""
    file, before, began = folder / "soak.h5", own.client.status().series, time.monotonic()
    with sending(own.endpoint, FRAMES.of(frames), file, "--linger", "600", warms=False):
        status = until(
            own.client,
            lambda status: status.series and not status.series.active
            and (before is None or status.series.id != before.id),
            "the series does not end", max(DEADLINE, frames / 10),
        )  # fmt: skip
    counts = status.counts
    if (counts.planned, counts.stored, counts.flushed) != (frames, frames, frames):
        raise RuntimeError(f"not all of {frames} frames are stored: {counts}; {status.error}")
    remove(folder, file.name)
    return time.monotonic() - began


@contextmanager
def _watch(pid: int) -> Iterator[Samples]:
    """Sample the memory of a process meanwhile."""
    ended, found = threading.Event(), Samples()

    def sample() -> None:
        while not ended.wait(SAMPLE_SECONDS):
            found.append((time.monotonic(), pss(pid)))

    thread = threading.Thread(target=sample, name="memory", daemon=True)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()


# -- the panel ---------------------------------------------------------------------------------------------


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

    def wait(condition: Callable[[], object], what: str) -> None:
        end = time.monotonic() + DEADLINE
        while not condition():
            application.processEvents(qt.QEventLoop.AllEvents | qt.QEventLoop.WaitForMoreEvents, 20)
            if time.monotonic() > end:
                raise RuntimeError(f"{what}: not within {DEADLINE:g} s; {model.view().status}")

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
    wait(lambda: model.view().here, "the device")
    before = closed(shown)
    shown = opened()
    model = shown.model
    wait(lambda: model.view().here and model.view().state == "ON", "the device")
    for setting, text in (("ExposureTime", "1 ms"), ("nTriggers", "20"), ("TriggerMode", "INTERNAL")):
        model.set(setting, text)
    model.set("DestinationFilename", f"{demonstration.folder}/soak_0001.h5")
    wait(lambda: not model.view().edits, "the settings")
    samples = []
    for number in range(1, series + 1):
        last = model.view().last
        wait(lambda: not model.view().allowed[Action.ARM], "ready to arm")
        model.do(Action.ARM)
        wait(lambda: model.view().last != last and model.view().state == "ON", f"series {number}")  # noqa: B023
        ended = model.view().last
        if ended is None or not ended.complete:
            raise RuntimeError(f"series {number}: {model.view().status}")
        Path(ended.file).unlink()
        gc.collect()
        samples.append(pss("self"))
        say(f"series {number} of {series}")
    left = closed(shown) - before
    end = time.monotonic() + CLOSING_SECONDS
    while any(each.is_alive() for each in left) and time.monotonic() < end:
        time.sleep(0.05)  # a call under way, such as the search for a file, ends by its own deadline
    alive = float(sum(each.is_alive() for each in left))
    grown = {"growth per series, kB": growth(samples) / 1e3, "memory, MB": samples[-1] / 1e6}
    return {**grown, "threads left": alive, "series": float(series)}


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
        threading.Event().wait(seconds)
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
        for _ in range(PANELS):
            argv = [*PENSTOCK, "panel", name]
            stack.enter_context(Child("a panel", argv, _follows, deadline=DEADLINE, environment=around))
        beside = [shares(), shares()]
    without.append(shares())
    idle, running = (
        statistics.mean(each[place] for each in beside) - statistics.mean(each[place] for each in without)
        for place in (0, 1)
    )
    return idle, running


def _follows(line: str) -> bool | None:
    return True if line.startswith("following ") else None
