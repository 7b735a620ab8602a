"""The verdict on an exposure: how a series ends that did not go as it was set at Arm."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import PurePosixPath
from threading import Event

from penstock.devices._camserver.exposure import Exposure
from penstock.devices._camserver.light import Light
from penstock.streamer.camera.unit import CameraError

NUMBER = re.compile(r"_(\d+)$")


def number_of(path: str) -> int | None:
    """Return the number in the name of an image; `None` if there is none."""
    found = NUMBER.search(PurePosixPath(path).stem)
    return None if found is None else int(found[1])


def fewer(path: str, planned: int) -> str:
    """Return, in words, how an exposure has ended before the image of number `planned`; "" if it has not."""
    number = number_of(path)
    if number is None or number >= planned:
        return ""
    return (
        f"has taken images up to {number}, not {planned}: somebody has changed NImages since Arm, or has "
        "ended the exposure at camserver"
    )


def is_elsewhere(path: str, folder: str) -> bool:
    """Return whether an image is in another folder than this one; "": it is not known."""
    return path.startswith("/") and folder not in ("", str(PurePosixPath(path).parent))


def unlike(path: str, planned: int, folder: str) -> str:
    """Return, in words, what somebody has changed since Arm so that there are too many images, or they are
    not where they are looked for; "" for nothing.

    Args:
        path: of the last image, as camserver says it.
        planned: number of the last image as it was set.
        folder: into which camserver was told to write.
    """
    number = number_of(path)
    if number is not None and number > planned:
        return f"has taken images up to {number}, not {planned}: somebody has changed NImages since Arm"
    if is_elsewhere(path, folder):
        where = PurePosixPath(path).parent
        return f"has written into {where}, not {folder}: somebody has changed ImgPath since Arm"
    return ""


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
        differs = unlike(last.words, planned, self._folder)
        elsewhere = is_elsewhere(last.words, self._folder)
        if differs and not (elsewhere and self._appears(begun)):  # of one folder there may be two names
            return "fault", f"{self._address} {differs}; Arm sets it again"
        if last.killed_by_others:
            return "stop", f"somebody has ended it at camserver, at {last.words}"
        if lacks := fewer(last.words, planned):
            return "stop", f"{self._address} {lacks}"
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
