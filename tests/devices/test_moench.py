"""Moench: what its table has in place of Jungfrau's; the rest is in test_jungfrau.py."""

from __future__ import annotations

import pytest

from penstock.devices._sls import parameters as keys
from penstock.devices.jungfrau import Jungfrau
from penstock.devices.moench import Moench
from penstock.streamer.camera.checks import complete_properties
from penstock.streamer.camera.own_stream import BoxState
from penstock.streamer.camera.unit import CameraError
from tests.devices.sls_box import VENDOR, box


def test_it_is_a_moench_with_gains_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(VENDOR))
    with box() as running:
        running.initialise()
        running.module |= {"type": "MOENCH", "settings": "G1_HIGHGAIN"}
        unit = Moench(complete_properties(Moench, running.properties))
        assert unit.connect().state is BoxState.IDLE
        unit.apply({"GainSetting": "G4_LOWGAIN"})
        assert unit.values()["GainSetting"] == running.module["settings"] == "G4_LOWGAIN"
        assert "GainMode" not in unit.values()
        assert unit.describe()["description"] == "MOENCH"
        unit.close()
        other = Jungfrau(complete_properties(Jungfrau, running.properties))
        with pytest.raises(CameraError, match="is a MOENCH, no JUNGFRAU"):
            other.connect()
        other.close()


def test_both_have_the_same_names_for_the_same() -> None:
    common = {setting.key: setting.parameter.name for setting in keys.JUNGFRAU}
    assert all(common[setting.key] == setting.parameter.name for setting in keys.MOENCH)
