"""Versions of libaravis that are too old."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.devices._genicam import aravis
from penstock.streamer.camera.unit import CameraError


class OlderLibrary:
    """The installed library without one of its functions."""

    def __init__(self, lacks: str) -> None:
        self._library, self._lacks = aravis.aravis_library(), lacks

    def __getattr__(self, name: str) -> Any:
        if name == self._lacks:
            raise AttributeError(name)
        return getattr(self._library, name)


@pytest.mark.parametrize("name", ["arv_get_major_version", "arv_camera_uv_set_usb_mode"])
def test_a_library_that_lacks_a_function_is_too_old(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    older = OlderLibrary(name)
    monkeypatch.setattr(aravis, "aravis_library", lambda: older)
    with pytest.raises(CameraError, match=f"has no {name}: it is older than 0.8.26; install Debian's"):
        aravis.Aravis()


def test_a_version_that_is_too_old_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aravis, "LEAST_VERSION", (0, 9, 0))
    with pytest.raises(CameraError, match=r"libaravis-0.8.so.0 is 0\.8\.\d+, at least 0.8.26 is needed"):
        aravis.Aravis()
