"""The process that records Tango attributes: each value with the time that its device gives it.

It is not the distributor, whose loop would share its lock with Tango's threads. Started by the pipeline's
HTTP process, with which it ends, since standard input is its lifeline:
python -m penstock.processing.channels.recorder SETTINGS
"""

from __future__ import annotations

import logging
import os
import sys
import time
from threading import Lock, Thread
from typing import Any

import msgspec
import numpy as np
import tango

from penstock.processing.channels.recording import NO_NUMBER, News, Places, Writer
from penstock.processing.config.pipeline_config import ChannelConfig

log = logging.getLogger("penstock.processing.channels.recorder")  # run with -m, so that __name__ is __main__

RETRY_SECONDS = 2.0
"""Pause before an attribute is asked for again that does not answer."""
PING_SECONDS = 1.0
"""Seconds between two questions to a device whether it lives: events alone tell of its death after 10 s."""
TIMEOUT = 3000
"""Milliseconds in which a device has to answer."""
NUMBERS = (
    tango.DevBoolean, tango.DevShort, tango.DevLong, tango.DevLong64, tango.DevFloat, tango.DevDouble,
    tango.DevUShort, tango.DevULong, tango.DevULong64, tango.DevUChar, tango.DevEnum, tango.DevState,
)  # fmt: skip
NO_EVENTS = ("API_AttributePollingNotStarted", "API_EventPropertiesNotSet", "API_NotSupportedFeature")
"""Reasons for which a device has no change events of an attribute that can be read."""


class Settings(msgspec.Struct, frozen=True):
    """What this process is told."""

    places: Places
    channels: tuple[ChannelConfig, ...]
    ended: float | None = None
    """Since when values that hold are over, because an earlier process that recorded them has died."""


class Unsuitable(Exception):
    """An attribute is no number, or nobody knows its database; the sentence says what to do."""


