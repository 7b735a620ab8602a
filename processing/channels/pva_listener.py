"""Records EPICS records over pvAccess, by p4p. Its threads do not survive a fork: only the process that
records imports this.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import numpy as np
from p4p import Value
from p4p.client.thread import Context, RemoteError, Subscription

from penstock.processing.channels.channel_writer import Unsuitable
from penstock.processing.channels.epics_record import EpicsRecord

log = logging.getLogger("penstock.processing.channels.recorder")

REQUEST = "record[queueSize=1000]"
"""Updates of a record that wait on either side; without it 4. Of more, the server leaves the oldest out."""
RETRY_SECONDS = 2.0
"""Pause before a record is subscribed to again that was refused."""
TYPES = ("epics:nt/NTScalar:", "epics:nt/NTScalarArray:", "epics:nt/NTEnum:")


class PvaListener(Thread):
    """Records what is served over pvAccess.

    Args:
        records: take the updates.
    """

    def __init__(self, records: Sequence[EpicsRecord]) -> None:
        super().__init__(name="pvAccess", daemon=True)
        self._records = records
        self._subscriptions: dict[EpicsRecord, Subscription] = {}
        self._refused: SimpleQueue[EpicsRecord] = SimpleQueue()
        # Without useenv, p4p ignores the variables EPICS_PVA_… and broadcasts.
        self._context = Context("pva", useenv=True, nt=False)

    def run(self) -> None:
        """Subscribe to all, and again to those that were refused; until then they send nothing."""
        due = dict.fromkeys(self._records, 0.0)
        while True:
            now = time.monotonic()
            for record in [record for record, moment in due.items() if moment <= now]:
                del due[record]
                self._subscriptions[record] = self._context.monitor(
                    record.name, partial(self._update, record), request=REQUEST, notify_disconnect=True
                )
            try:
                record = self._refused.get(timeout=RETRY_SECONDS)
            except Empty:
                continue
            if record not in due:
                self._subscriptions[record].close()
                due[record] = time.monotonic() + RETRY_SECONDS

    def _update(self, record: EpicsRecord, update: Any) -> None:
        """Take an update, in a thread of p4p's."""
        try:
            if isinstance(update, RemoteError):
                record.refuse(f"{record.attribute} is refused by its server: {update}")
                self._refused.put(record)
            elif isinstance(update, Exception):
                record.lost()
            else:
                _take(record, update)
        except Unsuitable as error:
            record.refuse(str(error))
            self._refused.put(record)
        except Exception:  # which would end the subscription
            log.exception("an update of %s cannot be read", record.attribute)


def _take(record: EpicsRecord, update: Value) -> None:
    """Take a structure of normative types.

    Raises:
        Unsuitable: it is no number.
    """
    value, kind = update.get("value"), update.getID()
    if isinstance(value, Value):
        value = value.get("index")
    if not kind.startswith(TYPES):
        raise record.unsuitable(f"a structure {kind}")
    if np.asarray(value).dtype.kind not in "biuf":
        raise record.unsuitable("text")
    alarm, stamp, display = (update.get(name) for name in ("alarm", "timeStamp", "display"))
    record.has_unit("" if display is None else str(display.get("units") or ""))
    record.update(
        value, 0.0 if stamp is None else stamp.secondsPastEpoch + stamp.nanoseconds * 1e-9,
        0 if alarm is None else int(alarm.severity), "" if alarm is None else str(alarm.message),
    )  # fmt: skip
