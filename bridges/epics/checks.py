"""What is wrong with a bridge beside its file: looked for before it is started."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from penstock.bridges.epics.config import EpicsConfig, InConfig
from penstock.bridges.epics.entry import problem_of
from penstock.processing.client import NoAnswer, PipelineClient
from penstock.receiver.client import ReceiverClient

SECONDS = 5.0
"""Longest time for an answer."""
PVAPY = "server: pvapy needs PvaPy, which is not installed: pip install pvapy"


def check(config: EpicsConfig) -> list[str]:
    """Return everything that is wrong now, as sentences; a bridge would wait until it is mended."""
    return list(_problems(config))


def _problems(config: EpicsConfig) -> Iterator[str]:
    if config.receiver:
        try:
            status = ReceiverClient(config.receiver, timeout=SECONDS).status()
        except NoAnswer as error:
            yield str(error)
        else:
            if config.consumer and (why := problem_of(status, config)):
                yield why
    if config.pipeline:
        try:
            PipelineClient(config.pipeline, timeout=SECONDS).status()
        except NoAnswer as error:
            yield str(error)
    if config.in_ is not None:
        yield from _problems_of_in(config.in_)
    if config.server == "pvapy" and find_spec("pvaccess") is None:
        yield PVAPY


def _problems_of_in(config: InConfig) -> Iterator[str]:
    from penstock.bridges.epics.gateway.gateway import ACQUIRE, COUNTER, NO_ARRAY
    from penstock.bridges.epics.gateway.records import Records

    names = [f"{config.driver}{ACQUIRE}", f"{config.driver}{COUNTER}", config.image, config.filename_record]
    records = Records(config.name_servers, lambda: None)
    try:
        found = records.get([name for name in names if name])
        if not records.has_arrays(config.image):
            yield NO_ARRAY.format(config.image)
    finally:
        records.close()
    if absent := [name for name in names if name and name not in found]:
        yield (
            f"no answer from {', '.join(absent)}: does the IOC run, and are in.driver, in.image, "
            "in.filename_record and in.name_servers right?"
        )
