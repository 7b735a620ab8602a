"""Channels of a pipeline in a Pool: a controller for numbers, one for curves, and an axis for each result."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import tango

from penstock.processing.models import Result
from penstock.sardana.armed_series import SourceError
from penstock.sardana.pipelines.source import TangoSource
from penstock.sardana.registration.elements import (
    blocked,
    check_detector,
    check_names,
    delete,
    device_of,
    properties_of,
)
from penstock.sardana.registration.paths import Action, Change, Target
from penstock.stins.errors import UserError

LIBRARY: Final = "penstock_pipeline.py"
PROPERTIES: Final = ("DetectorDevice", "Pipeline")


class Kind(NamedTuple):
    """Results of so many dimensions: their channels."""

    what: str
    cls: str
    type: str


KINDS: Final[Mapping[int, Kind]] = {
    0: Kind("counters", "PenstockPipelineCounter", "CTExpChannel"),
    1: Kind("curves", "PenstockPipelineCurve", "OneDExpChannel"),
}
"""Kinds of channels, by the number of dimensions."""


@dataclass(frozen=True)
class Pipeline:
    """What is to be shown in a Pool."""

    name: str
    """Prefix of the names of channels and controllers."""
    pipeline: str = ""
    """Tango name of its device, or the address of its HTTP API; "" where it is removed."""
    detector: str = ""
    """Tango name of the detector; "" likewise."""


def controllers_of(name: str) -> list[str]:
    """Return the names of the controllers of a pipeline."""
    return [f"{name}_{kind.what}_ctrl" for kind in KINDS.values()]


def compare_pipeline(
    database: tango.Database, pool: Target, wanted: Pipeline, *, remove: bool = False
) -> list[Change]:
    """Find out what is to be done about the channels of one pipeline: with each kind of them.

    Which results it has, the pipeline says: those of its newest series.

    Args:
        database: of the Pool and the detector.
        pool: the Pool.
        wanted: the pipeline.
        remove: remove channels and controllers.

    Raises:
        UserError: it cannot be done.
    """
    results: list[Result] = []
    unknown = ""
    if not remove:
        check_detector(database, wanted.detector)
        try:
            results = TangoSource(wanted.detector, wanted.pipeline).results()
        except SourceError as error:
            if error.kind != "away":
                raise UserError(str(error)) from error
            unknown = str(error)
        else:
            unknown = "" if results else f"{wanted.pipeline} has no results before its first series: take one"
    changes = []
    for dimensions, (kind, controller) in enumerate(
        zip(KINDS.values(), controllers_of(wanted.name), strict=True)
    ):
        of_kind = [each for each in results if _is_shown(each, dimensions)]
        change = _compare(database, pool, wanted, kind, controller, of_kind, remove=remove, unknown=unknown)
        changes += [] if change is None else [change]
    return changes


def _is_shown(result: Result, dimensions: int) -> bool:
    """Return whether a channel can show it: one real number, or one curve, per frame."""
    real = np.dtype(result.dtype).kind in "biuf"
    return result.kind == "value" and real and len(result.shape) == dimensions


def _compare(
    database: tango.Database, pool: Target, wanted: Pipeline, kind: Kind, controller: str,
    results: Sequence[Result], *, remove: bool, unknown: str,
) -> Change | None:  # fmt: skip
    held = properties_of(database, controller, kind.cls, PROPERTIES)
    label = f"{kind.what} {wanted.name} of {pool.device}"
    blocked_by = blocked(pool, kind.cls, remove=remove)
    there = {} if held is None or not pool.runs else _channels(controller)
    if remove:
        return Change(
            "pipeline", label, "none" if held is None else "remove", pool.server, tuple(there) or None,
            blocked_by=blocked_by, do=delete(database, pool, [*there, controller]),
        )  # fmt: skip
    if held is not None and [each.lower() for each in held] != [
        wanted.detector.lower(), wanted.pipeline.lower()
    ]:  # fmt: skip
        detector, pipeline = held
        raise UserError(
            f"{controller} is of {pipeline} with {detector}; choose another name than {wanted.name}, or "
            "remove it first"
        )
    new = new_channels(wanted.name, there, results)
    if not new and not unknown:
        return Change("pipeline", label, "none", pool.server) if there else None
    ours = [] if held is not None else [controller]
    names = [*ours, *(name for name in new if name not in there)]
    check_names(database, names, wanted.pipeline)
    action: Action = "change" if there and new else "none" if there else "add"
    return Change(
        "pipeline", label, action, pool.server, tuple(there) or None, tuple({**there, **new}) or None,
        blocked_by or unknown, _create(database, pool, wanted, kind, controller, new),
    )  # fmt: skip


def new_channels(name: str, there: Mapping[str, str], results: Sequence[Result]) -> dict[str, Result]:
    """Return the results that no channel shows yet, by the name of the channel to be.

    Args:
        name: of the pipeline.
        there: what each channel of the controller shows; "" where an earlier try has got no further.
        results: of the pipeline.
    """
    taken, new = {each for each, shows in there.items() if shows}, dict[str, Result]()
    for result in results:
        if result.name in there.values():
            continue
        first = f"{name}_{re.sub(r'[^0-9A-Za-z_]', '_', result.name)}"
        names = itertools.chain([first], (f"{first}_{number}" for number in itertools.count(2)))
        new[next(each for each in names if each not in taken and each not in new)] = result
    return new


def _channels(controller: str) -> dict[str, str]:
    """Return the result that each channel of a controller shows."""
    names = tango.DeviceProxy(controller).ElementList or ()
    return {name: str(tango.DeviceProxy(name).Result) for name in names}


def _create(
    database: tango.Database, pool: Target, wanted: Pipeline, kind: Kind, controller: str,
    new: Mapping[str, Result],
) -> Callable[[], None]:  # fmt: skip
    keys = ("DetectorDevice", wanted.detector, "Pipeline", wanted.pipeline)

    def create() -> None:
        proxy = tango.DeviceProxy(pool.device)
        if not device_of(database, controller):
            proxy.CreateController([kind.type, LIBRARY, kind.cls, controller, *keys])
        for name, result in new.items():
            if not device_of(database, name):  # an earlier try may have got this far
                axis = 1 + max(map(int, _axes(database, controller)), default=0)
                proxy.CreateElement([kind.type, controller, str(axis), name])
            channel = tango.DeviceProxy(name)
            channel.Result = result.name
            if result.shape:
                channel.Points = result.shape[0]

    return create


def _axes(database: tango.Database, controller: str) -> list[str]:
    names = tango.DeviceProxy(controller).ElementList or ()
    return [
        str(database.get_device_property(device_of(database, name), ["axis"])["axis"][0]) for name in names
    ]
