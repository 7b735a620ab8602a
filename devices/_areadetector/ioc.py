"""The records of an IOC, over pvAccess: values got and put, and those that are watched.

p4p has threads of its own, which call back; nothing here waits in them. It is imported when a detector is
opened, since a control unit without EPICS shall say so in a sentence.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from penstock.streamer.camera.loading import load_sdk
from penstock.streamer.camera.settings import Limits, Value
from penstock.streamer.camera.unit import CameraError

log = logging.getLogger(__name__)

SECONDS = 0.6
"""Within which a record answers, or the IOC is taken to be away: Arm gives a camera a second to say so."""
FIRST_SECONDS = 3.0
"""The same when the connection is new, and servers have to be found."""
PUT_SECONDS = 3.0
"""Within which a driver takes a value."""
SETTLE = 0.3
"""Seconds within which a driver shows what it has made of a value."""
POLL = 0.02
INVALID = 3
"""Severity of an alarm: the value of the record means nothing."""
SEVERITIES = ("", "MINOR", "MAJOR", "INVALID")


class Reading(NamedTuple):
    """A record as the IOC has it."""

    value: Value
    text: str
    """The choice of an enumeration, else the value as text."""
    choices: tuple[str, ...] = ()
    unit: str = ""
    limits: Limits = Limits()
    severity: int = 0
    message: str = ""
    """Message of its alarm."""
    doc: str = ""


class Ioc:
    """The connection to one IOC.

    Args:
        servers: HOST:PORT of its name server, or several; empty to search as EPICS_PVA_ADDR_LIST says.
    """

    def __init__(self, servers: Sequence[str]) -> None:
        self._client = load_sdk("p4p.client.thread", "install Penstock with its extra epics, or p4p")
        self._raw = load_sdk("p4p.client.raw", "install Penstock with its extra epics, or p4p")
        conf = {"EPICS_PVA_NAME_SERVERS": " ".join(servers)} if servers else {}
        if servers:
            conf |= {"EPICS_PVA_AUTO_ADDR_LIST": "NO", "EPICS_PVA_ADDR_LIST": ""}
        # Without useenv, p4p ignores the variables EPICS_PVA_… and broadcasts.
        self._context = self._client.Context("pva", conf=conf or None, useenv=not servers, nt=False)

    def get(self, names: Sequence[str], *, seconds: float | None = None) -> list[Reading | None]:
        """Return the records as they are now; `None` for one that does not answer.

        One that is refused is asked again: a server whose connection is full of arrays that wait refuses what
        is asked meanwhile, for no reason ("… Create implied error" of PVXS 1.5).
        """
        seconds = SECONDS if seconds is None else seconds
        end, found = time.monotonic() + seconds, dict[str, Any]()
        while missing := [name for name in names if name not in found]:
            for name, each in zip(
                missing, self._context.get(missing, timeout=seconds, throw=False), strict=True
            ):
                if not isinstance(each, self._client.RemoteError):
                    found[name] = None if isinstance(each, Exception) else reading(each)
            if time.monotonic() > end:
                break
        return [found.get(name) for name in names]

    def require(self, names: Sequence[str], *, seconds: float | None = None) -> list[Reading]:
        """Return the records as they are now.

        Raises:
            CameraError: one does not answer.
        """
        found = self.get(names, seconds=seconds)
        if silent := [name for name, each in zip(names, found, strict=True) if each is None]:
            raise CameraError(
                f"no answer from {', '.join(silent[:3])}; does the IOC run, with ADCore 3.3.1 or later, "
                "which serves records over pvAccess, and do the properties have its names and NameServers?"
            )
        return [each for each in found if each is not None]

    def put(self, name: str, value: Value) -> None:
        """Set a record, and wait until the IOC has processed it.

        Raises:
            CameraError: it does not answer, or refuses the value.
        """
        self._put(name, value, value)

    def put_choice(self, name: str, number: int, *, wait: bool = True) -> None:
        """Set an enumeration, such as a switch, to one of its choices, by its number; see `put`.

        Args:
            name: of the record.
            number: of the choice.
            wait: until the IOC has processed it; a busy record, such as Acquire, has only once it is done.
        """
        self._put(name, {"value.index": number}, number, wait=wait)

    def _put(self, name: str, given: Any, value: Value, *, wait: bool = True) -> None:
        try:
            self._context.put(name, given, timeout=PUT_SECONDS, wait=wait, get=False)
        except TimeoutError as error:
            raise CameraError(f"no answer from {name} within {PUT_SECONDS:g} s; does the IOC run?") from error
        except (self._client.RemoteError, self._client.Disconnected, ValueError) as error:
            raise CameraError(f"{name} does not take {value}: {error}") from error

    def send(self, name: str, number: int, refused: Callable[[str], None]) -> Any:
        """Set a number or a switch without waiting: `refused` is called with a sentence, from another thread,
        if the IOC does not take it. Keep what is returned."""

        def build(value: Any) -> None:
            value["value.index" if hasattr(value.value, "choices") else "value"] = number

        def handler(answer: Any) -> None:
            if isinstance(answer, Exception):
                refused(f"{name} does not take {number}: {answer}")

        return self._raw.Context.put(self._context, name, handler, builder=build, get=False)

    def choose(self, name: str, choice: str) -> None:
        """Set an enumeration to one of its choices, by its text.

        Raises:
            CameraError: it has no such choice, or does not answer.
        """
        (found,) = self.require([name])
        if choice not in found.choices:
            raise CameraError(
                f"{name} has no choice {choice}; it has {', '.join(found.choices) or 'none'}: correct the "
                "property that names it"
            )
        self.put_choice(name, found.choices.index(choice))

    def settled(self, wanted: Mapping[str, Value]) -> list[Reading]:
        """Return what the driver has made of values, when it is these, or has had its time: it shows that a
        moment after a value was put.

        Args:
            wanted: the values, by the records that read them back.
        """
        end = time.monotonic() + SETTLE
        while True:
            found = self.require(list(wanted))
            if [each.value for each in found] == list(wanted.values()) or time.monotonic() > end:
                return found
            time.sleep(POLL)

    def codec(self, image: str) -> str:
        """Return the codec of the last array of a PVA plugin; "" for plain ones, and before the first.

        Raises:
            CameraError: it does not answer.
        """
        (found,) = self._context.get([image], timeout=SECONDS, throw=False)
        if isinstance(found, Exception):
            raise CameraError(
                f"no answer from {image}; is the PVA plugin loaded, and is the property ImageRecord its "
                "PvName_RBV?"
            )
        if "codec" not in found:
            raise CameraError(f"{image} is no NTNDArray; set the property ImageRecord to PvName_RBV")
        return str(found.codec.name)

    def ask(self, name: str, answered: Callable[[], None]) -> Any:
        """Get a record without waiting: `answered` is called from another thread. Keep what is returned."""

        def handler(value: Any) -> None:
            if isinstance(value, self._client.RemoteError) or not isinstance(value, Exception):
                answered()

        return self._raw.Context.get(self._context, name, handler)

    def subscribe(self, name: str, come: Callable[[], None], queue: int) -> Subscription:
        """Subscribe to a record.

        Args:
            name: its name.
            come: called from another thread when there is something to take.
            queue: updates that wait on either side.
        """
        request = f"record[queueSize={queue}]"
        return Subscription(
            self._raw.Context.monitor(self._context, name, lambda: come(), request=request),
            self._client.Disconnected,
        )

    def watch(self, names: Sequence[str], changed: Callable[[], None]) -> Watch:
        """Follow some records; see `Watch`."""

        def monitor(name: str, come: Callable[[], None]) -> Any:
            return self._raw.Context.monitor(self._context, name, lambda: come())

        return Watch(monitor, names, changed)

    def close(self) -> None:
        """Close all subscriptions."""
        self._context.close()


class Subscription:
    """Updates of one record.

    Args:
        monitor: p4p's subscription.
        lost: what it returns where the connection is lost.
    """

    def __init__(self, monitor: Any, lost: type[Exception]) -> None:
        self._monitor, self._lost = monitor, lost
        self.is_lost = False
        """True if the connection is lost."""

    def take(self) -> Any:
        """Return the next update; `None` if there is none at present."""
        while (found := self._monitor.pop()) is not None:
            if not isinstance(found, Exception):
                self.is_lost = False
                return found
            self.is_lost = True
        return None

    def close(self) -> None:
        """End the subscription."""
        self._monitor.close()


class Watch:
    """Records that are followed.

    Of p4p's raw monitors, since the others tell from several threads that they were not connected at first:
    behind the first value, if that comes quickly.

    Args:
        monitor: subscribes to a record by its name; `come` is called when there is something to take.
        names: their names.
        changed: called from another thread when one has changed, or the IOC is lost.
    """

    def __init__(
        self, monitor: Callable[[str, Callable[[], None]], Any], names: Sequence[str],
        changed: Callable[[], None],
    ) -> None:  # fmt: skip
        self._lock = Lock()
        self._found: dict[str, Reading | None] = dict.fromkeys(names)
        self._changed = changed
        self._monitors: dict[str, Any] = {}
        for name in names:
            self._monitors[name] = monitor(name, partial(self._update, name))
            self._update(name)  # what came before the line above has ended

    @property
    def now(self) -> Mapping[str, Reading | None]:
        """The last value of each record; `None` before the first, and while the IOC is away."""
        with self._lock:
            return dict(self._found)

    def close(self) -> None:
        """End the subscriptions."""
        for each in self._monitors.values():
            each.close()

    def _update(self, name: str) -> None:
        try:  # an error here would end the subscription
            with self._lock:
                if (monitor := self._monitors.get(name)) is None:
                    return
                while (value := monitor.pop()) is not None:
                    self._found[name] = None if isinstance(value, Exception) else reading(value)
            self._changed()
        except Exception:
            log.exception("an update of %s cannot be read", name)


def _scalar(value: Any) -> Any:
    """Return a value as Python has it: text for characters, which records longer than 40 have as numbers; of
    other arrays how many values they have."""
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind in "iu" and value.itemsize == 1:
        return bytes(value.view(np.uint8)).split(b"\0")[0].decode("utf-8", "replace")
    return f"{value.size} values"


def reading(found: Any) -> Reading:
    """Return a structure of normative types, NTScalar or NTEnum, as a reading."""
    value: Any = found.value
    choices: tuple[str, ...] = ()
    if hasattr(value, "choices"):
        choices = tuple(map(str, value.choices))
        index = int(value.index)
        value, text = index, choices[index] if 0 <= index < len(choices) else str(index)
    else:
        value = _scalar(value)
        text = str(value)
    display, control = found.get("display"), found.get("control")
    low, high = (0.0, 0.0) if control is None else (float(control.limitLow), float(control.limitHigh))
    alarm = found.get("alarm")
    return Reading(
        value, text, choices,
        unit="" if display is None else str(display.get("units") or ""),
        limits=Limits(low, high) if low < high else Limits(),
        severity=0 if alarm is None else int(alarm.severity),
        message="" if alarm is None else str(alarm.message),
        doc="" if display is None else str(display.get("description") or ""),
    )  # fmt: skip
