"""Presets: what is kept of the settings, what a detector makes of them, and their files."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from penstock.gui.model.attributes.attribute import Attribute
from penstock.gui.model.preset import BadPreset, Preset, apply, decode, encode, take
from penstock.gui.model.preset_files import Found, PresetFolders, checked_name, delete, read
from penstock.gui.model.view import DetectorView, Edit, Presence
from tests.gui.model.stand_in import ATTRIBUTES, VALUES

METADATA = '{"sample": "\\u03c0"}'


def view(edits: dict[str, Edit] | None = None, **values: Any) -> DetectorView:
    return DetectorView(
        name="tango://db:10000/sim/det/1", presence=Presence.HERE, state="ON",
        attributes={each.name: each for each in ATTRIBUTES},
        values={**VALUES, "Metadata": METADATA, **values}, edits=edits or {},
    )  # fmt: skip


def test_all_settings_are_kept_but_those_of_one_series() -> None:
    preset = take(view(ExposureTime=0.02), whole=False)
    assert preset.settings == {
        "ExposureTime": "0.02 s", "LatencyTime": "0 s", "nTriggers": 10, "nFramesPerTrigger": 1,
        "TriggerMode": "INTERNAL", "SaveRaw": True, "Pattern": "powder", "PhotonFlux": 1e6,
    }  # fmt: skip
    assert preset.device == "sim/det/1"
    more = take(view(), whole=True).settings
    assert more["Metadata"] == {"sample": "π"}
    assert more["DestinationFilename"] == "/data/scan_0001.h5"
    assert more["DestinationFileOverwritable"] is False


def test_what_is_typed_counts_and_what_is_no_value_is_named() -> None:
    typed = {"ExposureTime": Edit("20 ms"), "FrameRate": Edit("2 Hz")}
    settings = take(view(typed), whole=False).settings
    assert (settings["ExposureTime"], settings["FrameRate"]) == ("0.02 s", "2 Hz")
    assert "LatencyTime" not in settings  # the rate says it
    with pytest.raises(BadPreset, match="Triggers is no value yet"):
        take(view({"nTriggers": Edit("x", "no number")}), whole=False)


def test_a_preset_is_written_and_read_without_loss() -> None:
    before = view(ExposureTime=1 / 3, PhotonFlux=0.1 + 0.2, nTriggers=2**31 - 1)
    preset = decode(encode(take(before, whole=True)))
    applied = apply(preset, before)
    assert dict(applied.edits) == {}
    assert applied.sentence() == "nothing to change"
    assert set(applied.same) == preset.settings.keys()


def test_only_differences_are_typed_in_the_order_of_the_forms() -> None:
    preset = Preset(settings={
        "Pattern": "ramp", "nTriggers": 10, "ExposureTime": "20 ms", "SaveRaw": False,
        "Metadata": {"sample": "π"}, "PhotonFlux": 2.5e6,
    })  # fmt: skip
    applied = apply(preset, view())
    assert list(applied.edits.items()) == [
        ("ExposureTime", "20 ms"), ("SaveRaw", "no"), ("Pattern", "ramp"), ("PhotonFlux", "2500000"),
    ]  # fmt: skip
    assert set(applied.same) == {"nTriggers", "Metadata"}
    assert applied.details() == ""
    assert applied.sentence() == "4 settings typed"


def test_what_the_device_lacks_or_refuses_is_listed() -> None:
    preset = Preset(settings={
        "ExposureTime": "5000", "Threshold2": 7, "FrameBytes": 3, "Pattern": "rings", "nTriggers": 3,
    })  # fmt: skip
    applied = apply(preset, view())
    assert applied.lacking == ("FrameBytes", "Threshold2")
    assert applied.details().split("\n") == [
        "Exposure time: 5000 is outside its limits, 1e-05 to 3,600 s",
        'Pattern: "rings" is not one of powder, ramp',
        "This detector does not have: Frame bytes, Threshold 2.",
    ]
    assert list(applied.edits) == ["ExposureTime", "nTriggers", "Pattern"]  # the user mends the red ones
    assert applied.sentence() == "3 settings typed, 2 refused, 2 not known here"


def test_a_setting_that_this_model_of_the_camera_lacks_is_not_typed() -> None:
    seen = view(Pattern=None)
    assert apply(Preset(settings={"Pattern": "ramp"}), seen).lacking == ("Pattern",)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "it is not JSON"),
        ("[]", "it is not a preset"),
        ('{"format": "penstock preset", "version": 2, "settings": {}}', "reads version 1"),
        ('{"format": "penstock preset", "version": 1}', 'no object "settings"'),
        ('{"format": "penstock preset", "version": 1, "settings": {"a": [1]}}', r"a is \[1\]; give a number"),
    ],
)
def test_what_is_no_preset_is_refused_with_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(BadPreset, match=sentence):
        decode(text)


# -- files -----------------------------------------------------------------------------------------


@pytest.fixture
def folders(tmp_path: Path) -> PresetFolders:
    (tmp_path / "site").mkdir()
    environment = {
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "PENSTOCK_PRESETS": f"{tmp_path}/site:{tmp_path}/gone",
    }
    return PresetFolders.of(environment, [tmp_path / "site"])


def test_the_users_folder_comes_first_and_then_those_of_the_site(
    folders: PresetFolders, tmp_path: Path
) -> None:
    assert folders.own == tmp_path / "config/penstock/presets"
    assert folders.sites == (tmp_path / "site", tmp_path / "gone")
    listed = folders.list()
    assert [(each.own, each.writable, each.problem) for each in listed] == [
        (True, True, ""), (False, True, ""), (False, False, f"{tmp_path}/gone does not exist"),
    ]  # fmt: skip
    assert PresetFolders.of({"HOME": "/home/me"}).own == Path("/home/me/.config/penstock/presets")


def test_a_preset_is_saved_found_and_deleted(folders: PresetFolders) -> None:
    preset = take(view(), whole=True)
    path = folders.save(preset, " powder 25 keV ", folders.own, overwrite=False)
    assert path.name == "powder 25 keV.json"
    (found,) = folders.list()[0].presets
    assert found == Found("powder 25 keV", folders.own)
    kept = read(found)
    assert replace(kept, saved="") == preset
    assert kept.saved
    text = path.read_text()
    assert '"ExposureTime": "0.1 s"' in text and '"sample": "π"' in text  # for people
    assert json.loads(text)["version"] == 1
    with pytest.raises(BadPreset, match="already"):
        folders.save(preset, "powder 25 keV", folders.own, overwrite=False)
    folders.save(preset, "powder 25 keV", folders.own, overwrite=True)
    assert os.listdir(folders.own) == ["powder 25 keV.json"]
    delete(found)
    assert folders.list()[0].presets == ()
    for broken in (lambda: read(found), lambda: delete(found)):
        with pytest.raises(BadPreset, match=r"25 keV.json cannot be .*No such file"):
            broken()


def test_a_file_that_is_none_names_itself(folders: PresetFolders) -> None:
    (folders.sites[0] / "x.json").write_bytes(b"\xff")
    (found,) = folders.list()[1].presets
    with pytest.raises(BadPreset, match=r"site/x.json cannot be used"):
        read(found)


def test_a_folder_that_cannot_be_written_is_said(folders: PresetFolders, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadPreset, match="cannot be written: Not a directory"):
        folders.save(Preset(settings={}), "a", tmp_path / "file" / "b", overwrite=False)


@pytest.mark.parametrize(
    ("name", "why"),
    [("", "needs a name"), ("a/b", 'leave out "/"'), (".a", "a point"), ("x" * 101, "too long")],
)
def test_names_that_no_file_can_have_are_refused(name: str, why: str) -> None:
    with pytest.raises(BadPreset, match=why):
        checked_name(name)


def test_an_attribute_without_a_unit_is_kept_as_a_number() -> None:
    gain = Attribute(name="Gain", kind=float, group="camera", writable=True)
    seen = replace(view(Gain=2.5), attributes={"Gain": gain})
    assert take(seen, whole=False).settings == {"Gain": 2.5}
