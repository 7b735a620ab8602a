"""The thread that draws: the newest order only."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from typing import Any

from silx.gui import qt

from penstock.gui.live.drawing.picture import Port, Style, draw
from penstock.gui.live.drawing.whole import Whole

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Order:
    """What is to be drawn."""

    whole: Whole
    port: Port | None
    style: Style


class Painter(qt.QObject):
    """One thread, from the first order to `ask_to_stop`. An order replaces one that waits."""

    done: Any = qt.Signal(object)
    """`Picture`, of the order that was given last or of one before it; emitted from the thread."""
    failed: Any = qt.Signal(object)
    """`Exception`: a frame cannot be drawn."""

    def __init__(self) -> None:
        super().__init__()
        self._condition = threading.Condition()
        self._order: Order | None = None  # this and what follows: under the condition
        self._stopping = False
        self._thread: threading.Thread | None = None

    def ask(self, order: Order) -> None:
        """Draw this next."""
        with self._condition:
            self._order = order
            if self._thread is None and not self._stopping:
                self._thread = threading.Thread(target=self._run, name="penstock-painter", daemon=True)
                self._thread.start()
            self._condition.notify_all()

    def ask_to_stop(self) -> None:
        """End the thread after the picture under way, without waiting for it."""
        with self._condition:
            self._stopping = True
            self._condition.notify_all()

    def stop(self) -> None:
        """End the thread and wait for it."""
        self.ask_to_stop()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._stopping or self._order is not None)
                if self._stopping:
                    return
                order, self._order = self._order, None
            assert order is not None
            what: object
            try:
                signal, what = self.done, draw(order.whole, order.port, order.style)
            except Exception as error:
                _log.exception("frame %d cannot be drawn", order.whole.frame.frame)
                signal, what = self.failed, error
            try:
                signal.emit(what)
            except RuntimeError:  # the window is gone
                return
