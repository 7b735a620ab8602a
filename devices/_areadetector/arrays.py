"""The frames of one series: arrays that come, their index, and the end.

Each array has the number of the driver's counter (`uniqueId`, `ArrayCounter_RBV`), which runs on between
acquisitions. Its value before Acquire makes the first index exact; what it has reached at the end makes the
last one exact, so that a frame which is lost anywhere in EPICS is missing at its index. Where it jumps, the
driver has to have made as many images by its own count (`NumImagesCounter_RBV`): else somebody has set it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import numpy as np

from penstock.devices._areadetector import payload
from penstock.devices._areadetector.ioc import POLL, SETTLE, Ioc, Reading
from penstock.stins.texts import plural
from penstock.streamer.camera.contract import Acquisition, Exposure
from penstock.streamer.camera.settings import TriggerMode
from penstock.streamer.camera.unit import CameraError, FrameFormat

QUEUE_BYTES, MOST_QUEUED, FEWEST_QUEUED = 2**27, 1024, 4
"""Arrays that wait on either side of the connection: as many as fit into so many bytes. Of more, EPICS drops
some, which are missing at their index."""
QUIET = 0.5
"""Seconds without an array, after the driver has stopped, after which no more come."""
ASK = 2.0
"""Seconds between two questions whether the IOC is there."""
SILENT = 8.0
"""Seconds without an answer, after which it is taken to be frozen, or cut off."""
CONNECT = 3.0
"""Seconds within which the records have to answer; and with which an array has to come, that of before."""
EPOCH = 631_152_000
"""The beginning of EPICS' time, in seconds since 1970: a stamp that was never set."""
RING = 2**32
"""Values of the driver's counter, an int32."""


