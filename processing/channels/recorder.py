"""The process that records channels: each value with the time that its source gives it.

It is not the distributor, whose loop would share its lock with the threads of Tango and EPICS. Started by
the pipeline's HTTP process, with which it ends, since standard input is its lifeline:
python -m penstock.processing.channels.recorder SETTINGS
"""

from __future__ import annotations

import logging
import os
import select
import sys
import threading
from collections.abc import Callable, Sequence

import msgspec

from penstock.processing.channels.channel_writer import ChannelWriter
from penstock.processing.channels.epics_record import EpicsRecord
from penstock.processing.channels.recording import Places, Writer
from penstock.processing.config.pipeline_config import ChannelConfig

log = logging.getLogger("penstock.processing.channels.recorder")  # run with -m, so that __name__ is __main__

REPORT_SECONDS = 0.5
"""Seconds between two looks at whether EPICS records have values."""


class Settings(msgspec.Struct, frozen=True):
    """What this process is told."""

    places: Places
    channels: tuple[ChannelConfig, ...]
    ended: float | None = None
    """Time since which values that hold are over, because an earlier process that recorded them has died."""


def _tango(channels: Sequence[ChannelWriter]) -> None:
    from penstock.processing.channels.tango_listener import TangoListener

    for channel in channels:
        TangoListener(channel).start()


def _pva(records: Sequence[EpicsRecord]) -> threading.Thread:
    from penstock.processing.channels.pva_listener import PvaListener

    return PvaListener(records)


def _ca(records: Sequence[EpicsRecord]) -> threading.Thread:
    from penstock.processing.channels.ca_listener import CaListener

    return CaListener(records)


def _epics(
    channels: Sequence[ChannelWriter], listener: Callable[[Sequence[EpicsRecord]], threading.Thread]
) -> Sequence[EpicsRecord]:
    """Record channels by one protocol of EPICS; return those whose state is to be reported."""
    records = [EpicsRecord(channel) for channel in channels]
    if not records:
        return ()
    try:
        listener(records).start()
    except ImportError as error:
        for channel in channels:
            channel.say(
                f"{channel.config.attribute} cannot be read, since {error.name} is missing: "
                "install Penstock with its extra epics, and start the pipeline again"
            )
        return ()
    return records


def _end(failed: threading.ExceptHookArgs) -> None:
    """End the process with a thread of it: it is started again."""
    log.error("the thread %s has failed", failed.thread and failed.thread.name, exc_info=failed.exc_value)
    os._exit(1)


def main() -> None:
    """Record until the parent is gone."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    threading.excepthook = _end
    settings = msgspec.json.decode(sys.argv[1], type=Settings)
    writer = Writer(settings.places)
    by_protocol: dict[str, list[ChannelWriter]] = {"tango": [], "pva": [], "ca": []}
    for place, config in enumerate(settings.channels):
        by_protocol[config.protocol].append(ChannelWriter(place, config, writer, settings.ended))
    records = (*_epics(by_protocol["pva"], _pva), *_epics(by_protocol["ca"], _ca))
    if by_protocol["tango"]:
        _tango(by_protocol["tango"])
    while not select.select([sys.stdin], [], [], REPORT_SECONDS if records else None)[0]:
        for record in records:
            record.report()
    os._exit(0)  # the threads of Tango and EPICS, which may wait for devices, end with it


if __name__ == "__main__":
    main()
