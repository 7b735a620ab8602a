"""The file of a bridge: typed, unknown keys refused; `check` finds every error at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from penstock.bridges.epics.config import RECORD, EpicsConfig, InConfig
from penstock.service.config_file import MOST_PORT, FileKind, twice

MANY = 100
"""Entries of a list that have a sentence of their own."""
TEXTS = {
    "prefix": "what the names of all records begin with, such as LAB1: letters, digits and _ : . -",
    "receiver": "the address of a receiver, such as http://127.0.0.1:5000",
    "pipeline": "the address of a pipeline, such as http://127.0.0.1:5100",
    "listen": "HOST:PORT, such as 0.0.0.0:5075",
    "in.driver": "what the driver's records begin with, such as 13SIM1:cam1:",
    "in.image": "PvName_RBV of the PVA plugin, such as 13SIM1:Pva1:Image",
    "in.endpoint": "tcp://HOST:PORT, such as tcp://127.0.0.1:9999",
    "in": "lines of KEY: VALUE, such as driver: 13SIM1:cam1: and image: 13SIM1:Pva1:Image",
    **{f"in.name_servers[{each}]": "HOST:PORT each, such as ioc-1:5075" for each in range(MANY)},
}
"""What each of the settings may be that are plain text."""
OURS = ("Receiver", "Pipeline", "Results", "Command", "In")
"""What other records' names begin with, behind the prefix."""
_EXAMPLES = (("a", datetime(2001, 1, 1)), ("b", datetime(2022, 12, 31, 23, 59, 59, 999_999)))
"""Text of a record and time, of which those of two acquisitions differ."""


def _contradictions(config: EpicsConfig, raw: Mapping[Any, Any]) -> Iterator[str]:
    """Yield what is wrong beside the single values; `raw` tells what was given, also where it was wrong."""
    if not raw.get("receiver") and not raw.get("pipeline") and not raw.get("in"):
        yield "there is neither receiver nor pipeline nor in, so that nothing could be done; give one of them"
    if config.in_ is not None:
        yield from _contradictions_of_in(config.in_)
    if config.consumer and not raw.get("receiver"):
        yield f"consumer is {config.consumer}, and there is no receiver that has it; give receiver"
    if not config.consumer and "images" in raw and "consumer" not in raw:
        yield "images have frames of a forward entry; give its name: consumer"
    for key in ("results", "command"):
        if getattr(config, key) and not raw.get("pipeline"):
            yield f"{key} is for a pipeline, and there is none; give pipeline, or remove {key}"
    if not config.images:
        yield "images is an empty list; give one record, or leave images out"
    records = [each.record for each in config.images]
    if name := twice(records):
        yield f"two images have the record {name}: give one of them another name"
    for record in records:
        if not re.fullmatch(RECORD, record):
            yield f'the record of an image is "{record}"; give a name of letters, digits and _ : . -'
        if (first := record.partition(":")[0]) in OURS:
            yield f"the record of an image is {record}; {first} is taken: give another name, such as IMAGE"
    if config.prefix.endswith(":"):
        yield f'prefix is "{config.prefix}"; a colon follows by itself: leave the last one out'
    if why := BRIDGE.wrong_http(config.http):
        yield why
    if config.listen and _port(config.listen) > MOST_PORT:
        yield f'listen is "{config.listen}"; a port is {MOST_PORT} at most'


def _contradictions_of_in(config: InConfig) -> Iterator[str]:
    if config.filename and not config.filename.startswith("/"):
        yield f'in.filename is "{config.filename}"; give an absolute path'
    if _port(config.endpoint) > MOST_PORT:
        yield f'in.endpoint is "{config.endpoint}"; a port is {MOST_PORT} at most'
    for place, server in enumerate(config.name_servers):
        if _port(server) > MOST_PORT:
            yield f'in.name_servers[{place}] is "{server}"; a port is {MOST_PORT} at most'
    if "{record" in config.filename and not config.filename_record:
        yield "in.filename has {record}, and there is no in.filename_record that has its text"
    try:
        made = {config.filename.format(record=each, date=date) for each, date in _EXAMPLES}
    except (KeyError, IndexError, ValueError, TypeError, AttributeError) as error:
        yield f'in.filename is "{config.filename}" ({error}); it may have {{record}} and {{date:%Y%m%d}}'
    else:
        if config.filename.startswith("/") and len(made) == 1:
            yield (
                f'in.filename is "{config.filename}": every acquisition would have the same file; let it '
                "have {record} or {date:%Y%m%d-%H%M%S}"
            )


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])


BRIDGE = FileKind(
    model=EpicsConfig, service="bridge", example="epics.yaml", line="prefix: LAB1", http="127.0.0.1:5200",
    program="penstock epics", texts=TEXTS, needed={"prefix": "X"}, contradictions=_contradictions,
)  # fmt: skip
"""The file of a bridge."""
