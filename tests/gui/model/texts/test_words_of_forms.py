"""Labels, folders, names of devices, and what the panel says before a button is pressed."""

from __future__ import annotations

import pytest

from penstock.gui.model.attributes.attribute import (
    Attribute,
    explanation,
    in_sections,
    label,
    unit,
    with_labels,
)
from penstock.gui.model.files.place import client_root, join_path, relative
from penstock.gui.model.tango.device_name import BadDeviceName, checked, key


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ExposureTime", "Exposure time"),
        ("SensorTemperature", "Sensor temperature"),
        ("AOIWidth", "AOI width"),
        ("RoiMode", "ROI mode"),
        ("nFramesPerTrigger", "Frames per trigger"),
        ("Gain2", "Gain 2"),
        ("CCDReadoutMode", "CCD readout mode"),
        ("high_voltage", "High voltage"),
        ("FrameTime", "Period"),
    ],
)
def test_names_are_taken_apart_into_words(name: str, words: str) -> None:
    assert label(name) == words


def test_sections_keep_what_belongs_to_none() -> None:
    names = ("FrameRate", "ExposureTime", "Heron", "Rotation")
    found = in_sections([Attribute(name=name, kind=float, group="series") for name in names])
    assert {title: [each.name for each in members] for title, members in found.items()} == {
        "Timing": ["ExposureTime", "FrameRate"],
        "Image": ["Rotation"],
        "More": ["Heron"],
    }


def test_an_explanation_names_limits_choices_and_tango() -> None:
    attribute = Attribute(name="Threshold", kind=float, unit="eV", minimum=0.0, doc="Of the counter.")
    assert (
        explanation(attribute) == "Of the counter.\nLimits: 0 eV or more.\nTango attribute Threshold, in eV."
    )
    mode = Attribute(name="Mode", kind=str, choices=("a", "b"))
    assert explanation(mode) == "One of a, b.\nTango attribute Mode."
    assert unit(Attribute(name="T", kind=float, unit="degC")) == "°C"


def test_a_devices_sentence_speaks_of_labels() -> None:
    names = ("ExposureTime", "FrameTime", "DestinationFilename", "DestinationFileOverwritable", "Rotation")
    assert with_labels("shorten ExposureTime, Rotation or FrameTime.", names) == (
        "shorten Exposure time, Rotation or Period."
    )
    taken = "give another name (DestinationFilename), or allow it (DestinationFileOverwritable)"
    assert with_labels(taken, names) == "give another name (File), or allow it (Replace an existing file)"
    for path in ("/data/ExposureTime/a.h5 exists", "ExposureTimes", "/data/FrameTime.h5"):
        assert with_labels(path, names) == path
    assert with_labels("Ready.", ()) == "Ready."


@pytest.mark.parametrize(
    ("root", "sent", "seen", "here"),
    [
        ("/gpfs", "/mxn/visitors/a.h5", "/gpfs/visitors/a.h5", "/mxn"),
        ("/gpfs/", "/gpfs/visitors/a.h5", "/gpfs/visitors/a.h5", "/gpfs"),
        ("/data", "/data/a.h5", "", "/data"),
        ("/data", "", "", "/data"),
        ("/data", "/x/b.h5", "/data/a.h5", "/data"),
    ],
)
def test_the_data_root_has_the_name_that_it_has_here(root: str, sent: str, seen: str, here: str) -> None:
    assert client_root(root, sent, seen) == here


def test_folders_are_told_from_the_data_root() -> None:
    assert relative("/data/visitors/2025", "/data") == "visitors/2025"
    assert relative("/data", "/data") == relative("/elsewhere", "/data") == relative("", "/data") == ""
    assert join_path("/data", "", "raw", "") == "/data/raw"


@pytest.mark.parametrize("name", ["sim/det/1", "tango://db:10000/sim/det/1", "//db:10000/b303a-o/ec/x-1"])
def test_names_of_devices(name: str) -> None:
    assert checked(f" {name} ") == name


@pytest.mark.parametrize(
    "name", ["", "sim", "sim/det", "sim/det/1/State", "tango://db/sim/det/1", "tango://db:0/a/b/c", "a b/c/d"]
)
def test_what_no_device_can_be_called_is_refused_with_an_example(name: str) -> None:
    with pytest.raises(BadDeviceName, match="three parts, such as sim/det/1"):
        checked(name)


def test_spellings_of_one_name() -> None:
    assert key("tango://DB:10000/Sim/Det/1") == key("//db:10000/sim/det/1")
