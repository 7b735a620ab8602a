"""The receiver's newest series as LastSeries of a device that has taken none: an earlier process has.

A receiver takes the series of one detector, whoever arms them; it does not know which device has.
"""

from __future__ import annotations

from penstock.devices._series.machine.view import SeriesView, account_sentence, beyond_counts
from penstock.receiver.models import Counts, Series
from penstock.streamer.camera.driver import TOLD_TO_END
from tests.devices._series.former.last_series import PROCESS_END, last_series
from tests.devices._series.former.left_over import RESTARTED
from tests.devices._series.former.record import SeriesRecord


class EarlierSeries:
    """The search for it, once after the start of a device.

    Args:
        record: record of the device's series.
    """

    def __init__(self, record: SeriesRecord) -> None:
        self._record = record
        self._over = False

    def look(self) -> None:
        """Take it over, as soon as the receiver has ended it; to be called often."""
        if self._over:
            return
        record = self._record
        with record.lock:
            status = record.receiver_status
            if record.series_number or record.view.last_series:
                self._over = True
            if self._over or status is None or record.receiver_silence is not None:
                return
            series = status.series
            if series is not None and series.active:
                return
            self._over = True
            if series is not None and series.taken:
                record.remember(*summary(series, status.counts))


def summary(series: Series, counts: Counts) -> tuple[str, str]:
    """Return LastSeries, and the note for Status: "" if the series is complete.

    Args:
        series: the series, which has ended.
        counts: its counts.
    """
    view = SeriesView(
        series=series.id, filename=series.filename or "", planned=counts.planned or 0,
        unplanned=counts.planned is None, counts=counts,
    )  # fmt: skip
    account = account_sentence(view, f" in {view.filename}" if view.filename else "")
    why = "" if series.complete else beyond_counts(series.reason, view)
    if any(words in why for words in (TOLD_TO_END, RESTARTED, PROCESS_END)):
        why = f"ended by {PROCESS_END}"
    verdict = f"{account}: {why}." if why else f"{account}."
    note = "" if series.complete else f"Last series of the receiver: {verdict}"
    return last_series(view, series, verdict, series.started), note
