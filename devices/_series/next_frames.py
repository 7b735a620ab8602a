"""The format of the next series' frames: the streamer knows it as sent, the receiver as stored."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from penstock.devices._series.arming import orientation
from penstock.devices._series.machine.events import FormatFound
from penstock.devices._series.record import SeriesRecord
from penstock.devices._series.refusals import ArmRefused
from penstock.devices._series.settings import ValueRefused
from penstock.receiver.client import ReceiverClient, ReceiverRefused, ReceiverUnavailable
from penstock.receiver.models import SeriesCheck
from penstock.streamer.camera.settings import Settings
from penstock.streamer.remote.client import Checked, StreamerClient, StreamerRefused, StreamerUnavailable

log = logging.getLogger(__name__)

NOT_NOW = ("busy", "in_error")
"""Kinds of a receiver's refusal that say nothing about the frames."""


class NextFrames:
    """Asks both sides, and records the answer.

    Args:
        record: record of the device's series.
        receiver: client of the receiver.
    """

    def __init__(self, record: SeriesRecord, receiver: ReceiverClient) -> None:
        self._record = record
        self._receiver = receiver
        self._asked_receiver = False

    def outdated(self) -> bool:
        """Return whether the receiver, whose transforms may change the frames, can be asked now and has not
        been asked since it appeared; call it often."""
        if self._record.facts.receiver_silence is not None:
            self._asked_receiver = False  # it may come back with another configuration
        return not self._asked_receiver and self._record.facts.receiver_is_idle

    def ask(self, streamer: Callable[[], StreamerClient], settings: Callable[[], Settings]) -> bool:
        """Find out the format; return whether the camera could be asked now.

        Args:
            streamer: returns the streamer, or raises ArmRefused.
            settings: returns the settings of the next series, or raises ValueRefused.
        """
        self._asked_receiver = self._record.facts.receiver_is_idle
        checked, turning = Checked(frames=0), {}
        try:
            next_settings = settings()
            turning = orientation(next_settings) if self._record.facts.own_stream else {}
            checked = streamer().check(next_settings)
        except ValueRefused:
            return True  # too many frames; their format is unchanged
        except (ArmRefused, StreamerRefused, StreamerUnavailable) as error:
            if getattr(error, "kind", "") == "busy":
                return False
            log.debug("frames of the next series: %s", error)  # the command Check reports it
        self._record.handle(FormatFound(checked.frame_bytes, *self._stored(checked, turning)))
        return True

    def _stored(self, checked: Checked, turning: Mapping[str, Any]) -> tuple[tuple[int, ...], str]:
        """Return shape and type in the file, or as sent if the receiver cannot be asked."""
        if not self._asked_receiver or not checked.shape:
            return checked.shape, checked.dtype
        question = SeriesCheck(filename="", shape=list(checked.shape), dtype=checked.dtype, **turning)
        try:
            found = self._receiver.check(question)
        except ReceiverRefused as error:
            if error.kind not in NOT_NOW:
                return (), ""  # there will be no such frames
        except ReceiverUnavailable as error:
            log.debug("frames of the next series: %s", error)
        else:
            return tuple(found.shape), found.dtype
        self._asked_receiver = False
        return checked.shape, checked.dtype
