"""Status of a bridge as Prometheus text.

docs/reference/epics.md has the table of metrics; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from penstock.bridges.epics.models import Status
from penstock.service.prometheus import COUNTER, GAUGE, Moment, Row, Scrape, resident_bytes

PREFIX = "penstock_epics_"


def _answers(moment: Moment[Status]) -> dict[str, bool]:
    sources = {"receiver": moment.status.receiver, "pipeline": moment.status.pipeline}
    return {name: source.answers for name, source in sources.items() if source is not None}


def _posted(moment: Moment[Status]) -> dict[str, int]:
    images = {each.record: each.posted for each in moment.status.images}
    return images | {each.record: each.posted for each in moment.status.results if each.record}


def _left_out(name: str) -> Callable[[Moment[Status]], dict[str, int]]:
    return lambda moment: {each.record: getattr(each, name) for each in moment.status.images}


def _acquisitions(moment: Moment[Status]) -> dict[str, int]:
    gateway = moment.status.gateway
    return {} if gateway is None else {"taken": gateway.taken, "not taken": gateway.not_taken}


METRICS = (
    Row(GAUGE, "up", "1 if all threads of the bridge live", "", attrgetter("healthy")),
    Row(GAUGE, "answers", "1 if the receiver or pipeline answers", "source", _answers),
    Row(GAUGE, "ready", "1 if frames and results can be posted", "",
        lambda moment: not moment.status.waits_for),
    Row(COUNTER, "updates", "Values that were posted to a record since the bridge started", "record",
        _posted),
    Row(COUNTER, "skipped_frames", "Frames that `every` has left out", "record", _left_out("skipped")),
    Row(COUNTER, "limited_frames", "Frames that `rate` has left out", "record", _left_out("limited")),
    Row(COUNTER, "refused_frames", "Frames that EPICS has no array for, or that could not be unpacked",
        "record", _left_out("refused")),
    Row(COUNTER, "bad_messages", "Messages of the receiver that could not be read", "",
        attrgetter("status.bad_messages")),
    Row(COUNTER, "commands", "Commands of clients that were carried out", "", attrgetter("status.commands")),
    Row(COUNTER, "refused_commands", "Commands of clients that were refused", "",
        attrgetter("status.refused_commands")),
    Row(COUNTER, "in_series", "Series of the IOC that others arm", "outcome", _acquisitions),
    Row(GAUGE, "clients", "Connections of EPICS clients", "", lambda moment: len(moment.status.clients)),
    Row(GAUGE, "resident_memory_bytes", "Memory of the process", "process",
        lambda moment: resident_bytes(moment.processes)),
)  # fmt: skip


def text(name: str, moment: Moment[Status]) -> str:
    """Return the metrics of the bridge of this name as Prometheus text."""
    return Scrape(PREFIX, "bridge", name, METRICS, moment).scraped()
