"""From an IOC that others arm to a receiver: one thread that follows its driver, and sends series."""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import time
import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from penstock.bridges.epics import models
from penstock.bridges.epics.config import InConfig
from penstock.bridges.epics.gateway.acquisitions import Acquisitions, Began, Ended, Event, State
from penstock.bridges.epics.gateway.arrays import Format, blob_of, exposed_at, format_of
from penstock.bridges.epics.gateway.records import Monitor, Reading, Records, is_array, reading
from penstock.bridges.epics.gateway.sender import Sender
from penstock.stins.messages import EndReason, Header, Image, IndexSource, SeriesEnd
from penstock.stins.texts import plural

log = logging.getLogger(__name__)

TICK = 0.1
"""Seconds between two looks while nothing comes."""
QUIET = 0.5
"""Seconds without an array, after the driver has stopped, after which no more come; and for which an array
waits for the begin that belongs to it."""
AGAIN = 2.0
"""Seconds after which a record that is no array is looked at again."""
NO_ARRAY = "in.image is {}, which is no NTNDArray: give what PvName_RBV of the PVA plugin says"
ASK, SILENT = 2.0, 8.0
"""Seconds between two questions whether the IOC is there, and without an answer until it counts as lost."""
QUEUE_BYTES, FEWEST, MOST = 2**27, 4, 1024
"""Arrays that wait for this thread: as many as fit into so many bytes."""
SIZES, PIXEL_BYTES = ("ArraySizeX_RBV", "ArraySizeY_RBV"), 4
"""What tells the size of an array, and the bytes of a pixel that are reckoned with."""
ACQUIRE, COUNTER, IMAGES = "Acquire", "ArrayCounter_RBV", "NumImagesCounter_RBV"
TIME, PERIOD, PLANNED, MODE = "AcquireTime_RBV", "AcquirePeriod_RBV", "NumImages_RBV", "ImageMode_RBV"
TRIGGER, MAKER, MODEL = "TriggerMode_RBV", "Manufacturer_RBV", "Model_RBV"
AT_BEGIN = (TIME, PERIOD, PLANNED, MODE, TRIGGER, MAKER, MODEL)
"""Records of the driver that are read at the begin of each series."""


