"""Records EPICS records over Channel Access, by aioca, in a loop of a thread of its own. The threads of EPICS
do not survive a fork: only the process that records imports this.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from threading import Thread
from typing import Any

import aioca

from penstock.processing.channels.channel_writer import Unsuitable
from penstock.processing.channels.epics_record import EpicsRecord

log = logging.getLogger("penstock.processing.channels.recorder")

RETRY_SECONDS = 2.0
"""Pause before a record is asked for again that was refused, and between two looks at a subscription."""
NUMBERS = ("short", "float", "enum", "char", "long", "double")
"""Types of Channel Access that are numbers, as aioca names them."""
UNIT_SECONDS = 2.0
"""Within which a record says its unit."""
ALARMS = (
    "", "READ", "WRITE", "HIHI", "HIGH", "LOLO", "LOW", "STATE", "COS", "COMM", "TIMEOUT", "HWLIMIT", "CALC",
    "SCAN", "LINK", "SOFT", "BAD_SUB", "UDF", "DISABLE", "SIMM", "READ_ACCESS", "WRITE_ACCESS",
)  # fmt: skip
"""Names of the status of an alarm, by its number (alarm.h of EPICS base)."""


class CaListener(Thread):
    """Records what is served over Channel Access.

    Args:
        records: take the updates.
    """

    def __init__(self, records: Sequence[EpicsRecord]) -> None:
        super().__init__(name="Channel Access", daemon=True)
        self._records = records

    def run(self) -> None:
        """Follow all."""
        asyncio.run(self._run())

    async def _run(self) -> None:
        await asyncio.gather(*(_follow_always(record) for record in self._records))


async def _follow_always(record: EpicsRecord) -> None:
    """Follow a record, and again if it was refused or its subscription has ended."""
    while True:
        try:
            await _follow(record)
        except Unsuitable as error:
            record.refuse(str(error))
        except Exception:
            log.exception("%s cannot be followed; it is tried again", record.attribute)
        await asyncio.sleep(RETRY_SECONDS)


async def _follow(record: EpicsRecord) -> None:
    """Take updates as long as the subscription lasts; it outlives a connection.

    Raises:
        Unsuitable: it is no number.
    """
    info = await aioca.cainfo(record.name, timeout=None)
    kind = info.datatype_strings[info.datatype]
    if kind not in NUMBERS:
        raise record.unsuitable("text" if kind == "string" else f"of a type with {kind}")
    failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def take(update: Any) -> None:
        try:
            if isinstance(update, aioca.CANothing):
                record.lost()
            else:
                status = update.status
                alarm = ALARMS[status] if status < len(ALARMS) else str(status)
                record.update(update, update.timestamp, update.severity, alarm)
        except Unsuitable as error:
            if not failed.done():
                failed.set_exception(error)

    unit = await aioca.caget(
        record.name, format=aioca.FORMAT_CTRL, count=1, timeout=UNIT_SECONDS, throw=False
    )
    record.has_unit(getattr(unit, "units", "") if unit.ok else "")
    subscription = aioca.camonitor(
        record.name, take, format=aioca.FORMAT_TIME, count=min(2, info.count), all_updates=True,
        notify_disconnect=True,
    )  # fmt: skip
    try:
        while subscription.state != subscription.CLOSED:
            await asyncio.wait([failed], timeout=RETRY_SECONDS)
            if failed.done():
                failed.result()
        # aioca prints why, such as that reading is not allowed.
        record.refuse(f"{record.attribute} cannot be subscribed to: the log says why; it is tried again")
    finally:
        subscription.close()
