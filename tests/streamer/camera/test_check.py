"""A check of a series: refuses what can be refused without the hardware, and is in nobody's way."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from penstock.streamer.camera.driver import Checked, Refused
from penstock.streamer.camera.engine import MOST_CHECKS
from penstock.streamer.camera.settings import Settings, TriggerMode
from penstock.streamer.camera.unit import CameraError, FrameFormat
from tests.streamer.rig import DEADLINE, FakeCamera, Rig, done, settings


class Checking(FakeCamera):
    """Says what its frames look like; `on_check` is what else it does."""

    compression = "none"
    on_check: Callable[[Settings], None] = staticmethod(lambda settings: None)

    def check(self, settings: Settings) -> FrameFormat:
        self.on_check(settings)
        return FrameFormat(shape=self.shape, dtype=self.dtype, compression=self.compression, frame_bytes=24)


@pytest.fixture
def camera() -> Any:
    return Checking({})


def test_it_says_how_many_frames_there_are_and_how_large(camera: Checking) -> None:
    with Rig(camera) as rig:
        checked = done(rig.engine.check(settings(n_triggers=4, n_frames_per_trigger=2)))
        assert checked == Checked(frames=8, frame_bytes=24, shape=camera.shape, dtype=camera.dtype)


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_it_says_what_frames_look_like_as_prepare_does_however_they_are_turned(
    camera: Checking, rotation: int
) -> None:
    camera.shape = (3, 4)
    with Rig(camera) as rig:
        wanted = settings(rotation=rotation, fliplr=True)
        checked, prepared = done(rig.engine.check(wanted)), done(rig.engine.prepare(wanted))
    assert checked.shape == prepared.shape == ((4, 3) if rotation in (90, 270) else (3, 4))
    assert checked.dtype == prepared.dtype


def test_a_camera_without_a_check_leaves_the_size_unknown() -> None:
    with Rig(FakeCamera({})) as rig:
        assert done(rig.engine.check(settings(n_triggers=4))) == Checked(frames=4, frame_bytes=0)


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"exposure_time": 200.0}, "out_of_range", "the greatest is 100"),
        ({"trigger_mode": TriggerMode.EXTERNAL}, "out_of_range", "TriggerMode EXTERNAL"),
        ({"rotation": 45}, "out_of_range", "Rotation 45"),
        ({"camera": {"Gain": 7.0}}, "out_of_range", "Gain 7"),
        ({"camera": {"Nonsense": 1}}, "unknown_parameter", "Nonsense"),
    ],
)
def test_what_prepare_refuses_is_refused_in_the_same_words(
    camera: Checking, changes: dict[str, Any], kind: str, words: str
) -> None:
    with Rig(camera) as rig:
        with pytest.raises(Refused, match=words) as checked:
            done(rig.engine.check(settings(**changes)))
        with pytest.raises(Refused) as prepared:
            done(rig.engine.prepare(settings(**changes)))
        assert checked.value.kind == prepared.value.kind == kind
        assert checked.value.message == prepared.value.message


def test_a_camera_refuses_a_combination(camera: Checking) -> None:
    def refuse(settings: Settings) -> None:
        raise CameraError("these do not go together")

    camera.on_check = refuse
    with Rig(camera) as rig:
        with pytest.raises(Refused, match="Checking: these do not go together") as refused:
            done(rig.engine.check(settings()))
        assert refused.value.kind == "camera"


def test_compressed_frames_are_not_turned(camera: Checking) -> None:
    camera.compression = "bslz4"
    with Rig(camera) as rig, pytest.raises(Refused, match="set Compression to none"):
        done(rig.engine.check(settings(flipud=True)))


def test_nothing_is_touched(camera: Checking) -> None:
    touched: list[str] = []
    camera.on_prepare = lambda: touched.append("prepare")
    camera.apply = lambda values: touched.append("apply")  # type: ignore[method-assign]
    with Rig(camera) as rig:
        rig.connect()
        done(rig.engine.prepare(settings()))
        touched.clear()
        status, description = rig.engine.status(), rig.engine.describe()
        done(rig.engine.check(settings(exposure_time=1.0, camera={"Gain": 3.0})))
        assert (rig.engine.status(), rig.engine.describe()) == (status, description)
        assert not touched
        done(rig.engine.announce())


def test_no_check_waits_for_a_series_and_none_keeps_it_from_being_stopped(camera: Checking) -> None:
    camera.script = camera.until_stopped
    with Rig(camera) as rig:
        rig.connect()
        rig.arm()
        with pytest.raises(Refused, match=r"last call \(acquire\)") as refused:
            rig.engine.check(settings())
        assert refused.value.kind == "busy"
        done(rig.engine.stop())
        rig.until_state("idle")
        assert done(rig.engine.check(settings())).frame_bytes == 24


def test_a_camera_that_hangs_keeps_few_waiting_and_nobody_from_preparing(camera: Checking) -> None:
    entered, goes_on = Event(), Event()

    def hang(settings: Settings) -> None:
        entered.set()
        assert goes_on.wait(DEADLINE)

    camera.on_check = hang
    with Rig(camera) as rig:
        waiting = [rig.engine.check(settings()) for _ in range(MOST_CHECKS)]
        assert entered.wait(DEADLINE)
        with pytest.raises(Refused, match=r"last call \(check\)"):
            rig.engine.check(settings())
        prepared = rig.engine.prepare(settings())
        goes_on.set()
        assert [done(each).frames for each in waiting] == [done(prepared).frames] * MOST_CHECKS
        assert done(rig.engine.check(settings())).frame_bytes == 24
