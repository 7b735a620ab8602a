"""Arming of a detector whose frames the streamer sends: in the caller's thread and time-out."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable

from penstock.devices._series.machine.states import Event
from penstock.receiver.client import ReceiverClient, ReceiverRefused, ReceiverUnavailable
from penstock.streamer.camera.settings import Settings
from penstock.streamer.remote.client import StreamerClient, StreamerRefused, StreamerUnavailable
from tests.devices._series.former import arming
from tests.devices._series.former.arming import ArmRefused, Budget
from tests.devices._series.former.record import SeriesRecord
from tests.devices._series.former.watchdog import Actions, remedied, sentence

log = logging.getLogger(__name__)

NO_STREAMER = (StreamerRefused, StreamerUnavailable)
NO_RECEIVER = (ReceiverRefused, ReceiverUnavailable)


class StreamerArming:
    """The order of arming: prepare, check the receiver, start message, receiver running, hardware.

    Args:
        record: of the device's series; its state is ARMING when `arm` is called.
        receiver: client of the receiver.
        died: returns how the streamer's process ended, `None` while it lives.
        actions: what the device does next.
    """

    def __init__(
        self, record: SeriesRecord, receiver: ReceiverClient, died: Callable[[], str | None], actions: Actions
    ) -> None:
        self._record = record
        self._receiver = receiver
        self._died = died
        self._do = actions

    def arm(self, streamer: StreamerClient, endpoint: str, settings: Settings, armed_by: str) -> None:
        """Arm; return when the hardware takes triggers, or is still arming.

        Raises:
            ArmRefused: with the reason; the state is IDLE again, or FAULT if the streamer is lost.
        """
        try:
            self._steps(streamer, endpoint, settings, armed_by)
        except (ArmRefused, *NO_STREAMER, *NO_RECEIVER) as error:
            died = self._died()
            self._undo(streamer, str(error))
            if died is not None:
                raise ArmRefused("streamer_died", remedied(died)) from error
            raise ArmRefused(getattr(error, "kind", "unavailable"), str(error)) from error
        except Exception as error:
            self._undo(streamer, f"internal error, {error!r}")
            raise

    def _steps(self, streamer: StreamerClient, endpoint: str, settings: Settings, armed_by: str) -> None:
        budget = Budget(self._record.clock)
        prepared = streamer.prepare(settings)
        found = arming.check_receiver(self._receiver, streamer, settings, prepared, endpoint, budget)
        self._record.name(prepared, found, armed_by)
        streamer.announce()
        self._record.on_receiver(arming.await_receiver(self._receiver, prepared.series, budget))
        try:
            streamer.start()
        except StreamerUnavailable:
            if self._record.streamer_lost or self._died() is not None:
                raise
            log.info("the detector needs longer to arm")
            return
        self._do.ready()

    def _undo(self, streamer: StreamerClient, cause: str) -> None:
        """Undo everything; if that is not possible, the state is FAULT."""
        died = self._died()
        if died is None:
            try:
                self._withdraw(streamer)
            except NO_STREAMER as error:
                died = str(error)
        if died is not None:
            self._do.fail(died, lost=True)
        else:
            self._record.end(
                Event.REFUSED, f"Ready. The last Arm was refused: {cause}",
                f"Arm was refused: {sentence(cause)}",
            )  # fmt: skip

    def _withdraw(self, streamer: StreamerClient) -> None:
        state = streamer.status().state
        arming.bring_to_idle(streamer, state)
        series = self._record.view.series
        if state != "prepared" and series:
            # The receiver may have begun the series; the next Arm must not find it busy.
            with contextlib.suppress(*NO_RECEIVER):
                budget = Budget(self._record.clock, 0.5)
                self._record.on_receiver(arming.await_idle(self._receiver, series, budget))