class Gateway:
    """One IOC, and the socket that receivers connect to.

    Args:
        config: what `in` says.
        ends: set when it shall end; then nothing is waited for any more.

    Raises:
        OSError: the endpoint is in use, or not one of this machine.
    """

    def __init__(self, config: InConfig, ends: threading.Event) -> None:
        self._config = config
        self._ends = ends
        self._come = threading.Event()
        self._sender = Sender(config.endpoint, self._ends.is_set)
        self._machine = Acquisitions()
        self._series: str | None = None
        """Id of the series that is taken; `None` between two, and of an acquisition that is not taken."""
        self._opened = False
        """True if its start message was sent."""
        self._found: Mapping[str, Reading] = {}
        """What was read for the newest begin; its series may wait for the end of the one before."""
        self._unread = ""
        """Why that is not what was there at the begin."""
        self._values: Mapping[str, Reading] = {}
        self._form: Format | None = None
        self._file = ""
        self._was_there: tuple[int, float] | None = None
        """Number and stamp of the array that was there at connecting: the last one of before."""
        self._held: tuple[Any, float] | None = None
        """An array whose begin was not told yet, and since when it waits."""
        self._asked = self._answered = self._last_array = 0.0
        self._answer: Any = None
        self._taken = self._not_taken = self._strays = 0
        self._problem = self._wrong_image = ""

    def run(self, _: threading.Event) -> None:
        """Follow the IOC until it shall end."""
        try:
            while not self._ends.is_set():
                with contextlib.closing(Records(self._config.name_servers, self._come.set)) as records:
                    self._follow(records)
        finally:
            self._take(self._machine.fail("the bridge was shut down"))
            self._sender.close()

    # -- the IOC -------------------------------------------------------------------------------------

    def _follow(self, records: Records) -> None:
        """Follow the IOC until it is lost, or this shall end."""
        self._records = records
        if (arrays := self._connected_arrays()) is None:
            return
        self._counter = records.monitor(self._record(COUNTER))
        self._acquire = records.monitor(self._record(ACQUIRE))
        self._asked = self._answered = time.monotonic()
        while not self._ends.is_set():
            self._come.wait(TICK)
            self._come.clear()
            if self._counter.is_refused or self._acquire.is_refused:
                return
            if not self._look() or not self._is_alive():
                self._take(self._machine.lost())
                self._held = None
                return
            if self._machine.state is State.AWAY:
                continue
            if not self._take_arrays(arrays):
                self._take(self._machine.lost())
                return
            self._end_if_over()

    def _connected_arrays(self) -> Monitor | None:
        """Subscribe to the arrays, and wait for the one that is there, which is of no series.

        The records come behind it, so that nothing of a series comes before that: who has begun by then is
        foreign. And an IOC that sends an array may refuse them meanwhile.

        Returns:
            The subscription; `None` if there is none, or this shall end.
        """
        while not (found := self._records.get([self._record(name) for name in SIZES])):
            if self._ends.is_set():
                return None
        nbytes = PIXEL_BYTES * math.prod(max(1, int(each.value)) for each in found.values())
        arrays = self._records.monitor(self._config.image, max(FEWEST, min(MOST, QUEUE_BYTES // nbytes)))
        while not (self._ends.is_set() or arrays.is_refused):
            if (first := next(arrays.updates(), None)) is not None:
                self._wrong_image = "" if is_array(first) else NO_ARRAY.format(self._config.image)
                if self._wrong_image:
                    self._ends.wait(AGAIN)
                    return None
                self._was_there = _identity(first)
                return arrays
            self._come.wait(TICK)
            self._come.clear()
        return None

    def _look(self) -> bool:
        """Take what the records have told; return false if they were lost."""
        if not self._count():
            return False
        # What follows of Acquire waits for the end of the acquisition before it.
        while self._counter.is_there and not self._machine.is_waiting:
            update = next(self._acquire.updates(), self)
            if update is self:
                break
            if update is None or not self._acquires(reading(update)):
                return False
        return True

    def _count(self) -> bool:
        """Take what the counter has told; return false if it was lost."""
        for update in self._counter.updates():
            if update is None:
                return False
            found = reading(update)
            self._take(self._machine.counted(int(found.value), found.stamp))
        return True

    def _acquires(self, found: Reading) -> bool:
        """Take an update of Acquire; return false if the IOC was lost."""
        machine, names = self._machine, [self._record(name) for name in (ACQUIRE, COUNTER, IMAGES)]
        # Once the IOC has answered, all that was counted before has been told.
        answers = self._records.get(names + self._settings if found.value else names)
        if not self._count():
            return False
        if found.value:
            self._found, self._unread = answers, self._changed_since(found, answers)
        self._take(machine.acquires(bool(found.value), found.stamp))
        self._last_array = time.monotonic()
        now, counter, images = (answers.get(name) for name in names)
        if not found.value and now is not None and now.stamp == found.stamp and counter is not None:
            machine.stopped(int(counter.value), 0 if images is None else int(images.value))
        return True

    def _changed_since(self, begun: Reading, answers: Mapping[str, Reading]) -> str:
        """Return why answers may not be what was there at a begin, in a sentence; or "".

        An update may be handled seconds later: while no receiver took the series before, or this was held.
        """
        acquire = self._record(ACQUIRE)
        now = self._records.get([acquire]).get(acquire)  # behind the answers
        if now is None:
            return f"{acquire} does not answer"
        if now.stamp == begun.stamp:
            return ""
        if now.value:
            return "its settings were read too late: the next one had begun"
        newer = [name for name in self._settings if name in answers and answers[name].stamp > begun.stamp]
        return f"its settings were read too late: {newer[0]} was written after it had begun" if newer else ""

    def _is_alive(self) -> bool:
        """Ask now and then whether the IOC is there; return false if it has not answered for long."""
        now = time.monotonic()
        if self._machine.state is State.AWAY:
            self._answered = now
            return True
        if now - self._asked >= ASK:
            self._asked = now
            self._answer = self._records.ask(self._record(COUNTER), self._note_answer)
        return now - self._answered <= SILENT

    def _note_answer(self) -> None:
        self._answered = time.monotonic()

    def _end_if_over(self) -> None:
        """End the series whose last frame has come, or of which no more come."""
        machine = self._machine
        is_quiet = time.monotonic() - self._last_array > QUIET
        if machine.state is State.ENDING and (machine.is_complete or is_quiet):
            self._take(machine.settle())

    def _record(self, name: str) -> str:
        return f"{self._config.driver}{name}"

    @property
    def _settings(self) -> list[str]:
        """Whole names of what is read at each begin."""
        names = [self._record(name) for name in AT_BEGIN]
        return [*names, self._config.filename_record] if self._config.filename_record else names

    # -- arrays --------------------------------------------------------------------------------------

    def _take_arrays(self, arrays: Monitor) -> bool:
        """Send what has come; return false if the arrays were lost."""
        if self._held is not None:
            held, since = self._held
            self._held = None
            if not self._take_array(held, since):
                return True
        for array in arrays.updates():
            if array is None:
                return False
            if not self._look():
                return False
            if not self._take_array(array, time.monotonic()):
                return True
        return True

    def _take_array(self, array: Any, since: float) -> bool:
        """Send an array; return false if it waits for its begin, which must be told first."""
        if array.value is None or not array.dimension:
            return True
        if _identity(array) == self._was_there:
            return True  # told once more
        number, machine = int(array.uniqueId), self._machine
        if machine.is_ahead(number):
            if machine.state is State.ENDING:
                self._take(machine.settle())
            if machine.is_ahead(number):  # its begin was not told yet
                if time.monotonic() - since < QUIET:
                    self._held = array, since
                    return False
                self._stray(number)
                return True
        index = machine.index(number)
        self._last_array = time.monotonic()
        if index is None or self._series is None:
            return True
        try:
            self._send(index, array)
        except ValueError as error:
            self._take(machine.fail(f"{error}, at index {index}"))
        return True

    def _stray(self, number: int) -> None:
        """Drop an array whose begin was not told in time."""
        if self._machine.state is State.RUNNING:
            planned = self._machine.planned
            most = "" if planned is None else f", of {plural(planned, 'frame')} at most"
            self._take(
                self._machine.fail(
                    f"array {number} is none of the acquisition that runs{most}: was ArrayCounter set back?"
                )
            )
        else:
            self._strays += 1

    def _send(self, index: int, array: Any) -> None:
        """Send a frame.

        Raises:
            ValueError: it is not as those before, or no file can have it; a sentence.
        """
        form = format_of(array)
        blob = blob_of(array, form)
        if not self._opened:
            self._form = form
            if not self._open(form):
                return
        if why := self._sender.crowd:
            self._take(self._machine.fail(why))
            return
        if form != self._form:
            raise ValueError(f"frames were {self._form}, and are {form} now")
        image = Image(
            shape=form.shape, type=form.dtype, compression=form.compression, frame=index, trigger=index,
            series=self._series, timestamp=time.time(), timestamp_hw=exposed_at(array),
        )  # fmt: skip
        if not self._sender.frame(image, [blob]):
            self._give_up(f"no receiver took frame {index}: is the one at {self._sender.endpoint} stuck?")

    # -- series --------------------------------------------------------------------------------------

    def _take(self, events: Iterable[Event]) -> None:
        for event in events:
            if isinstance(event, Began):
                self._begin()
            else:
                self._end(event)

    def _begin(self) -> None:
        """Take what the driver said of the acquisition; the start message waits for the first frame, which
        tells its format."""
        found = self._found
        self._values = {name: found[full] for name in AT_BEGIN if (full := self._record(name)) in found}
        self._form, self._opened = None, False
        if self._unread:
            self._refuse(self._unread)
            return
        mode = self._values[MODE].text if MODE in self._values else ""
        match mode:
            case "Single":
                self._machine.planned = 1
            case "Multiple" if PLANNED in self._values:
                planned = int(self._values[PLANNED].value)
                if planned <= 0:
                    self._refuse(f"{self._record(PLANNED)} is {planned}: set NumImages to 1 or more")
                    return
                self._machine.planned = planned
            case "Continuous" if self._config.continuous:
                self._machine.planned = None
            case "Continuous":
                self._refuse("ImageMode is Continuous, which is taken with continuous: true only")
                return
            case _:
                self._refuse(f"{self._record(MODE)} says {mode or 'nothing'}; Single or Multiple is taken")
                return
        try:
            self._file = self._filename(found)
        except ValueError as error:
            self._refuse(str(error))
            return
        self._series = uuid.uuid4().hex

    def _filename(self, found: Mapping[str, Reading]) -> str:
        """Return the name of the file, "" for live only.

        Raises:
            ValueError: the record that has it does not answer.
        """
        record, text = self._config.filename_record, ""
        if record:
            if record not in found:
                raise ValueError(f"{record}, which has the name of the file, does not answer")
            text = found[record].text.strip()
            if not text:
                return ""
        return (
            self._config.filename.format(record=text, date=datetime.now()) if self._config.filename else text
        )

    def _open(self, form: Format | None) -> bool:
        """Send the start message; return whether a receiver has taken it."""
        values, planned = self._values, self._machine.planned
        known = {name: float(values[name].value) for name in (TIME, PERIOD) if name in values}
        metadata: dict[str, Any] = {
            "description": " ".join(values[name].text for name in (MAKER, MODEL) if name in values),
            "acquisition": {name: reading.text for name, reading in values.items()},
        }
        if TIME in known:
            metadata |= {"count_time": known[TIME], "exptime": known[TIME]}
        if PERIOD in known:
            metadata["frame_time"] = known[PERIOD]
        header = Header(
            filename=self._file, series=self._series, frames=planned, streams=1,
            index_source=IndexSource.HARDWARE_COUNTER.value, frame_time=known.get(PERIOD),
            shape=None if form is None else form.shape, type=None if form is None else form.dtype,
            compression=None if form is None else form.compression,
            frame_bytes=None if form is None else form.nbytes + form.nbytes // 100 + 1024,
        )  # fmt: skip
        if why := self._sender.crowd:
            self._refuse(why)
            return False
        if not self._sender.begin(header, metadata):
            self._refuse(f"no receiver is connected to {self._sender.endpoint}: start it")
            return False
        self._opened, self._problem = True, ""
        log.info(
            "series %s: %s, %s", self._series, self._file or "live only",
            "until it is stopped" if planned is None else plural(planned, "frame"),
        )  # fmt: skip
        return True

    def _end(self, ended: Ended) -> None:
        if self._series is None:
            return
        if not self._opened and not self._open(None):  # no frame has come: the account says so
            return
        lost = max(0, ended.triggered - self._sender.sent)
        end = SeriesEnd(
            reason=ended.reason.value, message=ended.message or None, triggered=ended.triggered,
            sent=self._sender.sent, lost={"EPICS": lost} if lost else None,
        )  # fmt: skip
        if ended.reason is EndReason.FAULT:
            self._problem = ended.message
        if self._sender.end(end):
            self._taken += 1
            log.info("series %s: %s", self._series, ended.message or plural(ended.triggered, "frame"))
        else:
            self._give_up(f"no receiver took the end of series {self._series}: is one running?")
        self._series = None

    def _refuse(self, why: str) -> None:
        """Do not take the acquisition that has begun."""
        self._series, self._problem = None, f"an acquisition was not taken: {why}"
        self._not_taken += 1
        log.warning("%s", self._problem)

    def _give_up(self, why: str) -> None:
        self._series, self._problem = None, why
        self._not_taken += 1
        log.error("%s", why)

    # -- status --------------------------------------------------------------------------------------

    @property
    def status(self) -> models.In:
        """What it does now."""
        machine = self._machine
        return models.In(
            state=machine.state.value, driver=self._config.driver, image=self._config.image,
            endpoint=self._sender.endpoint, receivers=self._sender.receivers, series=self._series,
            file=self._file, frames=self._sender.sent if self._opened else 0, planned=machine.planned,
            taken=self._taken, not_taken=self._not_taken, strays=self._strays, problem=self._problem,
        )  # fmt: skip

    @property
    def waits_for(self) -> str:
        """What it waits for, in a sentence; "" for nothing."""
        match self._machine.state:
            case State.AWAY if self._wrong_image:
                return self._wrong_image
            case State.AWAY:
                return (
                    f"the driver {self._config.driver}, or {self._config.image}, does not answer: does the "
                    "IOC run, and are the names and name_servers right?"
                )
            case State.FOREIGN:
                return (
                    "an acquisition runs whose begin was not seen, or that has failed: the next one is taken"
                )
            case _:
                return self._sender.crowd


def _identity(array: Any) -> tuple[int, float]:
    """Return what tells an array from all others: numbers begin again wherever somebody sets the counter."""
    stamp = array.timeStamp
    return int(array.uniqueId), int(stamp.secondsPastEpoch) + int(stamp.nanoseconds) / 1e9
