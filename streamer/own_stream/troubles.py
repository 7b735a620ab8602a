"""Errors of a box, as sentences."""

from __future__ import annotations

import logging

from penstock.streamer.camera.own_stream import BoxState, Progress
from penstock.streamer.camera.unit import CameraError

log = logging.getLogger(__name__)


def wrong(progress: Progress) -> str:
    """Return why the box cannot take a series, with the remedy; "" where it can."""
    said = f": {progress.message}" if progress.message else ""
    match progress.state:
        case BoxState.ARMED:
            return f"the detector was armed by somebody else{said}; Reset disarms it, and ends that series"
        case BoxState.UNINITIALISED:
            return f"the detector was switched on, and is not initialised{said}; Reset initialises it"
        case BoxState.ERROR:
            return f"the detector reports an error{said}; Reset tries to bring it to rest"
    return ""


def sentence_of(error: Exception, name: str) -> str:
    """Return what an error says; a detector's file may raise anything, in any call.

    Args:
        error: the exception.
        name: name of the detector's class.
    """
    if isinstance(error, CameraError):
        return str(error)
    log.error("%s raised what is no CameraError", name, exc_info=error)
    return f"{name} raised {type(error).__name__}: {error}; the streamer's log says where"
