"""The conversion of a device's attribute values into the settings of one series."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from penstock.stins import metadata as free_metadata
from penstock.stins.errors import RemoteError
from penstock.stins.texts import plural
from penstock.streamer.camera.settings import LONGEST, Limits, Parameter, Settings, TriggerMode, Value

MOST_FRAMES = 2**48
"""Most frames of a series, as of an EIGER; only those that arrive take memory."""
NO_OBJECT = 'Metadata must be a JSON object such as {"sample": "CeO2"}'
LIVE_TRIGGERS = 1_000_000
"""Most triggers of a live series in a mode with triggers: enough for days of viewing."""

PERIOD_ATTRIBUTES: tuple[Parameter, ...] = (
    Parameter(
        name="FrameTime", default=0.0, unit="s", limits=Limits(0.0, 2.0 * LONGEST),
        doc="Period of the frames: ExposureTime plus the larger of LatencyTime and ReadoutTime; writing it "
        "sets LatencyTime.",
    ),
    Parameter(
        name="FrameRate", default=0.0, unit="Hz",
        doc="Frames per second, 1 / FrameTime; writing it sets LatencyTime.",
    ),
    Parameter(
        name="ReadoutTime", default=0.0, unit="s", writable=False,
        doc="Least dead time between two frames.",
    ),
)  # fmt: skip
"""Attributes that are derived from the settings of a series."""

DEVICE_SETTINGS: tuple[Parameter, ...] = (
    Parameter(
        name="ArmedTimeLimit", default=3600.0, unit="s", limits=Limits(0.0, None), memorized=True,
        doc="An armed series that waits for its first trigger is stopped after this time; 0: never.",
    ),
    Parameter(
        name="TriggerTimeLimit", default=0.0, unit="s", limits=Limits(0.0, None), memorized=True,
        doc="A series that waits for its next trigger is stopped this time after the last trigger or frame, "
        "ExposureTime not included; 0: never.",
    ),
)  # fmt: skip
"""Settings of the device itself: they can be written at any time, and take effect at once."""


class ValueRefused(Exception):
    """A value that the parameter does not take; the sentence says which values it takes."""


def settings_of(
    values: Mapping[str, Value], camera_parameters: Iterable[str], receiver_away: float = 0.0
) -> Settings:
    """Return the settings of the next series.

    Args:
        values: values by attribute name, of standard parameters and the camera's own.
        camera_parameters: names of the camera's writable parameters.
        receiver_away: time for which the series waits for a receiver that is away, in seconds.

    Raises:
        ValueRefused: Metadata is not a JSON object, or there are more frames than can be counted.
    """
    value: Mapping[str, Any] = values
    frames = frames_of(values)
    if frames > MOST_FRAMES:
        raise ValueRefused(
            f"nTriggers {value['nTriggers']} x nFramesPerTrigger {value['nFramesPerTrigger']} "
            f"= {plural(frames, 'frame')}; a series has {MOST_FRAMES:,} at most"
        )
    parse_metadata(value["Metadata"])
    return Settings(
        exposure_time=value["ExposureTime"],
        latency_time=value["LatencyTime"],
        n_triggers=value["nTriggers"],
        n_frames_per_trigger=value["nFramesPerTrigger"],
        trigger_mode=TriggerMode(value["TriggerMode"]),
        filename=value["DestinationFilename"],
        overwrite=value["DestinationFileOverwritable"],
        save_raw=value["SaveRaw"],
        rotation=value["Rotation"],
        fliplr=value["Fliplr"],
        flipud=value["Flipud"],
        metadata=value["Metadata"].strip() or "{}",
        beam_center=(value["BeamCenterX"], value["BeamCenterY"]),
        distance=value["Distance"],
        receiver_away=receiver_away,
        camera={name: values[name] for name in camera_parameters},
    )


def frames_of(values: Mapping[str, Any]) -> int:
    """Return the number of frames of the next series."""
    return int(values["nTriggers"]) * int(values["nFramesPerTrigger"])


def live_settings(settings: Settings, mode: TriggerMode | None = None) -> Settings:
    """Return the settings without a file and without an end; in another trigger mode if given."""
    mode = settings.trigger_mode if mode is None else mode
    triggers = 0 if mode is TriggerMode.INTERNAL else LIVE_TRIGGERS
    return msgspec.structs.replace(
        settings, filename="", n_triggers=triggers, n_frames_per_trigger=1, trigger_mode=mode, until_stop=True
    )


def parse_metadata(text: str) -> dict[str, Any]:
    """Return metadata from JSON text, with NaN and Infinity as Python writes them; "" means none.

    Raises:
        ValueRefused: the text is not a JSON object.
    """
    if not text.strip():
        return {}
    try:
        found = free_metadata.read(text)
    except RemoteError as error:
        raise ValueRefused(f"{NO_OBJECT}: {error}") from error
    if not isinstance(found, dict):
        raise ValueRefused(f"{NO_OBJECT}; it is {type(found).__name__}")
    return found


def frame_time(exposure: float, latency: float, readout: float) -> float:
    """Return the period of the frames in seconds: exposure plus the requested or necessary dead time."""
    return exposure + max(latency, readout)


def periods(exposure: float, latency: float, readout: float) -> dict[str, float]:
    """Return FrameTime, FrameRate and ReadoutTime: the values of `PERIOD_ATTRIBUTES`."""
    period = frame_time(exposure, latency, readout)
    rate = 1.0 / period if period > 0.0 else float("inf")
    return {"FrameTime": period, "FrameRate": rate, "ReadoutTime": readout}


def latency_for(period: float, exposure: float, readout: float) -> float:
    """Return the LatencyTime that gives this period, in seconds.

    Raises:
        ValueRefused: the period is shorter than exposure and read-out together, or longer than any.
    """
    least = exposure + readout
    # A period that was read back must be accepted, whatever its last bits are.
    if period < least * (1.0 - 1e-9):
        raise ValueRefused(
            f"a frame time of {period:g} s is shorter than ExposureTime + ReadoutTime = {least:g} s; "
            "shorten ExposureTime first"
        )
    latency = max(readout, period - exposure)
    if latency > LONGEST:
        raise ValueRefused(
            f"a frame time of {period:g} s needs a LatencyTime of {latency:g} s, and the longest is "
            f"{LONGEST:g} s; choose a shorter one"
        )
    return latency
