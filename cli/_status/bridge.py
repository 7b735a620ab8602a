"""`penstock status URL` of a bridge to EPICS clients: what a user wants to know first of it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.cli._output import emit
from penstock.stins.texts import plural

if TYPE_CHECKING:
    from penstock.bridges.epics.models import In, Status


def show(args: argparse.Namespace, status: Status) -> int:
    """Print a status; return the exit status."""
    if args.json:
        emit(status)
    else:
        print("\n".join(lines(status)))
    return 1 if status.waits_for else 0


def lines(status: Status) -> Iterator[str]:
    """Yield what a user wants to know first, line by line."""
    yield f"{status.bridge}: {status.state}, records {status.prefix}:… at {', '.join(status.addresses)}"
    if status.waits_for:
        yield f"  {status.waits_for}"
    if status.series is not None:
        so_far = "in progress" if status.active else "ended"
        yield f"  {status.file or f'series {status.series}'}, {so_far}: {plural(status.frames, 'frame')}"
    for image in status.images:
        counts = {"skipped": image.skipped, "limited": image.limited, "refused": image.refused}
        left = [f"{count:,} {name}" for name, count in counts.items() if count]
        yield _record(image.record, image.posted, left, image.problem)
    for result in status.results:
        yield _record(result.record or result.name, result.posted, [], result.problem)
    if status.gateway is not None:
        yield from _gateway(status.gateway)
    if status.command:
        carried = plural(status.commands, "command")
        yield f"    {status.command}: {carried} carried out, {status.refused_commands:,} refused"
    yield f"  {plural(len(status.clients), 'client') if status.clients else 'no client'}"


def _gateway(gateway: In) -> Iterator[str]:
    receivers = plural(gateway.receivers, "receiver") if gateway.receivers else "no receiver"
    yield f"  {gateway.driver} is {gateway.state}; its frames go to {gateway.endpoint}: {receivers} there"
    if gateway.series is not None:
        planned = "until it is stopped" if gateway.planned is None else f"{gateway.planned:,} planned"
        yield f"    {gateway.file or 'live only'}: {plural(gateway.frames, 'frame')} sent, {planned}"
    yield f"    {plural(gateway.taken, 'acquisition')} taken, {gateway.not_taken:,} not taken"
    if gateway.problem:
        yield f"    {gateway.problem}"


def _record(name: str, posted: int, left: list[str], problem: str) -> str:
    counts = ", ".join([plural(posted, "update"), *left])
    return f"    {name}: {counts}{f'; {problem}' if problem else ''}"
