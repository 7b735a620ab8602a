"""The forward entry of a receiver that a pipeline takes: looked for before anything is started."""

from __future__ import annotations

import os

from penstock.processing.config.pipeline_file import PipelineError
from penstock.receiver.client import NoAnswer, ReceiverClient, ReceiverUnavailable
from penstock.receiver.models import ConsumerStatus

LINES = """\
    forward:
      - name: {name}
        endpoint: "tcp://127.0.0.1:0"
        shared: true"""


class NotThere(PipelineError):
    """The receiver does not answer, at present."""


def find(client: ReceiverClient, consumer: str = "") -> str:
    """Return the name of the entry: the one that is asked for, or the first free one with shared memory.

    Args:
        client: of the receiver.
        consumer: name of the entry; "" for any.

    Raises:
        NotThere: the receiver does not answer.
        PipelineError: there is none, or another pipeline has it; the sentence has the lines to add.
    """
    try:
        consumers = client.status().consumers
    except ReceiverUnavailable as error:
        kind = PipelineError if error.foreign else NotThere
        raise kind(f"{error} `receiver:` in the pipeline's file says where") from error
    except NoAnswer as error:
        raise PipelineError(f"{error} `receiver:` in the pipeline's file says where") from error
    names = [each.name for each in consumers]
    if consumer:
        found = next((each for each in consumers if each.name == consumer), None)
        if found is None:
            raise PipelineError(
                f"the receiver at {client.url} has no forward entry {consumer}; it has "
                f"{', '.join(names) or 'none'}. {_to_add(consumer)}"
            )
        if found.holder is not None:
            raise PipelineError(f"{_held(client.url, [found])}. {_to_add(f'{consumer}_2')}")
        _check_here(client.url, found)
        return found.name
    shared = [each for each in consumers if each.shared]
    free = [each for each in shared if each.holder is None]
    if not free:
        held = _held(client.url, shared) if shared else f"the receiver at {client.url} has none"
        name = next(name for name in ("live", "live_2", "live_3", "more") if name not in names)
        raise PipelineError(
            f"live processing takes a forward entry with shared: true, and {held}. {_to_add(name)}"
        )
    _check_here(client.url, free[0])
    return free[0].name


def _held(url: str, entries: list[ConsumerStatus]) -> str:
    who = ", ".join(
        f"{each.name} is held by process {each.holder.pid} on {each.holder.host} of {each.holder.user}"
        for each in entries
        if each.holder is not None
    )
    return f"of the receiver at {url} {who}: end that pipeline, or add another entry"


def _check_here(url: str, entry: ConsumerStatus) -> None:
    """Refuse an entry whose memory is on another machine."""
    if why := why_elsewhere(url, entry):
        raise PipelineError(why)


def why_elsewhere(url: str, entry: ConsumerStatus) -> str:
    """Return that the memory of an entry is on another machine, in a sentence; "" if it is here."""
    if not entry.shared or os.path.exists(entry.shared):
        return ""
    return (
        f"the memory {entry.shared} of entry {entry.name} is not here: the receiver at {url} is on another "
        "machine or in another container. Run the pipeline there, and workers here; or name an entry without "
        "shared (consumer: NAME), whose frames come by TCP"
    )


def _to_add(name: str) -> str:
    return f"Add to its entry in the receiver's configuration, and start it again:\n{LINES.format(name=name)}"
