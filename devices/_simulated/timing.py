"""The timing of a simulated detector: the frames of each trigger mode."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec

from penstock.streamer.camera.contract import Acquisition
from penstock.streamer.camera.settings import Settings, TriggerMode
from penstock.streamer.simulated.triggers import TOLERANCE, Edge, TriggerInput


class Shot(msgspec.Struct, frozen=True):
    """A frame whose exposure has just ended."""

    index: int
    moment: float
    """Start of the exposure, in seconds of the trigger source's clock."""
    gate: float | None = None
    """Exposure in seconds if a gate has set it."""


def frame_time(settings: Settings, readout: float) -> float:
    """Return the seconds from the start of one frame to the start of the next."""
    return settings.exposure_time + max(settings.latency_time, readout)


def shots(
    acquisition: Acquisition, line: TriggerInput, readout: float, counts_edges: bool = True
) -> Iterator[Shot]:
    """Yield the frames of a series as their exposures end; end early if the series is to stop.

    Args:
        acquisition: the acquisition of the series.
        line: the trigger input.
        readout: least dead time between two frames, in seconds.
        counts_edges: True if the detector counts edges, also those for which it takes no frame.
    """
    settings = acquisition.settings
    mode = settings.trigger_mode
    if mode is TriggerMode.SOFTWARE:
        free_at = acquisition.now()
        for trigger in range(settings.n_triggers):
            if not (acquisition.wait_until(free_at) and acquisition.wait_trigger()):
                return
            start = acquisition.now()
            yield from _burst(acquisition, trigger, settings.n_frames_per_trigger, start, readout)
            free_at = start + settings.n_frames_per_trigger * frame_time(settings, readout)
    elif mode is TriggerMode.INTERNAL:
        yield from _burst(acquisition, 0, settings.frames, acquisition.now(), readout)
    elif mode is TriggerMode.EXTERNAL:
        if acquisition.wait(lambda: line.pending):
            yield from _burst(acquisition, 0, settings.frames, acquisition.now(), readout)
    else:
        yield from _edges(acquisition, line, readout, counts_edges)


def _burst(
    acquisition: Acquisition, trigger: int, frames: int, start: float, readout: float
) -> Iterator[Shot]:
    """Yield the frames of one trigger; the first is exposed even if Stop was called at the same time."""
    period, exposure = frame_time(acquisition.settings, readout), acquisition.settings.exposure_time
    for number in range(frames):
        begin = start + number * period
        if not acquisition.wait_until(begin, exposing=number == 0):
            return
        index = trigger * acquisition.settings.n_frames_per_trigger + number
        acquisition.triggered(index + 1)
        if not acquisition.wait_until(begin + exposure, exposing=True):
            return
        yield Shot(index, begin)


def _edges(
    acquisition: Acquisition, line: TriggerInput, readout: float, counts_edges: bool
) -> Iterator[Shot]:
    """Yield the frames of EXTERNAL_MULTI and EXTERNAL_MULTI_GATE.

    If edges are counted, an edge's number is that of its trigger. Otherwise every edge that starts an
    exposure is the next trigger, so that a missed edge shifts all later ones. Whether the detector was still
    busy is decided by the time of the edge, not by when a loaded computer handled it.
    """
    settings = acquisition.settings
    gated = settings.trigger_mode is TriggerMode.EXTERNAL_MULTI_GATE
    burst = settings.n_frames_per_trigger * frame_time(settings, readout)
    free_at, delay = -math.inf, math.inf
    counter = -1
    while counter < settings.n_triggers - 1:
        if acquisition.stopping or not acquisition.wait(lambda: line.pending):
            return  # after Stop, waiting edges start no exposure
        edge = line.take()
        if not counts_edges:
            if edge.moment < free_at - TOLERANCE:
                continue
            edge = msgspec.structs.replace(edge, counter=counter + 1)
        if edge.counter >= settings.n_triggers:
            return
        if edge.counter <= counter:
            continue  # the source began a new pulse train, which is not of this series
        counter = edge.counter
        acquisition.triggered((counter + 1) * settings.n_frames_per_trigger)
        if edge.moment < free_at - TOLERANCE:
            continue
        free_at = edge.moment + (edge.gate + readout if gated else burst)
        delay = min(delay, acquisition.now() - edge.moment)
        if gated:
            if acquisition.wait_until(edge.moment + delay + edge.gate, exposing=True):
                yield Shot(counter, edge.moment, edge.gate)
        else:
            yield from _in_source_time(
                _burst(acquisition, counter, settings.n_frames_per_trigger, edge.moment + delay, readout),
                edge,
                delay,
            )


def _in_source_time(burst: Iterator[Shot], edge: Edge, delay: float) -> Iterator[Shot]:
    """Yield the frames of one edge with their times on the clock of the trigger source."""
    for shot in burst:
        yield Shot(shot.index, shot.moment - delay)
