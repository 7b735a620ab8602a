"""What a pipeline waits for, and who has to do what: one sentence."""

from __future__ import annotations

import re
import socket
import time
from typing import TYPE_CHECKING

from penstock.processing.distributor.series import status as series_status

if TYPE_CHECKING:
    from penstock.processing.distributor.flow import Flow


def waits_for(flow: Flow) -> str:
    """Return what a pipeline waits for whose receiver answers; "" if for nothing but frames.

    Args:
        flow: the distributor's state.
    """
    if not flow.workers.ready:
        return _worker(flow)
    runs, past = flow.series.runs, flow.series.past
    for run in runs.values():
        if waits := series_status.waits_for(run, flow.config.receiver):
            return f"waits for {waits}"
    return flow.unheard.sentence(lambda series: series in runs or past.knows(series), time.monotonic())


def _worker(flow: Flow) -> str:
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
