"""What is wrong with a bridge beside its file: looked for before it is started."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from penstock.bridges.epics.config import EpicsConfig
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
    if config.server == "pvapy" and find_spec("pvaccess") is None:
        yield PVAPY
