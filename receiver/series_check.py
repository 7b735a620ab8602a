"""Whether a receiver could take a series now: what Arm asks before anything is set up."""

from __future__ import annotations

from penstock.receiver import memory
from penstock.receiver.config import ReceiverConfig
from penstock.receiver.file import storage
from penstock.receiver.file.storage import StorageError
from penstock.receiver.models import SeriesCheck, SeriesCheckResult, Status
from penstock.receiver.refusal import Refused


def check(name: str, config: ReceiverConfig, status: Status, series: SeriesCheck) -> SeriesCheckResult:
    """What the series would be written to, and the memory that it would need.

    Args:
        name: of the receiver.
        config: its configuration.
        status: as it is now.
        series: as far as it is known.

    Raises:
        Refused: it could not be taken, and why.
    """
    _check_state(name, status)
    _check_connections(name, status, series.endpoint)
    path, free = None, None
    try:
        if series.filename:
            path = storage.resolve(config, series.filename)
            known = series.frames is not None and series.frame_bytes is not None
            free = storage.check(
                path,
                overwrite=series.overwrite,
                nbytes=(series.frames or 0) * (series.frame_bytes or 0) if known else None,
                min_free=int(config.min_free_mb * 1e6),
                writers=config.writers,
            )
            storage.check_limit(path, storage.in_one_file(config, series.frames, series.frame_bytes))
            storage.check_segments(series.frames, config.frames_per_file)
    except StorageError as error:
        raise Refused(error.kind, str(error)) from error
    need = None
    if series.frame_bytes is not None:
        sizes = memory.Sizes.of(series.frame_bytes)
        if over := memory.objection(name, config, sizes):
            raise Refused("over_memory", over)
        need = memory.bound(memory.parts(config, sizes))
    return SeriesCheckResult(
        filename=str(path) if path else None,
        free_bytes=free,
        memory_bytes=need,
        connections=sum(item.connections for item in status.connections),
    )


def _check_state(name: str, status: Status) -> None:
    if status.state == "error":
        raise Refused("in_error", f"receiver {name} is in Error: {status.error}; reset it first")
    if status.state == "running" and not (status.series and status.series.unconfirmed):
        of = status.series.filename or "live only" if status.series else ""
        raise Refused(
            "busy", f"receiver {name} is still taking a series ({of}); wait until it is idle, or stop it"
        )


def _check_connections(name: str, status: Status, endpoint: str | None) -> None:
    if endpoint is not None and not any(item.connections for item in status.connections):
        wanted = ", ".join(item.endpoint for item in status.connections)
        raise Refused(
            "not_connected",
            f"receiver {name} is not connected to a streamer (it looks for {wanted}, "
            f"the streamer is at {endpoint}); compare the addresses",
        )
