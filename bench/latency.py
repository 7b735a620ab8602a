"""How long a series takes to begin and to end, over a real Tango device with an embedded database."""

from __future__ import annotations

import math
import os
import queue
import time
from pathlib import Path

import h5py
import tango

from penstock.beamline.demonstration import Demonstration
from penstock.beamline.stage import Staged
from penstock.bench.results import Latency

SERIES = 20
FRAMES = 20
EXPOSURE = 0.005
PATIENCE = 20.0


def latency(ram: Path, disk: Path, series: int = SERIES) -> list[Latency]:
    """Measure on a RAM disk, up to the closed file, and on a disk, up to the synced file.

    Raises:
        DemonstrationFailed: a process did not start.
        RuntimeError: a series did not end as it should.
    """
    return [
        measure(ram / "series", "ram", False, series),
        measure(disk / "series", "disk", True, series),
    ]


def measure(
    folder: Path, storage: str, synced: bool, series: int, staged: Staged | None = None
) -> Latency:  # fmt: skip
    """Measure so many series of one detector, the Simulator by default.

    `end` stays empty if the file does not say when its frames were taken (stream V1 of DECTRIS).

    Raises:
        DemonstrationFailed: a process did not start.
        RuntimeError: a series did not end as it should.
    """
    found = Latency(storage=storage, synced=synced, arm=[], end=[], sync=[])
    receiver = {"durability": "synced" if synced else "closed"}
    with Demonstration(folder, receiver=receiver, staged=staged) as beamline:
        detector = tango.DeviceProxy(f"tango://{beamline.tango_host}/{beamline.detector}")
        states: queue.SimpleQueue[tuple[float, tango.EventData]] = queue.SimpleQueue()
        detector.subscribe_event(
            "State", tango.EventType.CHANGE_EVENT, lambda event: states.put((time.time(), event))
        )
        if staged is not None and staged.initialised_by_reset:  # just switched on
            _until(detector, states, tango.DevState.FAULT)
            detector.Reset()
        _until(detector, states, tango.DevState.ON)
        detector.TriggerMode = "INTERNAL"
        detector.ExposureTime = EXPOSURE
        detector.nTriggers = FRAMES
        for number in range(series):
            file = folder / f"series-{number:04d}.h5"
            detector.DestinationFilename = str(file)
            began = time.time()
            detector.Arm()
            found.arm.append(_until(detector, states, tango.DevState.RUNNING) - began)
            ended = _until(detector, states, tango.DevState.ON)
            if (last := _last_frame(file, beamline.name)) is not None:
                found.end.append(ended - last)
            if synced:
                found.sync.append(_sync_seconds(file))
    return found


def _until(
    detector: tango.DeviceProxy, states: queue.SimpleQueue[tuple[float, tango.EventData]],
    wanted: tango.DevState,
) -> float:  # fmt: skip
    """Return the moment at which the device reported this state, in seconds since 1970."""
    deadline = time.time() + PATIENCE
    while time.time() < deadline:
        try:
            moment, event = states.get(timeout=1.0)
        except queue.Empty:
            continue
        if not event.err and event.attr_value.value == wanted:
            return moment
        if not event.err and event.attr_value.value == tango.DevState.FAULT:
            raise RuntimeError(f"the series ended in FAULT: {detector.Status()}")
    raise RuntimeError(f"not {wanted} within {PATIENCE:g} s: {detector.Status()}")


def _last_frame(file: Path, name: str) -> float | None:
    """Return the host timestamp of the newest frame, as given by the streamer or the detector's box."""
    with h5py.File(file) as opened:
        moment = float(opened[f"entry/instrument/{name}/timestamp"][:].max())
    return None if math.isnan(moment) else moment


def _sync_seconds(file: Path) -> float:
    """Return the seconds that the disk takes now for a file of this size, and its name."""
    twin = file.with_suffix(".twin")
    content = file.read_bytes()
    try:
        with twin.open("wb", buffering=0) as stream:
            stream.write(content)
            began = time.monotonic()
            os.fsync(stream.fileno())
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return time.monotonic() - began
    finally:
        twin.unlink(missing_ok=True)
