"""Records Tango attributes: by change events, or by reading those that have none."""

from __future__ import annotations

import logging
import time
from threading import Thread

import numpy as np
import tango

from penstock.processing.channels.channel_writer import ChannelWriter, Unsuitable, now
from penstock.processing.channels.recording import NO_NUMBER

log = logging.getLogger("penstock.processing.channels.recorder")

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


class TangoListener(Thread):
    """Records one attribute, and says whether it answers.

    Args:
        channel: takes its values.
    """

    def __init__(self, channel: ChannelWriter) -> None:
        super().__init__(name=channel.config.name, daemon=True)
        self._channel = channel
        self._config = channel.config
        self._since = ""
        """Time since which it does not answer, as text; "" if it does."""
        name, mark, rest = self._config.attribute.partition("#")  # "#dbase=no": without a database
        device, _, self._attribute = name.rpartition("/")
        self._name = f"{device}{mark}{rest}"
        self._device: tango.DeviceProxy | None = None

    def run(self) -> None:
        """Listen, again and again."""
        while True:
            try:
                self._listen()
            except Unsuitable as error:
                self._channel.say(str(error))
            except tango.DevFailed as error:
                self._channel.end(self._channel.alive)
                self._since = self._since or now()
                self._channel.say(
                    f"{self._config.attribute} does not answer since {self._since}: {_reason(error)}"
                )
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
            self._channel.how = "events"
            self._answers()
            while True:
                device.ping()
                self._channel.alive = time.time()
                time.sleep(PING_SECONDS)
        finally:
            device.unsubscribe_event(subscription)

    def _read(self, device: tango.DeviceProxy) -> None:
        """Read it in turns: it has no change events."""
        self._channel.how = f"read every {self._config.poll:g} s, since it has no change events"
        log.info("channel %s: %s is %s", self._config.name, self._config.attribute, self._channel.how)
        due = time.monotonic()
        while True:
            self._take(device.read_attribute(self._attribute))
            self._answers()
            due = max(due + self._config.poll, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))

    def _take_event(self, event: tango.EventData) -> None:
        """Take an event, in a thread of Tango's."""
        try:
            if not event.err:
                self._take(event.attr_value)
                self._answers()
            elif event.errors[0].reason == "API_MissedEvents":
                log.warning(
                    "channel %s: Tango has lost events of %s", self._config.name, self._config.attribute
                )
            elif not self._since:
                self._channel.end(time.time())
                self._channel.say(f"{self._config.attribute} says: {_first_line(event.errors[0].desc)}")
        except Exception:  # which Tango would print and forget
            log.exception("channel %s", self._config.name)

    def _take(self, found: tango.DeviceAttribute) -> None:
        """Record a value; an invalid one ends what it was before."""
        moment, number = found.time.totime(), NO_NUMBER
        if found.value is None or found.quality == tango.AttrQuality.ATTR_INVALID:
            self._channel.end(moment or time.time())
            return
        if self._config.by == "frame" and np.ndim(found.value):
            pair = np.asarray(found.value).ravel()
            if len(pair) < 2:
                return
            number, value = int(pair[0]), float(pair[1])
        else:
            value = float(found.value)
        self._channel.take(moment, value, number)

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
        self._channel.unit = "" if config.unit == "No unit" else config.unit  # of older devices

    def _answers(self) -> None:
        """Say that it answers."""
        self._since = ""
        self._channel.say("")


def _reason(error: tango.DevFailed) -> str:
    return _first_line(error.args[0].desc)


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0][:200] if text.strip() else "it does not say why"
