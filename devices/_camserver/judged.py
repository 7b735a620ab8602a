"""Whether an exposure went as it was set at Arm; if it did not, how the series ends for that."""

from __future__ import annotations

from contextlib import suppress
from threading import Event

from penstock.devices._camserver import last_image
from penstock.devices._camserver.exposure import Exposure
from penstock.devices._camserver.light import Light
from penstock.streamer.camera.unit import CameraError

APPEARS_IN, APPEARS_EVERY = 100, 0.02
"""Answers of the light streamer in which a file appears, and seconds between them. Answers are counted, not
time: the control unit may be too busy to answer."""


class Judge:
    """Judges the exposures of one series.

    Args:
        address: of camserver.
        light: the light streamer.
        images: number of images per exposure.
        folder: into which camserver writes, in its own words; "" if they are not known.
    """

    def __init__(self, address: str, light: Light, images: int, folder: str) -> None:
        self._address, self._light, self._images, self._folder = address, light, images, folder

    def judge(self, last: Exposure, begun: int) -> tuple[str, str] | None:
        """Return reason and message with which a series ends, since its last exposure did not go as it was
        set; `None` if it did.

        Args:
            last: has ended, and not failed.
            begun: number of exposures so far.
        """
        planned = begun * self._images - 1
        unlike = last_image.unlike(last.words, planned, self._folder)
        elsewhere = last_image.is_elsewhere(last.words, self._folder)
        if unlike and not (elsewhere and self._appears(begun)):  # of one folder there may be two names
            return "fault", f"{self._address} {unlike}; Arm sets it again"
        if last.killed_by_others:
            return "stop", f"somebody has ended it at camserver, at {last.words}"
        if fewer := last_image.fewer(last.words, planned):
            return "stop", f"{self._address} {fewer}"
        return None

    def _appears(self, begun: int) -> bool:
        """Return whether a file of the last exposure is, or comes, where it is looked for."""
        with suppress(CameraError):  # whoever asks for the progress of the series is told
            for _ in range(APPEARS_IN):
                if self._light.status().acquired > (begun - 1) * self._images:
                    return True
                Event().wait(APPEARS_EVERY)
            return False
        return True
