"""A queue of work for one thread, done in order; callers get a `Future`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import TypeVar

from penstock.streamer.camera.driver import Refused
from penstock.streamer.camera.unit import CameraError

log = logging.getLogger(__name__)
T = TypeVar("T")


def guarded(run: Callable[[], None], name: str, died: Callable[[], None]) -> None:
    """Run a thread; if it dies, end the engine, so that nobody waits for it.

    Args:
        run: what the thread does.
        name: of the camera.
        died: called then.
    """
    try:
        run()
    except BaseException:
        log.critical("%s: a thread of the engine died", name, exc_info=True)
        died()
        raise


class Jobs:
    """The queue of one thread.

    Args:
        camera: name of the camera, for sentences.
    """

    def __init__(self, camera: str) -> None:
        self._camera = camera
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    def put(self, job: Callable[[], None]) -> None:
        """Let the thread run a job; an exception in it ends the thread."""
        self._queue.put(job)

    def ask(self, work: Callable[[], T], done: Callable[[], None] = lambda: None) -> Future[T]:
        """Let the thread do some work, and return its future result.

        Args:
            work: called in the thread.
            done: called in the thread, before the future has its result.

        Returns:
            The result or exception of `work`; a `CameraError` becomes `Refused`.
        """
        future: Future[T] = Future()

        def job() -> None:
            try:
                result = work()
            except CameraError as error:
                done()
                future.set_exception(Refused("camera", f"{self._camera}: {error}"))
            except Exception as error:  # passed to the caller, who shows it
                done()
                if not isinstance(error, Refused):
                    log.exception("%s: unexpected error", self._camera)
                future.set_exception(error)
            else:
                done()
                future.set_result(result)

        self._queue.put(job)
        return future

    def end(self) -> None:
        """Let the thread end after the queued work."""
        self._queue.put(None)

    def run(self, every: float | None = None, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Do the work in the calling thread, until `end`.

        Args:
            every: seconds without work after which `meanwhile` is called, repeatedly.
        """
        while True:
            try:
                job = self._queue.get(timeout=every)
            except Empty:
                meanwhile()
                continue
            if job is None:
                return
            job()
