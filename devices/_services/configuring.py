"""The parameters of a pipeline as a Tango command sets them, which must not wait for its workers."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from typing import Any, Final

from penstock.devices._tango.faults import ConfigureRefused
from penstock.processing.client import NoAnswer, PipelineClient, PipelineRefused

log = logging.getLogger(__name__)

WAIT: Final = 1.0
"""Seconds: a command holds the device, and clients wait for three."""


def briefly(call: Callable[[], object], what: str) -> bool:
    """Run a call in a thread, and wait for it for a moment.

    Args:
        call: the call.
        what: for the log, which has the error of a call that fails later.

    Returns:
        Whether it has returned; if not, it goes on.

    Raises:
        Exception: what the call has raised meanwhile.
    """
    ended, lock = threading.Event(), threading.Lock()
    errors: list[Exception] = []
    waits = True

    def run() -> None:
        try:
            call()
        except Exception as error:
            with lock:
                errors.append(error)
                if not waits:
                    log.warning("%s: %s", what, error)
        ended.set()

    threading.Thread(target=run, name=what, daemon=True).start()
    ended.wait(WAIT)
    with lock:
        waits = False
        if errors:
            raise errors[0]
    return ended.is_set()


class Configuring:
    """Changes of the parameters, one at a time.

    Args:
        client: of the pipeline.
        on_change: called when one begins and when its outcome is known.
    """

    def __init__(self, client: PipelineClient, on_change: Callable[[], None]) -> None:
        self._client = client
        self._on_change = on_change
        self._lock = threading.Lock()
        self.busy = False
        """True if workers are preparing new parameters."""
        self.outcome: dict[str, Any] = {}
        """What became of the last change: {} before the first."""

    def configure(self, text: str) -> dict[str, Any]:
        """Begin a change, and return its outcome if it is known within a second.

        Args:
            text: a JSON object of names and values.

        Raises:
            ConfigureRefused: it is none, others are being prepared, or the pipeline refuses it: then
                the kind is the pipeline's.
        """
        try:
            values = json.loads(text)
        except ValueError as error:
            raise ConfigureRefused("bad_value", f"the parameters are not JSON: {error}") from error
        if not isinstance(values, dict):
            raise ConfigureRefused(
                "bad_value", f'write a JSON object, such as {{"threshold": 800}}, not {text}'
            )
        with self._lock:
            if self.busy:
                raise ConfigureRefused(
                    "busy", "other parameters are being prepared; wait for ConfigureOutcome"
                )
            self.busy, self.outcome = True, {"done": False}
        briefly(lambda: self._change(values), "configuring a pipeline")
        outcome = self.outcome
        if outcome.get("taken") is False:
            raise ConfigureRefused(outcome["kind"], outcome["sentence"])
        return outcome

    def _change(self, values: dict[str, Any]) -> None:
        self._on_change()
        try:
            taken = self._client.change(values)
            outcome = {
                "done": True, "taken": True, "version": taken.version, "from_frame": taken.from_frame,
                "acknowledged": taken.acknowledged, "kind": "", "sentence": "",
            }  # fmt: skip
        except NoAnswer as error:
            kind = error.kind if isinstance(error, PipelineRefused) else "unavailable"
            outcome = {"done": True, "taken": False, "kind": kind, "sentence": str(error)}
        except Exception as error:  # else no other change would ever be possible
            outcome = {"done": True, "taken": False, "kind": "internal", "sentence": repr(error)}
        with self._lock:
            self.busy, self.outcome = False, outcome
        self._on_change()
