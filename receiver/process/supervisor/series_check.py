"""The check whether a receiver could take a series now, which Arm asks for before anything is set up."""

from __future__ import annotations

from pathlib import Path

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.files import names, storage
from penstock.receiver.files.contents import nexus
from penstock.receiver.files.refusals import StorageError
from penstock.receiver.models import SeriesCheck, SeriesCheckResult, Status
from penstock.receiver.process import memory, transform_files
from penstock.receiver.sources import KINDS
from penstock.receiver.transforms.steps.chain import Chain
from penstock.receiver.transforms.steps.format import Format, TransformConfigError
from penstock.receiver.transforms.steps.orientation import does
from penstock.service.models import Refused
from penstock.stins.errors import BlobError


def check(name: str, config: ReceiverConfig, status: Status, series: SeriesCheck) -> SeriesCheckResult:
    """Return the file that the series would have, and the memory that it would need.

    Args:
        name: name of the receiver.
        config: configuration of the receiver.
        status: current status of the receiver.
        series: what is known of the series.

    Raises:
        Refused: the series could not be taken; the sentence says why.
    """
    _check_state(name, status)
    _check_source(name, config, series.source)
    _check_connections(name, config, status, series.endpoint)
    free = creates = None
    try:
        path = _file(name, config, series)
        if path is not None:
            names.check_free(path, overwrite=series.overwrite, further=names.further(config))
            known = series.frames is not None and series.frame_bytes is not None
            free = storage.check(
                path,
                overwrite=series.overwrite,
                nbytes=(series.frames or 0) * (series.frame_bytes or 0) if known else None,
                min_free=int(config.min_free_mb * 1e6),
            )
            creates = storage.to_create(path.parent)
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
    _check_orientation(name, config, series)
    shape, dtype = _stored(config, series)
    return SeriesCheckResult(
        filename=str(path) if path else None,
        free_bytes=free,
        memory_bytes=need,
        connections=sum(item.connections for item in status.connections),
        shape=shape,
        dtype=dtype,
        creates="" if creates is None else str(creates),
        dataset=nexus.dataset_of(config.detector or name) if path else "",
    )


def _file(name: str, config: ReceiverConfig, series: SeriesCheck) -> Path | None:
    """Return the file that the series would have; `None` if nothing is written."""
    if series.filename:
        return storage.resolve(config, series.filename)
    if series.filename is None and config.filename_template:
        id = "{series}" if series.series is None else series.series
        return names.free_path(config, config.detector or name, id, overwrite=series.overwrite)
    return None


def _stored(config: ReceiverConfig, series: SeriesCheck) -> tuple[list[int], str]:
    """Return shape and type of a frame behind the transforms; ([], "") if unknown.

    Raises:
        Refused: such frames are not possible, or the transforms cannot take them.
    """
    if not series.shape or not series.dtype or config.source.join is not None:
        return [], ""  # only their start messages tell how modules make one image
    try:
        # Compression changes neither shape nor type.
        stored = Chain(config.transforms, read=transform_files.read).follow(
            Format(tuple(series.shape), series.dtype, "none")
        )
    except BlobError as error:
        raise Refused(error.kind, str(error)) from error
    except TransformConfigError:
        return [], ""  # a file of a transform was changed since the data process read it
    return list(stored.shape), stored.type


def _check_orientation(name: str, config: ReceiverConfig, series: SeriesCheck) -> None:
    """Refuse an orientation that the transforms do not give: not every detector has a streamer to do it."""
    asked = (series.rotation or 0, series.fliplr, series.flipud)
    if series.rotation is None or not any(asked) or does(config.transforms, *asked):
        return
    words = [f"Rotation {series.rotation}"] if series.rotation else []
    words += [flip for flip, wanted in (("Fliplr", series.fliplr), ("Flipud", series.flipud)) if wanted]
    raise Refused(
        "no_orientation",
        f"the transforms of receiver {name} do not do {' and '.join(words)}, and frames of this detector "
        "pass no streamer; set rotate and flip among the receiver's transforms accordingly, or leave "
        "Rotation at 0 and the flips off",
    )


def _check_state(name: str, status: Status) -> None:
    if status.state == "error":
        raise Refused("in_error", f"receiver {name} is in Error: {status.error}; reset it first")
    if status.ending:
        raise Refused(
            "ending",
            f"receiver {name} takes no new series, since it is about to be stopped (penstock drain); wait "
            "until it is there again, or let it go on with penstock drain --off",
        )
    if status.state == "running" and not (status.series and status.series.unconfirmed):
        of = status.series.filename or "live only" if status.series else ""
        raise Refused(
            "busy",
            f"receiver {name} is still taking a series ({of}); wait until it is idle, or stop it "
            "(POST /stop, or the command Stop of its Tango device)",
        )


def _check_source(name: str, config: ReceiverConfig, source: str | None) -> None:
    present = config.source.type
    if source is not None and source != present:
        raise Refused(
            "wrong_source",
            f"receiver {name} expects a stream of type {present}, and this detector sends {source}; set "
            f"type: {source} in the receiver's source and start it again, or let the detector send {present}",
        )


def _check_connections(name: str, config: ReceiverConfig, status: Status, endpoint: str | None) -> None:
    if endpoint is None:
        return
    lacking = [item.endpoint for item in status.connections if not item.connections]
    if len(lacking) == len(status.connections):
        raise Refused(
            "not_connected",
            f"receiver {name} is not connected to a streamer (it looks for {', '.join(lacking)}, "
            f"the streamer is at {endpoint}); compare the addresses",
        )
    # What is published waits for nobody: the first frames of these modules would be missing.
    if lacking and KINDS[config.source.type].published:
        raise Refused(
            "not_connected",
            f"receiver {name} is not connected to {', '.join(lacking)}; are the programs there running?",
        )
