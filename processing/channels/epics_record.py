"""What updates of an EPICS record mean for a channel, whichever protocol brings them. No EPICS in here."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from penstock.processing.channels.channel_writer import ChannelWriter, Unsuitable, now

NEVER = 631_152_000.0
"""Time of a record that was never processed: the beginning of 1990, or 0, in s since 1970."""
INVALID = 3
"""Severity of an alarm: the value of the record means nothing."""
ABSENT_SECONDS = 2.0
"""Seconds after which a record is named that no server has answered for."""


class EpicsRecord:
    """A record that is followed.

    Its state is said by `report`, not at every update: an alarm may come and go with each.

    Args:
        channel: takes its values.
    """

    def __init__(self, channel: ChannelWriter) -> None:
        self.name = channel.config.attribute.partition("://")[2]
        self._channel = channel
        self._protocol = channel.config.attribute[: channel.config.attribute.index(":")].upper()
        self._begun = time.monotonic()
        self._since = now()
        """Time since which there is no connection, as text."""
        self._was_connected = False
        self._is_connected = False
        self._problem = ""

    @property
    def attribute(self) -> str:
        """Its name with the protocol before it."""
        return self._channel.config.attribute

    def update(self, value: Any, moment: float, severity: int, alarm: str) -> None:
        """Record an update.

        Args:
            value: a number, or an array of frame number and value.
            moment: time of the record, in s since 1970.
            severity: of its alarm.
            alarm: its name, such as UDF; "" if unknown.

        Raises:
            Unsuitable: it is another array.
        """
        self._is_connected = self._was_connected = True
        if np.ndim(value) and self._channel.config.by != "frame":
            raise self.unsuitable(f"an array of {len(value)} values")
        if severity >= INVALID or moment <= NEVER:
            self._problem = (
                f"{self.attribute} has no value: its time stamp is 0, so it was never processed"
                if moment <= NEVER
                else f"{self.attribute} has no value: its alarm is INVALID{f' ({alarm})' if alarm else ''}"
            )
            self._channel.end(moment if moment > NEVER else time.time())
            return
        self._problem = ""
        if not np.ndim(value):
            self._channel.take(moment, float(value))
        elif len(value) >= 2:
            self._channel.take(moment, float(value[1]), int(value[0]))

    def has_unit(self, unit: str) -> None:
        """Take the unit of its values."""
        self._channel.unit = unit

    def lost(self) -> None:
        """Let its value end: the connection is lost."""
        if self._is_connected:
            self._channel.end(time.time())
            self._is_connected, self._since, self._problem = False, now(), ""

    def refuse(self, problem: str) -> None:
        """Take why it cannot be recorded."""
        self._channel.end(time.time())
        self._problem = problem

    def unsuitable(self, kind: str) -> Unsuitable:
        """Return the refusal of what is no number.

        Args:
            kind: what it is, with its article.
        """
        also = ", or an array of frame number and value" if self._channel.config.by == "frame" else ""
        return Unsuitable(f"{self.attribute} is {kind}; a channel is one number{also}")

    def report(self) -> None:
        """Say how it is read, or why it has no values now."""
        if self._problem:
            self._channel.say(self._problem)
        elif self._is_connected:
            self._channel.how = "monitor"
            self._channel.say("")
        elif self._was_connected:
            self._channel.say(
                f"{self.attribute} does not answer since {self._since}: the connection is lost; does its IOC "
                "run?"
            )
        elif time.monotonic() - self._begun > ABSENT_SECONDS:
            variable = f"EPICS_{self._protocol}_ADDR_LIST"
            self._channel.say(
                f"{self.attribute} does not answer since {self._since}: no IOC says that it has this record; "
                f"correct the name, start the IOC, or give its host in {variable} and restart the pipeline"
            )
