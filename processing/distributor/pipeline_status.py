"""The status of a pipeline, made from the state of its distributor; and what it waits for, and who has to do
what: one sentence."""

from __future__ import annotations

import re
import socket
import time
from importlib.metadata import version
from itertools import islice

from penstock.processing import models
from penstock.processing.distributor.flow import Flow
from penstock.processing.distributor.series.run import Phase, Run
from penstock.processing.distributor.workers import Member
from penstock.stins.texts import plural

VERSION = version("penstock")  # which reads a file, and a status is made fifty times per second
MOST_WORKERS, MOST_SERIES = 200, 10
MOST_CHARACTERS = 300
"""Most characters of a worker's sentence."""


def status(flow: Flow, silent: str = "") -> models.Status:
    """Return the status, without a version.

    Args:
        flow: the distributor's state.
        silent: why nothing is heard of the receiver; a sentence, or "".
    """
    receiver = flow.config.receiver
    running = [
        run.status(receiver, _prepares(flow, run))
        for run in islice(reversed(flow.series.runs.values()), MOST_SERIES)
    ]
    series = [*running, *flow.series.past.last(MOST_SERIES - len(running))]
    is_busy = any(run.phase is not Phase.OVER for run in flow.series.runs.values())
    return models.Status(
        state="error" if flow.series.error else "running" if is_busy else "idle", error=flow.series.error,
        pipeline=flow.config.name, series=series[0] if series else None, others=series[1:],
        workers=[_worker(flow, member) for member in list(flow.workers.members.values())[:MOST_WORKERS]],
        address=flow.workers.connections.address, listen=flow.workers.connections.listen,
        parameters=models.Parameters(
            version=flow.versions.version, values=flow.versions.values, from_frame=flow.from_frame
        ),
        channels=flow.series.channels.status(), ending=flow.series.ending,
        waits_for=silent or waits_for(flow), deaths=flow.workers.deaths,
        gone=[
            models.Gone(
                name=member.name, host=member.host, noticed=noticed, frames=departure.frames,
                seconds=None if departure.waiting else round(departure.seconds, 6),
            )
            for member, noticed, departure in reversed(flow.departed)
        ],
        refused_connections=flow.workers.connections.refused, stray=flow.schedule.stray,
        duplicates=flow.schedule.duplicates, queue_bytes=flow.series.answers.value_bytes,
        totals=flow.series.past.totals(flow.series.runs.values()),
        longest_pause=round(flow.dispatch.longest_pause, 3), pages=list(flow.config.pages), penstock=VERSION,
    )  # fmt: skip


def _prepares(flow: Flow, run: Run) -> str:
    """Return that all workers prepare for a series, and how many frames wait; "" if one has started it."""
    preparing = flow.schedule.preparing
    ready, numbers = flow.workers.ready, run.numbers
    if not ready or not all(any((each.number, number) in preparing for number in numbers) for each in ready):
        return ""
    counts = run.account.counts
    n = counts.queued + counts.in_work
    waiting = f", {plural(n, 'frame')} {'waits' if n == 1 else 'wait'}" if n else ""
    return f"{ready[0].preparation or 'preparing: its workers start the class'}{waiting}"


def _worker(flow: Flow, member: Member) -> models.Worker:
    found = flow.schedule.workers.get(member.number)
    state = member.state
    if state == "ready" and any(number == member.number for number, _ in flow.schedule.preparing):
        state = "preparing"
    elif state == "ready" and found is not None and found.work:
        state = "working"
    return models.Worker(
        name=member.name, host=member.host, pid=member.pid, state=state,
        frames=0 if found is None else found.frames,
        seconds_per_frame=None if found is None else found.seconds,
        doing=member.preparation if state == "preparing" else "",
        last_error=member.last_error[:MOST_CHARACTERS], shares=member.shares,
    )  # fmt: skip


def waits_for(flow: Flow) -> str:
    """Return what a pipeline waits for whose receiver answers; "" if for nothing but frames.

    Args:
        flow: the distributor's state.
    """
    if not flow.workers.ready:
        return _wait_for_worker(flow)
    runs, past = flow.series.runs, flow.series.past
    for run in runs.values():
        if waits := run.waits_for(flow.config.receiver):
            return f"waits for {waits}"
    return flow.unheard.sentence(lambda series: series in runs or past.knows(series), time.monotonic())


def _wait_for_worker(flow: Flow) -> str:
    config, members = flow.config, flow.workers.members.values()
    refused = next((member for member in members if member.state == "refused"), None)
    start = f"`{_command(flow)}`"
    if refused is not None:
        return (
            f"waits for a worker that takes the code; {refused.name} says: {refused.last_error}. Mend that "
            f"and start the pipeline again, or start a worker where the code can run: {start}"
        )
    if members:
        return "waits for its workers, which load the code"
    if config.workers:
        return (
            "waits for its workers on this machine, which are being started; if that lasts, the log of "
            "`penstock process` says why"
        )
    return f"waits for a worker; {start} starts one"


def _command(flow: Flow) -> str:
    """Return the command that starts a worker: on another machine, if there may be some."""
    connections, key = flow.workers.connections, flow.config.key
    if not connections.listen:
        return f"penstock worker {connections.address}"
    return f"penstock worker {reachable(connections.listen)}{f' --key {key}' if key else ''}"


def reachable(listen: str) -> str:
    """Return an address that others can use, of one that may be bound to all addresses of this host."""
    return re.sub(r"//(0\.0\.0\.0|\*|\[::\]):", f"//{socket.gethostname()}:", listen)
