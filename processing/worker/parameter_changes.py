"""Changes of parameters, which a worker prepares one after the other, beside the frames."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Thread

from penstock.processing import wire
from penstock.processing.worker.chain import Chain, Preparation
from penstock.processing.worker.configuring import Refusal
from penstock.processing.worker.parameters import ParameterError


class ParameterChanges:
    """The changes that one distributor wants.

    Args:
        chain: the steps.
        send: sends a message.
        wake: called in another thread when `take_prepared` has something to do; by default parameters are
            prepared at once, and nothing else is done until then.
    """

    def __init__(
        self, chain: Chain, send: Callable[..., None], wake: Callable[[], None] | None = None
    ) -> None:
        self._chain = chain
        self._send = send
        self._wake = wake
        self._wanted: deque[wire.Configure] = deque()
        """Changes that are not prepared yet."""
        self._preparation: Preparation | None = None
        """The one that is being prepared."""

    def add(self, message: wire.Configure) -> None:
        """Prepare one more change; frames are processed with the old parameters meanwhile."""
        self._wanted.append(message)
        self._prepare_next()

    def take_prepared(self) -> None:
        """Answer that parameters are prepared, or refused, if they are."""
        preparation = self._preparation
        if preparation is None or not preparation.is_done:
            return
        self._preparation = None
        try:
            self._chain.take(preparation)
        except Refusal as error:
            self._refuse(preparation.version, error)
        else:
            self._send(wire.Ready(version=preparation.version))
        self._prepare_next()

    def _prepare_next(self) -> None:
        while self._preparation is None and self._wanted:
            message = self._wanted.popleft()
            try:
                self._preparation = self._chain.preparation(message.version, message.parameters)
            except ParameterError as error:
                self._refuse(message.version, error)
                continue
            if self._wake is None:
                self._preparation.run()
                self.take_prepared()
            else:
                Thread(target=_run, args=(self._preparation, self._wake), daemon=True).start()

    def _refuse(self, version: int, error: Exception) -> None:
        self._send(wire.Refused(what="parameters", why=str(error), version=version))


def _run(preparation: Preparation, wake: Callable[[], None]) -> None:
    preparation.run()
    wake()
