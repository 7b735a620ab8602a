"""From attribute values to the settings of a series."""

from __future__ import annotations

import json
import math

import pytest

from penstock.devices._series.settings import (
    LIVE_TRIGGERS,
    ValueRefused,
    frame_time,
    latency_for,
    live_settings,
    parse_metadata,
    settings_of,
)  # fmt: skip
from penstock.streamer.camera.settings import STANDARD, TriggerMode, default_trigger_mode

DEFAULTS = {parameter.name: parameter.default for parameter in STANDARD}


def test_every_standard_parameter_reaches_the_settings() -> None:
    settings = settings_of(
        DEFAULTS | {
            "ExposureTime": 0.5, "LatencyTime": 0.25, "nTriggers": 3, "nFramesPerTrigger": 2,
            "TriggerMode": "EXTERNAL_MULTI", "DestinationFilename": "/data/x.h5",
            "DestinationFileOverwritable": True, "SaveRaw": False, "Rotation": 90,
            "Fliplr": True, "Flipud": True,
            "Metadata": '{"sample": "CeO2"}',
            "BeamCenterX": 1.0, "BeamCenterY": 2.0, "Distance": 0.2,
            "Energy": 9000.0,
        },
        ["Energy"],
    )  # fmt: skip
    assert (settings.exposure_time, settings.latency_time) == (0.5, 0.25)
    assert (settings.n_triggers, settings.n_frames_per_trigger, settings.frames) == (3, 2, 6)
    assert settings.trigger_mode is TriggerMode.EXTERNAL_MULTI
    assert (settings.filename, settings.overwrite, settings.save_raw) == ("/data/x.h5", True, False)
    assert (settings.rotation, settings.fliplr, settings.flipud) == (90, True, True)
    assert settings.metadata == '{"sample": "CeO2"}'
    assert (settings.beam_center, settings.distance) == ((1.0, 2.0), 0.2)
    assert settings.camera == {"Energy": 9000.0}


def test_live_series_write_nothing_and_do_not_end() -> None:
    armed = settings_of(DEFAULTS | {"TriggerMode": "SOFTWARE", "DestinationFilename": "/data/x.h5"}, [])
    assert live_settings(armed).filename == ""
    assert live_settings(armed).frames == LIVE_TRIGGERS and live_settings(armed).planned is None
    assert live_settings(armed, TriggerMode.INTERNAL).n_triggers == 0
    assert live_settings(armed).trigger_mode is TriggerMode.SOFTWARE
    assert live_settings(armed, TriggerMode.INTERNAL).trigger_mode is TriggerMode.INTERNAL


@pytest.mark.parametrize("text", ["[1, 2]", "null", '"x"', "{", "{'a': 1}", "[" * 100_000])
def test_metadata_that_is_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(ValueRefused, match="Metadata must be a JSON object"):
        parse_metadata(text)


def test_metadata_may_hold_not_a_number_as_python_writes_it() -> None:
    text = json.dumps({"T": math.nan, "p": math.inf})
    assert repr(parse_metadata(text)) == "{'T': nan, 'p': inf}"
    assert settings_of(DEFAULTS | {"Metadata": text}, []).metadata == text


def test_the_frame_time_is_exposure_plus_the_dead_time_that_counts() -> None:
    assert frame_time(0.1, 0.0, 0.01) == pytest.approx(0.11)
    assert frame_time(0.1, 0.05, 0.01) == pytest.approx(0.15)


@pytest.mark.parametrize("period", [0.11, 0.2, 3600.0])
def test_a_latency_gives_the_period_that_was_asked_for(period: float) -> None:
    assert frame_time(0.1, latency_for(period, 0.1, 0.01), 0.01) == pytest.approx(period)


def test_a_period_below_exposure_and_read_out_is_refused() -> None:
    with pytest.raises(ValueRefused, match="0.11 s; shorten ExposureTime"):
        latency_for(0.1, 0.1, 0.01)


@pytest.mark.parametrize("period", [1e23, 1.2e6])
def test_a_period_that_would_never_end_is_refused(period: float) -> None:
    with pytest.raises(ValueRefused, match="the longest is 1e.06 s"):
        latency_for(period, 0.1, 0.01)


def test_more_frames_than_can_be_counted_are_refused() -> None:
    with pytest.raises(ValueRefused, match="= 4,611,686,014,132,420,609 frames"):
        settings_of(DEFAULTS | {"nTriggers": 2**31 - 1, "nFramesPerTrigger": 2**31 - 1}, [])


def test_as_many_frames_as_an_eiger_takes_can_be_planned() -> None:
    planned = DEFAULTS | {"nTriggers": 2**24, "nFramesPerTrigger": 2**24}
    assert settings_of(planned, []).frames == 2**48


def test_the_trigger_mode_is_internal_at_first_or_the_cameras_first() -> None:
    assert DEFAULTS["TriggerMode"] == default_trigger_mode() == TriggerMode.INTERNAL
    assert default_trigger_mode((TriggerMode.SOFTWARE, TriggerMode.INTERNAL)) is TriggerMode.INTERNAL
    assert default_trigger_mode((TriggerMode.EXTERNAL, TriggerMode.SOFTWARE)) is TriggerMode.EXTERNAL
