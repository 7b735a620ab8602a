"""Pipelines and bridges of the fleet: those whose pages its receivers know, read over HTTP."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from penstock.bridges.epics.client import read_status
from penstock.bridges.epics.models import Status as Bridge
from penstock.gui.model.fleet.row import AWAY, OFF, Source, counts
from penstock.gui.model.tango.directory import Kind
from penstock.processing.client import NoAnswer, PipelineClient
from penstock.processing.models import Status
from penstock.receiver.client import ReceiverClient
from penstock.receiver.models import ConsumerStatus

ANSWER = 1.5
"""Seconds in which a receiver, and then a pipeline, has to answer."""
STATES = {"idle": "IDLE", "running": "RUNNING", "error": "FAULT", "waiting": "WAITING"}
Known = dict[str, list[str]]
"""Pages of bridges by the page of the forward entry that they were found at: this page itself, or those that
the pipeline there names."""


@dataclass(frozen=True, kw_only=True)
class PipelineRow(Source):
    """What is known of one pipeline or bridge; its name is that of its forward entry while it is away."""

    kind: Kind | Literal["bridge"] = "pipeline"
    workers: int = 0
    """Workers of a pipeline, clients of a bridge."""
    url: str


def read_pipelines(receivers: Iterable[str]) -> list[PipelineRow]:
    """Read the pipelines behind receivers, all at once; those of a receiver that is away are left out.

    Args:
        receivers: addresses.
    """
    found: list[PipelineRow] = []

    def read(url: str) -> None:
        found.extend(read_behind(url, {}))

    at_once([partial(read, url) for url in {each.rstrip("/") for each in receivers if each}], 3 * ANSWER)
    return sorted(found, key=lambda row: (not row.ill, row.name, row.url))


def at_once(calls: Iterable[Callable[[], object]], seconds: float) -> bool:
    """Make all calls, each in a thread of its own; return whether one is still under way after so long."""
    threads = [threading.Thread(target=call, daemon=True) for call in calls]
    due = time.monotonic() + seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, due - time.monotonic()))
    return any(thread.is_alive() for thread in threads)


def summary(rows: Sequence[PipelineRow], which: str = "") -> str:
    """Return the counts: "2 pipelines, 1 in FAULT"; `which` says which pipelines these are."""
    return counts(rows[0].kind, Counter(row.state for row in rows), which)


def read_behind(receiver: str, known: Known) -> Iterator[PipelineRow]:
    """Read the pipelines and bridges behind one receiver, one after the other.

    Args:
        receiver: address.
        known: bridges that earlier readings have found, brought up to date. They are read as long as nobody
            says that they are gone: a receiver or pipeline that is away says nothing.
    """
    try:
        consumers = ReceiverClient(receiver, timeout=ANSWER).status().consumers
    except NoAnswer:  # its own row says so
        for pages in list(known.values()):
            yield from _bridges(receiver, pages)
        return
    for gone in known.keys() - {consumer.page for consumer in consumers}:
        del known[gone]
    for consumer in consumers:
        if consumer.page:
            yield from _rows(receiver, consumer, known)


def _rows(receiver: str, consumer: ConsumerStatus, known: Known) -> list[PipelineRow]:
    """Return the row of a pipeline, and those of bridges whose pages it knows; or that of a bridge."""
    url = consumer.page
    try:
        status = PipelineClient(url, timeout=ANSWER).status()
    except NoAnswer as error:
        pages = known.get(url, [])
        bridge = read_status(url, ANSWER)
        if bridge is not None or url in pages:
            known[url] = [url]
            return [_bridge(receiver, url, bridge)]
        is_off = consumer.holder is None and not consumer.connected
        return [
            PipelineRow(
                name=consumer.name, state=OFF if is_off else AWAY, problem="" if is_off else str(error),
                url=url, receiver_url=receiver,
            ),
            *_bridges(receiver, pages),
        ]  # fmt: skip
    known[url] = status.pages
    series = status.series
    own = PipelineRow(
        name=status.pipeline, state=STATES[status.state], problem=_problem(status),
        file="" if series is None else series.file or "", done=None if series is None else series.counts.done,
        planned=None if series is None else series.planned, workers=len(status.workers), url=url,
        receiver_url=receiver,
    )  # fmt: skip
    return [own, *_bridges(receiver, status.pages)]


def _bridges(receiver: str, pages: Iterable[str]) -> list[PipelineRow]:
    return [_bridge(receiver, page, read_status(page, ANSWER)) for page in pages]


def _bridge(receiver: str, url: str, bridge: Bridge | None) -> PipelineRow:
    if bridge is None:
        problem = f"bridge at {url} does not answer; is `penstock epics` running?"
        return PipelineRow(
            kind="bridge", name=url, state=AWAY, problem=problem, url=url, receiver_url=receiver
        )
    return PipelineRow(
        kind="bridge", name=bridge.bridge, state=STATES[bridge.state], problem=bridge.waits_for,
        file=bridge.file, done=None if bridge.series is None else bridge.frames, workers=len(bridge.clients),
        url=url, receiver_url=receiver,
    )  # fmt: skip


def _problem(status: Status) -> str:
    if why := status.error or status.waits_for:
        return why
    series = status.series
    return f"Last series: {series.reason}" if series is not None and series.lacks else ""
