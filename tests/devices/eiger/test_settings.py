"""Settings of an Eiger: what is written to its control unit, what it makes of it, and what is refused."""

from __future__ import annotations

import pytest

from penstock.devices.eiger import Eiger
from penstock.streamer.camera.unit import CameraError
from tests.devices._dectris.desk import Desk
from tests.devices.eiger.units import DETECTOR, series


def test_an_energy_takes_thresholds_along_and_the_box_says_so(new: tuple[Desk, Eiger]) -> None:
    desk, eiger = new
    eiger.apply({"Energy": 10000.0})
    assert desk.puts == [(f"{DETECTOR}/photon_energy", 10000.0)]
    assert (eiger.values()["Energy"], eiger.values()["Threshold"]) == (10000.0, 5000.0)


@pytest.mark.parametrize("listed", [["photon_energy"], ["photon_energy", "wavelength"], [], None])
def test_thresholds_that_follow_an_energy_are_read_whatever_the_box_lists(
    new: tuple[Desk, Eiger], listed: list[str] | None
) -> None:
    desk, eiger = new
    desk.answers = lambda changed: listed
    eiger.apply({"Energy": 10000.0})
    assert eiger.values()["Threshold"] == 5000.0
    desk.puts.clear()
    eiger.prepare(series(eiger))
    written = dict(desk.puts)
    assert f"{DETECTOR}/threshold/1/energy" not in written, "that of the energy before"
    assert desk.keys[f"{DETECTOR}/threshold/1/energy"] == 5000.0


def test_a_threshold_that_is_set_with_the_energy_is_written_after_it(new: tuple[Desk, Eiger]) -> None:
    _, eiger = new
    eiger.apply({"Threshold": 4000.0, "Energy": 10000.0})
    assert (eiger.values()["Energy"], eiger.values()["Threshold"]) == (10000.0, 4000.0)


def test_the_threshold_of_an_older_box_has_another_key(desk: Desk, eiger: Eiger) -> None:
    eiger.apply({"Threshold": 5000.0})
    key = f"{DETECTOR}/threshold_energy" if desk.api == "1.6.0" else f"{DETECTOR}/threshold/1/energy"
    assert desk.puts == [(key, 5000.0)]


def test_switches_are_words_at_the_box(new: tuple[Desk, Eiger]) -> None:
    desk, eiger = new
    eiger.apply(
        {"Threshold2Mode": True, "ThresholdDifferenceMode": True, "FileWriter": True, "Monitor": True}
    )
    for key in ("threshold/2/mode", "threshold/difference/mode"):
        assert desk.keys[f"{DETECTOR}/{key}"] == "enabled"
    assert (desk.keys["filewriter/config/mode"], desk.keys["monitor/config/mode"]) == ("enabled", "enabled")


def test_what_the_model_lacks_is_refused_by_name(eiger: Eiger, desk: Desk) -> None:
    with pytest.raises(CameraError, match=r"has no Threshold3 \(detector/config/threshold/3/energy\)"):
        eiger.apply({"Threshold3": 9000.0})
    assert desk.puts == []


def test_what_a_box_does_not_allow_is_refused_before_it_is_written(eiger: Eiger, desk: Desk) -> None:
    desk.entries[f"{DETECTOR}/roi_mode"] = {"allowed_values": ["disabled", "4M"]}
    desk.entries[f"{DETECTOR}/photon_energy"] = {"max": 40000.0}
    eiger.connect()
    with pytest.raises(CameraError, match="roi_mode = 'lines' is not possible; choose disabled, 4M"):
        eiger.apply({"RoiMode": "lines"})
    with pytest.raises(CameraError, match="photon_energy = 50000; the greatest is 40000"):
        eiger.apply({"Energy": 50000.0})
    assert desk.puts == []


def test_a_box_that_rounds_is_believed(eiger: Eiger, desk: Desk) -> None:
    desk.makes[f"{DETECTOR}/photon_energy"] = lambda value: value + 0.4
    eiger.apply({"Energy": 10000.0})
    assert eiger.values()["Energy"] == 10000.4


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("Energy", "photon_energy", 12400.5),
        ("Threshold", "threshold/1/energy", 6200.0001),
        ("Nexpi", "nexpi", 2),
    ],
)
def test_whatever_differs_is_written_once(new: tuple[Desk, Eiger], name: str, key: str, value: float) -> None:
    desk, eiger = new
    eiger.apply({name: value})
    eiger.apply({name: value})
    assert desk.puts == [(f"{DETECTOR}/{key}", value)]
    assert eiger.values()[name] == value


def test_the_answer_to_a_request_is_remembered_while_the_box_still_has_it(eiger: Eiger, desk: Desk) -> None:
    energy = f"{DETECTOR}/photon_energy"
    desk.makes[energy] = lambda value: value + 0.4
    eiger.apply({"Energy": 10000.0})
    eiger.apply({"Energy": 10000.0})
    assert desk.puts == [(energy, 10000.0)]
    desk.keys[energy] = 10001.0  # another client
    eiger.connect()
    eiger.apply({"Energy": 10000.0})
    assert desk.puts == [(energy, 10000.0)] * 2
    eiger.apply({"Energy": 10000.4})
    assert desk.puts == [(energy, 10000.0)] * 2, "that is what it has"


@pytest.mark.parametrize("answer", [None, [], {}], ids=["null", "nothing", "no list"])
def test_a_box_that_does_not_say_what_a_put_has_changed_is_read_as_a_whole(
    new: tuple[Desk, Eiger], answer: object
) -> None:
    desk, eiger = new
    desk.answers = lambda changed: answer
    eiger.apply({"Energy": 10000.0})
    assert eiger.values()["Threshold"] == 5000.0
    eiger.prepare(series(eiger))
    assert desk.keys[f"{DETECTOR}/threshold/1/energy"] == 5000.0
    assert f"{DETECTOR}/threshold/1/energy" not in dict(desk.puts)


def test_a_box_that_makes_something_else_of_a_value_is_refused_with_both(eiger: Eiger, desk: Desk) -> None:
    desk.makes[f"{DETECTOR}/photon_energy"] = lambda value: 8048.0
    with pytest.raises(CameraError, match="photon_energy is 8048.0, requested was 10000.0"):
        eiger.apply({"Energy": 10000.0})
    assert eiger.values()["Energy"] == 8048.0
