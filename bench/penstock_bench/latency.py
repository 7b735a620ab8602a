"""How long a series takes to begin and to end, over a real Tango device with an embedded database."""

from __future__ import annotations

import contextlib
import math
import os
import queue
import time
from functools import partial
from pathlib import Path

import h5py
import tango

from penstock.beamline.demonstrated import DemonstrationFailed
from penstock.beamline.demonstration import Demonstration
from penstock.beamline.stage import eiger
from penstock_bench.cases import Series
from penstock_bench.results import Turn, Turns
from penstock_bench.runner import Bench

FRAMES, EXPOSURE, PATIENCE = 20, 0.005, 20.0
ARM, END, SYNC = "Arm → RUNNING, ms", "last frame → ON, ms", "its sync, ms"
LESS = "last frame → ON, less its sync, ms"
Moments = queue.SimpleQueue[tuple[float, tango.EventData]]


def series(bench: Bench, load: Series) -> Turns:
    """Measure as many series as there are rounds.

    The end has no figure if the file does not say when its frames were taken (stream V1 of DECTRIS).
    """
    folder = (bench.on_disk() if load.synced else bench.folder) / load.name.replace(", ", "-")
    staged = eiger(load.stream) if load.stream else None
    receiver = {"durability": "synced" if load.synced else "closed"}
    try:
        with Demonstration(folder, receiver=receiver, staged=staged) as beamline:
            detector = tango.DeviceProxy(f"tango://{beamline.tango_host}/{beamline.detector}")
            moments: Moments = queue.SimpleQueue()
            detector.subscribe_event(
                "State", tango.EventType.CHANGE_EVENT, lambda event: moments.put((time.time(), event))
            )
            if staged is not None and staged.initialised_by_reset:  # just switched on
                _until(detector, moments, tango.DevState.FAULT)
                detector.Reset()
            _until(detector, moments, tango.DevState.ON)
            detector.TriggerMode, detector.ExposureTime, detector.nTriggers = "INTERNAL", EXPOSURE, FRAMES
            take = partial(_series, detector, moments, folder, beamline.name, load)
            return bench.in_turn({load.name: take})
    except DemonstrationFailed as error:
        raise RuntimeError(str(error)) from error


def _series(detector: tango.DeviceProxy, moments: Moments, folder: Path, name: str, load: Series) -> Turn:
    file = folder / f"series-{time.monotonic_ns()}.h5"
    detector.DestinationFilename = str(file)
    began = time.time()
    detector.Arm()
    turn = {ARM: (_until(detector, moments, tango.DevState.RUNNING) - began) * 1e3}
    ended = _until(detector, moments, tango.DevState.ON)
    with h5py.File(file) as opened:
        last = float(opened[f"entry/instrument/{name}/timestamp"][:].max())
    if not math.isnan(last):
        turn[END] = turn[LESS] = (ended - last) * 1e3
        if load.synced:
            turn[SYNC] = _sync_seconds(file) * 1e3
            turn[LESS] -= turn[SYNC]
    return turn


def _until(detector: tango.DeviceProxy, moments: Moments, wanted: tango.DevState) -> float:
    """Return the moment at which the device reported this state, in seconds since 1970."""
    due = time.time() + PATIENCE
    while (left := due - time.time()) > 0:
        with contextlib.suppress(queue.Empty):
            moment, event = moments.get(timeout=left)
            state = None if event.err else event.attr_value.value
            if state == wanted:
                return moment
            if state == tango.DevState.FAULT:
                raise RuntimeError(f"the series ended in FAULT: {detector.Status()}")
    raise RuntimeError(f"not {wanted} within {PATIENCE:g} s: {detector.Status()}")


def _sync_seconds(file: Path) -> float:
    """Return the seconds that the disk takes now for a file of this size, and its name."""
    twin = file.with_suffix(".twin")
    twin.write_bytes(file.read_bytes())
    began = time.monotonic()
    for path in (twin, file.parent):
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
    seconds = time.monotonic() - began
    twin.unlink()
    return seconds