class Listener(Thread):
    """Records one attribute, and says whether it answers.

    Args:
        place: of the channel in the pipeline's file.
        config: of the channel.
        writer: of the recording.
        ended: see `Settings`.
    """

    def __init__(self, place: int, config: ChannelConfig, writer: Writer, ended: float | None = None) -> None:
        super().__init__(name=config.name, daemon=True)
        self._place = place
        self._config = config
        self._writer = writer
        self._how = ""
        self._said = News(place, problem="has not answered yet")
        self._lock = Lock()
        self._since = ""
        """Since when it does not answer."""
        self._last: tuple[Any, ...] = ()
        self._holds = config.by == "time" and config.how == "hold"
        self._alive = -np.inf
        """When it was last known to answer."""
        self._ended = np.inf if ended is None else ended
        """Since when it has no value; inf as long as it has one."""
        name, mark, rest = config.attribute.partition("#")  # "#dbase=no": without a database
        device, _, self._attribute = name.rpartition("/")
        self._name = f"{device}{mark}{rest}"
        self._device: tango.DeviceProxy | None = None

    def run(self) -> None:
        """Listen, again and again."""
        while True:
            try:
                self._listen()
            except Unsuitable as error:
                self._say(str(error))
            except tango.DevFailed as error:
                self._end(self._alive)
                self._since = self._since or _now()
                self._say(f"{self._config.attribute} does not answer since {self._since}: {_reason(error)}")
            time.sleep(RETRY_SECONDS)

    def _listen(self) -> None:
        """Take events, or read, as long as the device answers.

        Raises:
            DevFailed: it does not (any more).
            Unsuitable: it is no number, or there is no database to ask for it.
        """
        if self._device is None:
            if not (self._name.startswith("tango://") or tango.ApiUtil.get_env_var("TANGO_HOST")):
                raise Unsuitable(
                    f"TANGO_HOST is not set, so there is no database to ask for {self._config.attribute}: "
                    "export TANGO_HOST=HOST:PORT and start the pipeline again, or write tango://HOST:PORT/ "
                    "before it"
                )
            # Kept for good: to destroy a proxy waits for a lock of Tango's with Python's lock in hand, and an
            # event of another channel may wait for the two the other way round.
            self._device = tango.DeviceProxy(self._name)
            self._device.set_timeout_millis(TIMEOUT)
        device = self._device
        self._check(device)
        try:
            subscription = device.subscribe_event(
                self._attribute, tango.EventType.CHANGE_EVENT, self._take_event
            )
        except tango.DevFailed as error:
            if error.args[0].reason not in NO_EVENTS:
                raise
            self._read(device)
            return
        try:
            self._how = "events"
            self._say("")
            while True:
                device.ping()
                self._alive = time.time()
                time.sleep(PING_SECONDS)
        finally:
            device.unsubscribe_event(subscription)

    def _read(self, device: tango.DeviceProxy) -> None:
        """Read it in turns: it has no change events."""
        self._how = f"read every {self._config.poll:g} s, since it has no change events"
        log.info("channel %s: %s is %s", self._config.name, self._config.attribute, self._how)
        due = time.monotonic()
        while True:
            self._take(device.read_attribute(self._attribute))
            self._say("")
            due = max(due + self._config.poll, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))

    def _take_event(self, event: tango.EventData) -> None:
        """Take an event, in a thread of Tango's."""
        try:
            if not event.err:
                self._take(event.attr_value)
                self._say("")
            elif event.errors[0].reason == "API_MissedEvents":
                log.warning(
                    "channel %s: Tango has lost events of %s", self._config.name, self._config.attribute
                )
            elif not self._since:
                self._end(time.time())
                self._say(f"{self._config.attribute} says: {_first_line(event.errors[0].desc)}")
        except Exception:  # which Tango would print and forget
            log.exception("channel %s", self._config.name)

    def _take(self, found: tango.DeviceAttribute) -> None:
        """Record a value, unless it is the last one once more; an invalid one ends what it was before."""
        moment, number = found.time.totime(), NO_NUMBER
        if found.value is None or found.quality == tango.AttrQuality.ATTR_INVALID:
            self._end(moment or time.time())
            return
        if self._config.by == "frame" and np.ndim(found.value):
            pair = np.asarray(found.value).ravel()
            if len(pair) < 2:
                return
            number, value = int(pair[0]), float(pair[1])
        else:
            value = float(found.value)
        self._alive = time.time()
        if self._ended < np.inf:  # back, if with a value that was taken before it was away
            moment, self._last = moment if moment > self._ended else self._alive, ()
            self._ended = np.inf
        if (moment, value, number) != self._last:  # a subscription begins with the value that is known
            self._last = moment, value, number
            self._writer.value(self._place, moment, value, number)

    def _end(self, moment: float) -> None:
        """Let no value hold from a time on."""
        if self._holds and self._ended == np.inf:
            self._ended = max(moment, self._last[0] if self._last else moment)
            if self._last:
                self._writer.ends(self._place, self._ended)

    def _check(self, device: tango.DeviceProxy) -> None:
        """Refuse what is no number.

        Raises:
            Unsuitable: it is none.
            DevFailed: it does not answer.
        """
        config, by_frame = device.get_attribute_config(self._attribute), self._config.by == "frame"
        is_scalar = config.data_format == tango.AttrDataFormat.SCALAR
        is_pair = by_frame and config.data_format == tango.AttrDataFormat.SPECTRUM
        if config.data_type not in NUMBERS or not (is_scalar or is_pair):
            kind = f"{config.data_format} of {tango.CmdArgType(config.data_type)}".lower()
            also = ", or an array of frame number and value" if by_frame else ""
            raise Unsuitable(f"{self._config.attribute} is {kind}; a channel is one number{also}")

    def _say(self, problem: str) -> None:
        """Say what has changed."""
        news = News(self._place, self._how, problem)
        with self._lock:
            self._since = self._since if problem else ""
            if news != self._said:
                if problem:
                    log.warning("channel %s: %s", self._config.name, problem)
                self._said = news
                self._writer.say(news)


def _reason(error: tango.DevFailed) -> str:
    return _first_line(error.args[0].desc)


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0][:200] if text.strip() else "it does not say why"


def _now() -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S")


def main() -> None:
    """Record until the parent is gone."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    settings = msgspec.json.decode(sys.argv[1], type=Settings)
    writer = Writer(settings.places)
    for place, config in enumerate(settings.channels):
        Listener(place, config, writer, settings.ended).start()
    sys.stdin.buffer.read()
    os._exit(0)  # Tango's threads, which may wait for devices, end with it


if __name__ == "__main__":
    main()
