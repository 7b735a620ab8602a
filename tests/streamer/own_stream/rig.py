"""A detector that streams by itself between its engine and a receiver of its stream."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from threading import Condition
from typing import Any, TypeVar

import zmq

from penstock.receiver.sources import KINDS, create
from penstock.receiver.sources.expected import ExpectedSeries
from penstock.stins.errors import StinsError
from penstock.stins.messages import Frame, Message, SeriesEnd, Start
from penstock.streamer.camera.driver import Prepared, StreamerStatus
from penstock.streamer.camera.own_stream import StreamingDetector
from penstock.streamer.own_stream.engine import OwnStreamEngine
from tests.streamer.rig import DEADLINE, settings

T = TypeVar("T")


class Rig:
    """See the module.

    Args:
        unit: the detector; the engine closes it.
        source: kind of its stream, of `receiver.sources`.
        died: as of the engine.
    """

    def __init__(
        self, unit: StreamingDetector, source: str = "stins", *, died: Callable[[], None] = lambda: None
    ) -> None:
        self.unit = unit
        self.changed = Condition()
        self.expected = ExpectedSeries()
        """The receiver's entry, for a stream without start messages."""
        self.errors: list[StinsError] = []
        self._source = create(source, self.expected)
        self._decoded: deque[Message] = deque()
        self._context = zmq.Context()
        self._pull = self._context.socket(zmq.SUB if KINDS[source].published else zmq.PULL)
        if KINDS[source].published:
            self._pull.subscribe(b"")
        self._pull.connect(unit.stream_endpoint())
        self.engine = OwnStreamEngine(unit, changed=self.notify, died=died)

    def close(self) -> None:
        """End everything."""
        self.engine.close()
        self._context.destroy(0)

    def until(self, wanted: Callable[[StreamerStatus], bool]) -> StreamerStatus:
        """The first status that is as wanted."""
        with self.changed:
            assert self.changed.wait_for(lambda: wanted(self.engine.status()), DEADLINE), self.engine.status()
        return self.engine.status()

    def until_state(self, state: str) -> StreamerStatus:
        """The status once the engine is in `state`."""
        return self.until(lambda status: status.state == state)

    def prepare(self, exposure: float = 0.001, **changes: Any) -> Prepared:
        """Prepare a series of four frames, INTERNAL, but for `changes`."""
        changes.setdefault("camera", {})
        return done(self.engine.prepare(settings(exposure_time=exposure, **changes)))

    def arm(self, exposure: float = 0.001, **changes: Any) -> Prepared:
        """Prepare and arm; the receiver expects the series if its stream does not announce it."""
        prepared = self.prepare(exposure, **changes)
        if prepared.expected is not None:
            self.expected.expect(prepared.expected)
        done(self.engine.start())
        return prepared

    def series(self) -> tuple[Start, list[Frame], SeriesEnd]:
        """All messages of the next series; what is left of one before is passed over."""
        frames: list[Frame] = []
        while not isinstance(start := self.receive(), Start):
            pass
        while isinstance(message := self.receive(), Frame):
            frames.append(message)
        assert isinstance(message, SeriesEnd)
        return start, frames, message

    def receive(self) -> Message:
        """The next message."""
        while not self._decoded:
            assert self._pull.poll(int(DEADLINE * 1000)), "no message in time"
            decoded = self._source.decode(self._pull.recv_multipart())
            for each in decoded if isinstance(decoded, tuple) else (decoded,):
                if isinstance(each, StinsError):
                    self.errors.append(each)
                else:
                    self._decoded.append(each)
        return self._decoded.popleft()

    def notify(self) -> None:
        """Something has changed."""
        with self.changed:
            self.changed.notify_all()


def done(future: Future[T]) -> T:
    """The result, in time."""
    return future.result(DEADLINE)
