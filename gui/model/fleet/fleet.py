"""Every detector, receiver and pipeline of the Tango database, followed by their change events, and bridges.

The database is looked at again from time to time; no attribute of a device is ever polled. Bridges have no
device: their receivers know them, and are asked over HTTP.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import tango

from penstock.gui.model.attributes.attribute import Attribute, Value
from penstock.gui.model.fleet.bridges import Bridges, ReadBehind
from penstock.gui.model.fleet.pages import read_behind
from penstock.gui.model.fleet.row import Row, asked, away, faults_first, row
from penstock.gui.model.tango.device import Device, Greeting
from penstock.gui.model.tango.directory import DirectoryEntry, DirectoryError, find_devices, open_database
from penstock.gui.model.tango.link import TangoDevice

_log = logging.getLogger(__name__)

LOOK_EVERY = 30.0
"""Seconds between two looks into the database, for devices that have been registered or taken away."""
LOOK_AGAIN = 2.0
"""Seconds to the next look while the database does not answer."""
PATIENCE = 2.0
"""Seconds that `stop` waits for devices to be released."""
LETTING_GO = 16
"""Devices that are released at the same time."""


class Fleet:
    """See the module. One thread looks into the database, one more per device keeps the connection, and one
    per receiver asks for bridges.

    Args:
        find: what the database says; raises `DirectoryError`.
        follow: how a device is reached.
        now: s since 1970.
        behind: how bridges behind a receiver are found.
    """

    def __init__(
        self,
        find: Callable[[], Sequence[DirectoryEntry]] | None = None,
        follow: Callable[[DirectoryEntry], Device] | None = None,
        now: Callable[[], float] = time.time,
        behind: ReadBehind = read_behind,
    ) -> None:
        self._find = find or _Directory().find
        self._follow = follow or (lambda found: TangoDevice(found.name, **asked(found.kind)._asdict()))
        self._now = now
        self._lock = threading.Lock()
        self._followed: dict[str, _Followed] = {}
        """Devices that are followed, by their names in lower case."""
        self._bridges = Bridges(behind, self._notify, now)
        self._trouble = ""
        self._looked = False
        self._changed: list[Callable[[], None]] = []
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-fleet", daemon=True)

    def on_change(self, call: Callable[[], None]) -> None:
        """Have `call` called after each change, from any thread: it must only take note."""
        self._changed.append(call)

    def start(self) -> None:
        """Begin to look and to follow."""
        self._thread.start()

    def stop(self) -> None:
        """Release all devices; those that hang are released after the return."""
        self._stopping.set()
        self._wake.set()
        self._bridges.stop()
        if self._thread.is_alive():
            self._thread.join(PATIENCE)

    def look(self) -> None:
        """Look into the database, and for bridges, now."""
        self._wake.set()
        self._bridges.look()

    def rows(self) -> list[Row]:
        """Return all devices and bridges in their present state, faults first."""
        with self._lock:
            followed = list(self._followed.values())
        return faults_first([*(each.row() for each in followed), *self._bridges.rows()])

    @property
    def trouble(self) -> str:
        """Why the database cannot be asked, in a sentence; "" while it can."""
        return self._trouble

    @property
    def looked(self) -> bool:
        """True if the database has said, at least once, which devices there are."""
        return self._looked

    def _run(self) -> None:
        with tango.EnsureOmniThread():
            while not self._stopping.is_set():
                self._wake.clear()
                self._look()
                self._wake.wait(LOOK_AGAIN if self._trouble else LOOK_EVERY)
            self._let_go(list(self._followed.values()))

    def _look(self) -> None:
        try:
            found = {each.name.lower(): each for each in self._find()}
        except DirectoryError as error:
            self._trouble = str(error)
            self._notify()
            return
        except Exception as error:
            _log.exception("looking into the Tango database")
            self._trouble = f"the answer of the Tango database cannot be read ({error!r}); please report this"
            self._notify()
            return
        self._trouble, self._looked = "", True
        gone = [self._followed[name] for name in self._followed.keys() - found.keys()]
        new = {
            name: _Followed(each, self._follow(each), self._notify, self._now, self._follow_bridges)
            for name, each in found.items()
            if name not in self._followed
        }
        followed = {name: new.get(name) or self._followed[name] for name in found}
        for name, each in found.items():
            followed[name].entry = each
        with self._lock:
            self._followed = followed
        for follower in new.values():
            follower.start()
        self._let_go(gone)
        self._follow_bridges()
        self._notify()

    def _follow_bridges(self) -> None:
        with self._lock:
            followed = list(self._followed.values())
        self._bridges.follow([each.receiver_url for each in followed])

    def _let_go(self, followed: Sequence[_Followed]) -> None:
        with ThreadPoolExecutor(LETTING_GO, thread_name_prefix="penstock-fleet") as pool:
            for each in followed:
                pool.submit(each.stop)

    def _notify(self) -> None:
        for call in self._changed:
            call()


class _Followed:
    """One device; updated by its own threads (see `device.Listener`)."""

    def __init__(
        self, entry: DirectoryEntry, device: Device, notify: Callable[[], None], now: Callable[[], float],
        reached: Callable[[], None],
    ) -> None:  # fmt: skip
        self.entry = entry
        self._device = device
        self._notify = notify
        self._now = now
        self._reached = reached
        self._lock = threading.Lock()
        self._values: dict[str, Value | None] = {}
        self._url = ""
        self._why = ""
        self._since: float | None = None

    def start(self) -> None:
        self._device.start(self)

    def stop(self) -> None:
        self._device.stop()

    def row(self) -> Row:
        with self._lock:
            why, since = self._why, self._since
            last = row(self.entry, dict(self._values), self._url)
        return away(last, why, since) if why else last

    @property
    def receiver_url(self) -> str:
        """Address of its receiver; "" of a pipeline, or before it has answered."""
        return "" if self.entry.kind == "pipeline" else self._url

    def reached(self, greeting: Greeting) -> None:
        with self._lock:
            self._values = dict(greeting.values)
            self._url = greeting.receiver_url
            self._why, self._since = "", None
        self._reached()
        self._notify()

    def said(self, values: Mapping[str, Value | None]) -> None:
        with self._lock:
            self._values.update(values)
        self._notify()

    def configured(self, attribute: Attribute) -> None:
        pass  # units and limits are not shown here

    def away(self, why: str) -> None:
        with self._lock:
            if not self._why and self._values:
                self._since = self._now()
            self._why = why
        self._notify()


class _Directory:
    """The database of TANGO_HOST, opened when it is first asked, and again where that has failed."""

    def __init__(self) -> None:
        self._database: tango.Database | None = None

    def find(self) -> list[DirectoryEntry]:
        if self._database is None:
            self._database = open_database()
        return find_devices(self._database)
