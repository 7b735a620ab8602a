"""What can be set and read, and what is refused with value and limit."""

from __future__ import annotations

import pytest

from penstock.streamer.camera.driver import Refused
from penstock.streamer.camera.settings import TriggerMode
from tests.streamer.rig import Rig, done, settings


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"exposure_time": 101.0}, "ExposureTime 101.0 s; the greatest is 100 s"),
        ({"exposure_time": float("nan")}, "ExposureTime nan s"),
        ({"n_triggers": -1}, "nTriggers -1; the least is 0"),
        ({"trigger_mode": TriggerMode.EXTERNAL}, "TriggerMode EXTERNAL: FakeCamera has INTERNAL, SOFTWARE"),
        ({"rotation": 45}, "Rotation 45; allowed are 0, 90, 180 and 270 degrees"),
        ({"camera": {"Gain": 6.0}}, "Gain 6.0; the greatest is 5"),
        ({"camera": {"Mode": "odd"}}, "Mode 'odd'; possible are fast, slow"),
        ({"camera": {"Gian": 1.0}}, "no parameter is called Gian; there are Gain, Mode, Temperature"),
        ({"camera": {"Temperature": 1.0}}, "Temperature can only be read"),
    ],
)
def test_an_impossible_setting_is_refused_with_value_and_limit(
    changes: dict[str, object], sentence: str
) -> None:
    with Rig() as rig:
        with pytest.raises(Refused) as caught:
            done(rig.engine.prepare(settings(**changes)))
        assert sentence in caught.value.message
        assert rig.engine.status().state == "idle"


def test_parameters_are_kept_from_series_to_series() -> None:
    with Rig() as rig:
        assert done(rig.engine.set({"Gain": 3})).values == {"Gain": 3.0, "Mode": "fast"}
        done(rig.engine.prepare(settings(camera={"Mode": "slow"})))
        assert rig.engine.describe().values == {"Gain": 3.0, "Mode": "slow"}


def test_parameters_cannot_be_set_while_a_series_is_prepared() -> None:
    with Rig() as rig:
        done(rig.engine.prepare(settings()))
        with pytest.raises(Refused, match="Gain cannot be set while prepared"):
            done(rig.engine.set({"Gain": 2.0}))


def test_what_can_only_be_read_stands_in_the_status() -> None:
    with Rig() as rig:
        assert rig.engine.status().readings == {"Temperature": 21.5}


def test_a_reading_that_fails_ends_nothing() -> None:
    with Rig() as rig:
        rig.camera.temperature = None
        rig.connect()
        rig.arm()
        assert rig.receive_series()[2].reason == "complete"
        rig.until(lambda status: status.readings == {})