class Arrays:
    """One series; a context manager that holds the subscriptions.

    Args:
        ioc: the connection.
        prefix: of the driver's records.
        image: record of the arrays.
        acquisition: the engine's side.
        form: format of the frames.
        codec: name of the codec, as it was at Arm.
        kept: records that nobody may change in the series, and their values.
        trigger: record that triggers the driver; "" but for SOFTWARE.
    """

    def __init__(
        self, ioc: Ioc, prefix: str, image: str, acquisition: Acquisition, form: FrameFormat, codec: str,
        kept: dict[str, Any], trigger: str,
    ) -> None:  # fmt: skip
        self._ioc, self._prefix, self._acquisition, self._form = ioc, prefix, acquisition, form
        self._image_record, self._codec, self._kept, self._trigger = image, codec, kept, trigger
        self._frames = acquisition.settings.frames
        self._plain_bytes = int(np.prod(form.shape)) * np.dtype(form.dtype).itemsize
        self._counter_record = f"{prefix}ArrayCounter_RBV"
        self._images_record = f"{prefix}NumImagesCounter_RBV"
        self._acquire_record = f"{prefix}Acquire"
        self._answered = acquisition.now()
        self._asked = 0.0
        self._question: Any = None
        self._next = 0  # index behind the last frame that has come
        self._jump: int | None = None  # where the counter has jumped, until the images were asked for
        self._has_images = False  # the driver counts them
        self._images_asked = -ASK
        self._fired = 0  # software triggers
        self._firing: Any = None
        self._refusal = ""  # of the last one
        self._events = self._seen = 0  # calls from the client's threads, and those that were looked at

    def __enter__(self) -> Arrays:
        # Not waited for: a driver without this record would cost each series that time.
        self._images_question = self._ioc.ask(self._images_record, self._count_images)
        watched = [self._counter_record, self._acquire_record, *self._kept]
        acquires, counter = self._ioc.require([self._acquire_record, self._counter_record])
        if acquires.value:
            raise CameraError(
                f"{self._acquire_record} is {acquires.text} already: another client has started the driver; "
                "stop it, then Arm again"
            )
        self._before = int(counter.value)
        # The records first: an array that is on the way may keep the IOC from answering to anything else.
        self._watch = self._ioc.watch(watched, self._come)
        self._await_connection()
        self._arrays = self._ioc.subscribe(self._image_record, self._come, self._queue)
        self._drop_old_array()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        is_there = not self._is_lost() and self._acquisition.now() - self._answered < 2 * ASK
        if error is not None and is_there:  # it would go on exposing
            with contextlib.suppress(CameraError):
                self._ioc.put_choice(self._acquire_record, 0)
        self._arrays.close()
        self._watch.close()

    def take(self) -> Iterator[Exposure]:
        """Start the driver, and yield the frames as they come.

        Raises:
            CameraError: the IOC is lost, or somebody has changed what belongs to the series.
        """
        acquisition = self._acquisition
        self._ioc.put_choice(self._acquire_record, 1, wait=False)
        acquisition.ready()
        if not self._trigger:
            yield from self._until(self._frames)
            yield from self._rest()
            return
        for trigger in range(self._frames):
            if not acquisition.wait_trigger():
                break
            # Not waited for: an IOC that is lost would not answer, and is noticed below.
            self._firing = self._ioc.send(self._trigger, 1, self._refuse)
            self._fired = trigger + 1
            yield from self._until(trigger + 1)
        yield from self._rest()

    def _until(self, end: int) -> Iterator[Exposure]:
        """Yield frames until so many are accounted for, or the driver or the series stops."""
        acquisition = self._acquisition
        while self._next < end:
            self._seen = self._events
            if (found := self._arrays.take()) is not None:
                if (exposure := self._exposure(found)) is not None:
                    yield exposure
                continue
            self._look()
            if self._has_stopped() or self._counted() >= end:
                return
            moment = acquisition.now() + ASK / 2
            if not acquisition.wait(self._has_news, moment) and not acquisition.proceed():
                return

    def _rest(self) -> Iterator[Exposure]:
        """Stop the driver, yield what still comes, and say how many frames it has taken."""
        acquisition = self._acquisition
        if acquisition.stopping and self._exposes():  # the driver would give the frame up
            before, exposure = self._counted(), acquisition.settings.exposure_time
            acquisition.wait(
                lambda: self._counted() > before or not self._acquires,
                acquisition.now() + exposure + QUIET, exposing=True,
            )  # fmt: skip
        self._look()  # before a record is asked that does not answer
        self._ioc.put_choice(self._acquire_record, 0)
        self._compare_images()
        (counter,) = self._ioc.require([self._counter_record])
        taken = max(0, min(self._index(int(counter.value)) + 1, self._frames))
        quiet = acquisition.now() + QUIET
        while self._next < taken:
            self._seen = self._events
            if (found := self._arrays.take()) is not None:
                if (more := self._exposure(found)) is not None:
                    yield more
                    quiet = acquisition.now() + QUIET
            elif not acquisition.wait(self._has_news, quiet, exposing=True):
                break
        acquisition.triggered(taken)
        if taken < self._frames and not acquisition.stopping:
            raise CameraError(
                f"{self._acquire_record} went to Done at index {taken}: another client or the driver itself "
                f"has ended the acquisition after {taken} of {plural(self._frames, 'frame')}"
            )

    def _exposes(self) -> bool:
        """Return whether a frame is being exposed, as far as anybody knows: no record tells of edges."""
        mode = self._acquisition.settings.trigger_mode
        if mode is TriggerMode.SOFTWARE:
            return self._fired > self._counted()
        return mode is TriggerMode.INTERNAL or (mode is TriggerMode.EXTERNAL and self._counted() > 0)

    # -- one array -----------------------------------------------------------------------------------

    def _exposure(self, array: Any) -> Exposure | None:
        """Put an array into a buffer; `None` for one of before the series, or without pixels."""
        index = self._index(int(array.uniqueId))
        if array.value is None or index < 0:
            return None  # the first update after connecting
        if index >= self._frames:
            return None  # the driver was not stopped in time
        if index == self._next - 1:
            return None  # the same array again, as a plugin posts that is processed by hand
        if index < self._next:
            raise CameraError(
                f"frame {index} came again, or after frame {self._next - 1}; is the driver's counter set "
                "back, or does something merge arrays in front of the PVA plugin?"
            )
        if index > self._next and self._jump is None:
            self._jump = self._next
        # Not each time: where every second frame is lost, questions would lose more.
        if self._jump is not None and self._acquisition.now() - self._images_asked >= ASK:
            self._compare_images()
        self._check(array, index)
        buffer = self._acquisition.buffer()
        nbytes = payload.write(self._codec, np.asarray(array.value), self._plain_bytes, buffer)
        self._next = index + 1
        stamp = array.dataTimeStamp
        seconds = int(stamp.secondsPastEpoch) + int(stamp.nanoseconds) / 1e9
        return Exposure(index=index, nbytes=nbytes, timestamp_hw=seconds if seconds > EPOCH else None)

    def _check(self, array: Any, index: int) -> None:
        """Raise if an array is not as it was at Arm."""
        codec, size = str(array.codec.name), tuple(int(each.size) for each in reversed(array.dimension))
        if codec != self._codec:
            now, before = codec or "none", self._codec or "none"
            if index == 0:
                raise CameraError(
                    f"the first frame has codec {now}, and the last array before the series had {before}: "
                    "call Reset and Arm, which takes it as it is now"
                )
            raise CameraError(
                f"frame {index} has codec {now}, and those before {before}: somebody has changed the codec "
                "plugin in the series"
            )
        if size != self._form.shape:
            raise CameraError(
                f"frame {index} has {_by(size)} pixels, and {_by(self._form.shape)} were announced: somebody "
                "has changed the region or the binning in the series"
            )
        kind = payload.pixel_type(array)
        if kind not in ("", self._form.dtype):
            raise CameraError(f"frame {index} has pixels of {kind}, and {self._form.dtype} was announced")

    def _index(self, counter: int) -> int:
        """Return the index of a number of the driver's counter, which may have wrapped; −1 before the
        series."""
        steps = (counter - self._before) % RING
        return (steps if steps < RING // 2 else steps - RING) - 1

    # -- the IOC -------------------------------------------------------------------------------------

    def _await_connection(self) -> None:
        acquisition = self._acquisition
        moment = acquisition.now() + CONNECT
        while None in self._watch.now.values():
            if not acquisition.wait(lambda: None not in self._watch.now.values(), moment):
                if acquisition.stopping:
                    return
                silent = [name for name, each in self._watch.now.items() if each is None]
                raise CameraError(f"no answer from {', '.join(silent[:3])}; does the IOC run?")

    def _drop_old_array(self) -> None:
        """Drop the first update, which has the last array of before: if its number is 1, say, and the counter
        was set to 0 since, it would be taken for the first frame."""
        acquisition, moment = self._acquisition, self._acquisition.now() + CONNECT
        while True:
            self._seen = self._events  # before the look: what comes behind it is news
            if self._arrays.take() is not None or acquisition.stopping:
                return
            if not acquisition.wait(self._has_news, moment) and acquisition.now() >= moment:
                raise CameraError(f"no answer from {self._image_record}; is the PVA plugin enabled?")

    @property
    def _queue(self) -> int:
        return max(FEWEST_QUEUED, min(MOST_QUEUED, QUEUE_BYTES // max(1, self._form.frame_bytes)))

    def _come(self) -> None:
        """Note that there is something new; from threads of the client."""
        self._events += 1  # that two of them count as one does no harm
        self._acquisition.wake()

    def _refuse(self, why: str) -> None:
        """Note that the driver does not take a trigger; from a thread of the client."""
        self._refusal = why
        self._come()

    def _has_news(self) -> bool:
        """Return whether something has come since the last look."""
        return self._events != self._seen

    def _look(self) -> None:
        """Raise if the IOC is lost or frozen, or somebody has changed a record of the series."""
        now = self._acquisition.now()
        if self._is_lost():
            raise CameraError(
                f"the IOC is lost at index {self._next}: {self._image_record} is disconnected; start it "
                "again, then call Reset"
            )
        if self._refusal:
            raise CameraError(f"{self._refusal}, at index {self._next}")
        self._compare(self._watch.now)
        if now - self._asked >= ASK:
            self._asked = now
            self._question = self._ioc.ask(self._counter_record, self._answer)
        if now - self._answered > SILENT:
            raise CameraError(
                f"the IOC has not answered for {SILENT:g} s, at index {self._next}: it hangs, or its host is "
                "cut off"
            )

    def _is_lost(self) -> bool:
        """Return whether the connection is lost: the arrays or a record may tell it first."""
        return self._arrays.is_lost or None in self._watch.now.values()

    def _answer(self) -> None:
        self._answered = self._acquisition.now()

    def _compare(self, found: Any) -> None:
        counter: Reading = found[self._counter_record]
        if self._index(int(counter.value)) < -1:
            raise CameraError(
                f"{self._counter_record} was set back to {counter.text} at index {self._next}, by another "
                "client: later indices would be guesses"
            )
        for name, value in self._kept.items():
            if found[name].value != value:
                raise CameraError(
                    f"{name} was set to {found[name].text} at index {self._next}, by another client: it was "
                    f"{value} when the series began"
                )

    def _count_images(self) -> None:
        self._has_images = True

    def _compare_images(self) -> None:
        """Raise if the counter has come further than the driver has made images.

        One that was lost on its way was made. The two records are told one after the other, so that a
        difference has to last. A driver that leaves the images at 0 does not count them.
        """
        if not self._has_images:
            return
        acquisition = self._acquisition
        end = acquisition.now() + SETTLE
        while True:
            counter, images = self._ioc.get([self._counter_record, self._images_record])
            self._images_asked = acquisition.now()
            if counter is None or images is None or not images.value:
                return
            counted = self._index(int(counter.value)) + 1
            if counted <= int(images.value):
                self._jump = None
                return
            if self._images_asked >= end:
                break
            acquisition.wait(lambda: False, self._images_asked + POLL, exposing=True)
        index = self._next if self._jump is None else self._jump
        raise CameraError(
            f"{self._counter_record} was set forward at index {index}, by another client: it is "
            f"{counter.text}, {plural(counted, 'frame')} after the begin, and the driver has made "
            f"{plural(int(images.value), 'image')} ({self._images_record}); later indices would be guesses"
        )

    def _counted(self) -> int:
        """Return how many frames the driver has taken, as far as is known."""
        found = self._watch.now[self._counter_record]
        return 0 if found is None else self._index(int(found.value)) + 1

    @property
    def _acquires(self) -> bool:
        """True if the driver acquires, by the last update of the record."""
        found = self._watch.now[self._acquire_record]
        return found is None or bool(found.value)

    def _has_stopped(self) -> bool:
        """Return whether the driver has ended the acquisition.

        Updates of different records come in any order: that Acquire is 1 may be told after the first frames.
        So the record itself is asked when its last update says 0.
        """
        if self._acquires:
            return False
        (now,) = self._ioc.get([self._acquire_record])
        return now is not None and not now.value


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
