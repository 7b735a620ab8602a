"""A lost camera is opened again: whatever goes wrong is a sentence, at this Arm or at the next one."""

from __future__ import annotations

import threading

import pytest

from penstock.devices._genicam import reopening
from penstock.devices._genicam.reopening import Reopening
from penstock.streamer.camera.unit import CameraError

UNIT = {"Address": "192.0.2.7", "SerialNumber": ""}


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (CameraError("camera 192.0.2.7 is taken"), "camera 192.0.2.7 is taken"),
        (KeyError("Width"), "camera 192.0.2.7 could not be opened again: KeyError: 'Width'"),
        (MemoryError(), "camera 192.0.2.7 could not be opened again: MemoryError: "),
    ],
)
def test_any_error_is_the_refusal_of_arm_with_its_cause(
    monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    def fails(_: object) -> None:
        raise error

    monkeypatch.setattr(reopening, "Device", fails)
    with pytest.raises(CameraError) as refused:
        Reopening(UNIT).device(10.0)
    assert str(refused.value) == said


def test_one_that_comes_late_is_that_of_the_next_arm(monkeypatch: pytest.MonkeyPatch) -> None:
    answers, camera = threading.Event(), object()

    def opens(_: object) -> object:
        answers.wait()
        return camera

    monkeypatch.setattr(reopening, "Device", opens)
    opening = Reopening(UNIT)
    with pytest.raises(CameraError, match="camera 192.0.2.7 does not answer; see its cable and power"):
        opening.device(0.01)
    answers.set()
    assert opening.device(10.0) is camera
