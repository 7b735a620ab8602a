"""What camserver is told before a series, and what it has made of it."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.devices._camserver.client import Camserver
from penstock.devices._camserver.modes import Plan
from penstock.devices._camserver.parameters import RETRIGGER
from penstock.devices._camserver.protocol import Answer, number_in
from penstock.streamer.camera.settings import TriggerMode, Value

MODULE = (195, 487)
"""Rows and columns of a module (pyFAI `detectors/_dectris.py`). A detector of one has no gaps, and no GapFill
([ad] `setAcquireParams`)."""
DELAYED = (TriggerMode.EXTERNAL, TriggerMode.EXTERNAL_MULTI)
"""Modes with a delay after the edge; the other commands reset it ([um] p. 53-54)."""


def configure(
    camserver: Camserver, plan: Plan, local: Mapping[str, Value], shape: tuple[int, int]
) -> tuple[float, float]:
    """Write what a series needs; return exposure and period as camserver has them, in seconds.

    NImages and GapFill are always written: a new threshold resets them ([ad] `setThreshold`).

    Args:
        camserver: connected.
        plan: of the series.
        local: values of `parameters.LOCAL`.
        shape: rows and columns of the sensor.

    Raises:
        CameraError: camserver does not take a value.
    """
    gated = plan.mode is TriggerMode.EXTERNAL_MULTI_GATE
    camserver.set_if_known("SetAckInt", 0)  # 7 OK for the last image only ([lima] `_resync`)
    camserver.set("NImages", plan.images)
    camserver.set("NExpFrame", int(local["GatesPerFrame"]) if gated else 1)
    if shape != MODULE:
        camserver.set("GapFill", -1 if local["GapFill"] else 0)
    if gated:
        camserver.set_if_known("DebTime", float(local["DebounceTime"]))
    if plan.mode in DELAYED:
        camserver.set("Delay", float(local["Delay"]))
    retrigger = RETRIGGER[str(local["RetriggerMode"])]
    if retrigger is not None:
        camserver.set("SetRetriggerMode", retrigger)
    exposure = _taken(camserver.set("ExpTime", plan.exposure), plan.exposure)
    return exposure, _taken(camserver.set("ExpPeriod", plan.period), plan.period)


def _taken(answer: Answer, asked: float) -> float:
    found = number_in(answer, "set to")
    return asked if found is None else found
