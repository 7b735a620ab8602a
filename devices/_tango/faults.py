"""The errors of a device's parts as the one Tango exception that clients see."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import tango

from penstock.devices._series.refusals import ArmRefused
from penstock.devices._series.settings import ValueRefused
from penstock.devices._tango.device_properties import PropertyRefused
from penstock.devices._tango.tango_text import tango_error
from penstock.processing.client import PipelineRefused, PipelineUnavailable
from penstock.receiver.client import ReceiverRefused, ReceiverUnavailable
from penstock.streamer.remote.client import StreamerRefused, StreamerUnavailable


class ConfigureRefused(Exception):
    """New parameters were refused, and the old ones hold: `kind` is stable, the sentence says why."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


EXPECTED = (
    ArmRefused, ValueRefused, ReceiverRefused, ReceiverUnavailable, StreamerRefused, StreamerUnavailable,
    ConfigureRefused, PipelineRefused, PipelineUnavailable, PropertyRefused,
)  # fmt: skip
"""Errors whose text is a sentence for the user."""


@contextmanager
def as_tango_error(origin: str) -> Iterator[None]:
    """Raise an expected error as a DevFailed: the reason is its kind, the description its sentence."""
    try:
        yield
    except EXPECTED as error:
        reason = f"Penstock_{getattr(error, 'kind', 'refused')}"
        tango.Except.throw_exception(reason, tango_error(str(error)), origin)
