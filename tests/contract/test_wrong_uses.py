"""What the contract suite says to whoever makes a usual mistake in a camera's file or its test class."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from penstock.streamer.camera.contract import Acquisition, Camera, Exposure
from penstock.streamer.camera.loading import load_library
from penstock.streamer.camera.settings import TriggerMode, Value
from tests.contract.test_camera_contract import CameraContract
from tests.streamer.rig import FakeCamera, Rig

AT_THE_TOP = """
import kudu_sdk
from tests.streamer.rig import FakeCamera

class KuduCamera(FakeCamera):
    pass
"""
MODE = TriggerMode.INTERNAL


class Kudu(CameraContract):
    """A test class that says the least."""

    camera = FakeCamera
    exposure = 0.0

    def lose(self, rig: Rig, index: int) -> None:
        rig.camera.lost = {index}


def rig_of(script: Callable[[FakeCamera, Acquisition], Iterator[Exposure]]) -> Rig:
    camera = FakeCamera({})
    camera.script = lambda acquisition: script(camera, acquisition)
    return Rig(camera, buffers=64 * 2**10)


def test_a_test_class_has_to_say_which_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = (
        'Kudu needs sdk = "…": the module that the camera loads when opened, or library = "…": its shared '
        "library; None if it has none"
    )
    for test in (
        lambda: Kudu().test_without_its_sdk_it_is_a_sentence_that_names_it(monkeypatch),
        Kudu().test_its_tango_class_is_made_without_its_sdk,
    ):
        with pytest.raises(NotImplementedError) as caught:
            test()
        assert str(caught.value) == sentence


def test_an_sdk_that_is_imported_at_the_top_is_told_where_to_load_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kudu_sdk.py").touch()
    (tmp_path / "kudu_at_the_top.py").write_text(AT_THE_TOP)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(__file__).parents[2]}")
    import kudu_at_the_top  # type: ignore[import-not-found]

    class ImportsAtTheTop(Kudu):
        camera: type[Camera] = kudu_at_the_top.KuduCamera
        sdk = "kudu_sdk"

    words = r"load the SDK when a unit is opened \(load_sdk, load_library\)"
    with pytest.raises(AssertionError, match=f"it was opened without it; {words}"):
        ImportsAtTheTop().test_without_its_sdk_it_is_a_sentence_that_names_it(monkeypatch)
    with pytest.raises(AssertionError, match=words):
        ImportsAtTheTop().test_its_tango_class_is_made_without_its_sdk()


class KuduOfALibrary(FakeCamera):
    """Loads its library when opened."""

    def __init__(self, properties: Mapping[str, Value]) -> None:
        super().__init__(properties)
        self.sdk = load_library("libc.so.6", "install Debian's libc6")


class HasALibrary(Kudu):
    camera = KuduOfALibrary
    library = "libc.so"

    def open(self) -> Camera:
        return KuduOfALibrary({})


def test_a_shared_library_is_asked_for_like_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    assert KuduOfALibrary({}).sdk.getpid() == os.getpid()
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    HasALibrary().test_its_tango_class_is_made_without_its_sdk()
    with monkeypatch.context() as patch:
        HasALibrary().test_without_its_sdk_it_is_a_sentence_that_names_it(patch)

    class NamesAnother(HasALibrary):
        library = "libkudu.so"

    with pytest.raises(AssertionError, match="it was opened without it; load the SDK when a unit is opened"):
        NamesAnother().test_without_its_sdk_it_is_a_sentence_that_names_it(monkeypatch)


def test_a_last_frame_that_did_not_come_and_was_not_told_is_told_how() -> None:
    def untold(camera: FakeCamera, acquisition: Acquisition) -> Iterator[Exposure]:
        acquisition.ready()
        for index in range(acquisition.settings.frames):
            if index not in camera.lost:
                yield camera.frame(acquisition, index)

    with rig_of(untold) as rig:
        rig.connect()
        words = r"it ended after 2 of 3 frames: .* is told by acquisition\.triggered\(\)"
        with pytest.raises(AssertionError, match=words):
            Kudu().test_a_frame_that_does_not_come_is_missing_and_the_series_ends(rig, MODE, 2)


def test_frames_that_are_alike_are_told_to_be_copied_in_the_callback() -> None:
    def alike(camera: FakeCamera, acquisition: Acquisition) -> Iterator[Exposure]:
        acquisition.ready()
        for index in range(acquisition.settings.frames):
            camera.frame(acquisition, 7)
            yield Exposure(index=index)

    with rig_of(alike) as rig:
        rig.connect()
        with pytest.raises(AssertionError, match="frames share memory: copy in the callback"):
            Kudu().test_it_keeps_its_frames_apart(rig, MODE)


def test_without_a_hook_nothing_is_asked_of_errors_that_are_called_back() -> None:
    rig: Any = None
    with pytest.raises(pytest.skip.Exception, match=r"no fail\(\)"):
        Kudu().test_an_error_that_the_sdk_calls_back_ends_the_series_as_a_fault(rig, MODE, exposing=True)
