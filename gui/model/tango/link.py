"""A Tango device, followed by its change events: reached, lost, and reached again, without end.

Nothing is polled. Tango itself notices only after ten to twenty seconds that a server has died, so an
empty call (`ping`: no attribute is read, and no lock of the device is taken) goes out every two.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Any

import msgspec
import tango

from penstock.gui.model.attributes.attribute import Attribute, Value
from penstock.gui.model.tango import errors
from penstock.gui.model.tango.answers import ParameterNote, read_parameters
from penstock.gui.model.tango.device import DeviceRefused, Greeting, Listener
from penstock.gui.model.tango.values import attribute, plain

CALL_MS = 3500
"""Longest that a call of the device may take: an Arm needs up to 2.5 s."""
ALIVE_EVERY = 2.0
"""Seconds between two signs of life."""
FIRST_RETRY, LAST_RETRY = 0.25, 2.0
"""Seconds; the latter is the longest time until a device that is back is noticed."""
STOP_SECONDS = 2.0
"""Longest that `stop` waits for a call under way."""
WORDS = frozenset({"State", "Status"})
ESCAPED = frozenset({"Status", "FileWritten", "RawFile", "LastError"})
"""Texts for people, in which a device escapes letters that Tango has not; nobody writes them back."""

CONTROL = "ControlUrl"
"""Property of a detector whose programs run on Kubernetes."""

_log = logging.getLogger(__name__)


class NoDetector(Exception):
    """The device exists, but is not a Penstock detector."""


class TangoDevice:
    """See the module, and `device.Device` for the methods.

    Args:
        name: three parts, or tango://HOST:PORT/ and three parts.
        only: attributes to follow; all scalar ones where not given.
        needs: attribute without which it is no device of the kind that is wanted.
        address: its property that has the address of its receiver, or of its pipeline.
    """

    def __init__(
        self, name: str, only: frozenset[str] | None = None, needs: str = "nFramesPlanned",
        address: str = "ReceiverUrl",
    ) -> None:  # fmt: skip
        self._name = name
        self._only = only
        self._needs = needs
        self._address = address
        self._proxy: tango.DeviceProxy | None = None
        self._listener: Listener | None = None
        self._names: dict[str, str] = {}
        """Attributes as we spell them, by their name in lower case."""
        self._parameter_notes: dict[str, ParameterNote] = {}
        self._subscriptions: list[int] = []
        self._lock = threading.Lock()
        """Held while an event is handed over, so that events stay in order."""
        self._first: dict[str, Value | None] | None = None
        """What is gathered until everything has said its value; then the device is reached."""
        self._why = ""
        """Why it is away, as last reported; "" while it answers."""
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"penstock-follow {name}", daemon=True)

    def start(self, listener: Listener) -> None:
        """Begin to follow."""
        self._listener = listener
        self._thread.start()

    def stop(self) -> None:
        """Release the device; a call without an answer ends after the return."""
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(STOP_SECONDS)

    def write(self, name: str, value: Value) -> Value | None:
        """Write an attribute and read it back in the same call.

        Raises:
            DeviceRefused: and why.
        """
        with tango.EnsureOmniThread():
            try:
                return plain(self._there().write_read_attribute(name, value))
            except tango.DevFailed as error:
                raise DeviceRefused(errors.refusal(self._name, error)) from error
            except UnicodeError as error:
                raise DeviceRefused(errors.no_text(name, str(value))) from error
            except (TypeError, ValueError, OverflowError) as error:  # before anything is sent
                raise DeviceRefused(f"{name} cannot be {value!s:.200}: {error}") from error

    def command(self, name: str) -> str:
        """Call a command that takes nothing; what it answers, "" for nothing.

        Raises:
            DeviceRefused: and why.
        """
        with tango.EnsureOmniThread():
            try:
                answer = self._there().command_inout(name)
            except tango.DevFailed as error:
                raise DeviceRefused(errors.refusal(self._name, error)) from error
        return "" if answer is None else str(answer)

    def _there(self) -> tango.DeviceProxy:
        proxy = self._proxy
        if proxy is None:
            raise DeviceRefused(f"{self._name} does not answer")
        return proxy

    # -- the thread ----------------------------------------------------------------------------

    def _run(self) -> None:
        with tango.EnsureOmniThread():
            retry = FIRST_RETRY
            while not self._stopping.is_set():
                try:
                    self._reach()
                    retry = FIRST_RETRY
                    self._follow()
                except tango.DevFailed as error:
                    self._tell_away(errors.away(self._name, error))
                except NoDetector as error:
                    self._tell_away(str(error))
                except Exception as error:
                    _log.exception("following %s", self._name)
                    self._tell_away(f"{self._name} cannot be followed ({error!r}); please report this")
                finally:
                    self._let_go()
                self._stopping.wait(retry)
                retry = min(LAST_RETRY, 2 * retry)

    def _reach(self) -> None:
        """Connect, describe and subscribe.

        Raises:
            tango.DevFailed: it is not there.
            NoDetector: it is something else, or what it says of its parameters cannot be read.
        """
        assert self._listener is not None
        proxy = tango.DeviceProxy(self._name)
        # Of a server that hangs set_timeout_millis would wait for an answer, and no other thread, the
        # window's neither, could run meanwhile: PyTango keeps the interpreter's lock there.
        proxy.ping()
        proxy.set_timeout_millis(CALL_MS)
        # Without this, the next call would reach a restarted server whose events are not subscribed.
        proxy.set_transparency_reconnection(False)
        found = proxy.attribute_list_query_ex()
        scalars = [info for info in found if info.data_format is tango.AttrDataFormat.SCALAR]
        names = {info.name for info in scalars}
        if self._needs not in names:
            raise NoDetector(
                f"{errors.short(self._name)} is a device of the class {proxy.info().dev_class} and "
                f"cannot be shown here: it has no attribute {self._needs}"
            )
        if "Parameters" in names and self._only is None:
            self._parameter_notes = self._read_notes(proxy)
        properties = proxy.get_property([self._address, CONTROL])
        url, control = (" ".join(properties[name]).strip() for name in (self._address, CONTROL))
        wanted = [info for info in scalars if self._only is None or info.name in self._only | WORDS]
        self._names = {info.name.lower(): info.name for info in wanted}
        self._proxy = proxy
        with self._lock:
            self._first = {}
        for info in wanted:
            self._subscribe(proxy, info.name, tango.EventType.CHANGE_EVENT)
            if self._only is None and info.writable is not tango.AttrWriteType.READ:
                self._subscribe(proxy, info.name, tango.EventType.ATTR_CONF_EVENT)
        self._why = ""
        with self._lock:
            first, self._first = self._first or {}, None
            # Under the lock: a later event is newer, and has to be handed over after this.
            self._listener.reached(
                Greeting(
                    attributes=self._in_order(wanted), receiver_url=url, control_url=control, values=first
                )
            )  # fmt: skip

    def _read_notes(self, proxy: tango.DeviceProxy) -> dict[str, ParameterNote]:
        try:
            return {note.name: note for note in read_parameters(proxy.read_attribute("Parameters").value)}
        except msgspec.MsgspecError as error:
            raise NoDetector(
                f"{errors.short(self._name)} cannot be shown: its attribute Parameters cannot be read "
                f"({error}); are its server and this panel of one version?"
            ) from error

    def _in_order(self, infos: Sequence[Any]) -> list[Attribute]:
        """As `Parameters` has them, and then the others as Tango has them."""
        known = [
            attribute(info, self._parameter_notes.get(info.name)) for info in infos if info.name not in WORDS
        ]
        place = {name: number for number, name in enumerate(self._parameter_notes)}
        return sorted(known, key=lambda each: place.get(each.name, len(place)))

    def _subscribe(self, proxy: tango.DeviceProxy, name: str, kind: tango.EventType) -> None:
        self._subscriptions.append(proxy.subscribe_event(name, kind, self._on_event))

    def _follow(self) -> None:
        """Wait until the device is lost or released."""
        proxy = self._there()
        while not self._stopping.is_set():
            self._wake.wait(ALIVE_EVERY)
            self._wake.clear()
            proxy.ping()

    def _let_go(self) -> None:
        proxy, self._proxy = self._proxy, None
        for subscription in self._subscriptions:
            try:
                proxy.unsubscribe_event(subscription)  # type: ignore[union-attr]
            except tango.DevFailed as error:
                _log.info("%s: %s", self._name, error.args[0].desc)
        self._subscriptions.clear()

    # -- events, in Tango's thread ---------------------------------------------------------------

    def _on_event(self, event: Any) -> None:
        listener = self._listener
        if self._stopping.is_set() or listener is None:
            return
        if event.err:
            self._wake.set()  # is it still there?
            return
        with self._lock:
            if isinstance(event, tango.AttrConfEventData):
                info = event.attr_conf
                if self._first is None:  # otherwise it is the value just requested
                    listener.configured(attribute(info, self._parameter_notes.get(info.name)))
            elif event.attr_value is not None:
                name = self._names.get(event.attr_value.name.lower())
                value = plain(event.attr_value)
                if name in ESCAPED and isinstance(value, str):
                    value = errors.unescaped(value)
                if name is not None and self._first is not None:
                    self._first[name] = value
                elif name is not None:
                    listener.said({name: value})

    def _tell_away(self, why: str) -> None:
        if self._listener is not None and not self._stopping.is_set() and why != self._why:
            self._why = why
            self._listener.away(why)
