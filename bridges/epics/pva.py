"""Records of Normative Types, served by p4p: the only file that imports it.

Every client has a `SharedPV` of its own, with values of its own. A value that clients share is one object in
the queues of all of them, and pvxs (1.5.3) writes a newer one into it for the client whose queue is full:
others, which are fast, would get the newer one twice and the older one never.

EPICS has threads, which do not survive a fork: no process is started by one that has imported this file.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from p4p import Type, Value
from p4p.nt import NTNDArray, NTScalar
from p4p.server import DynamicProvider, Server
from p4p.server.thread import SharedPV
from p4p.util import ThreadedWorkQueue

from penstock.bridges.epics.ndarray import RING, Array, Attribute

log = logging.getLogger(__name__)

NONE, MINOR, MAJOR, INVALID = range(4)
"""Severities of an alarm."""
_CODES = {
    "bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "l", "uint8": "B", "uint16": "H",
    "uint32": "I", "uint64": "L", "float32": "f", "float64": "d", "text": "s",
}  # fmt: skip
_ARRAY = NTNDArray.buildType()
_DEVICE = 1
"""EPICS' alarm status of what comes from a device."""


class About(NamedTuple):
    """What a record says of its value."""

    kind: str
    """NumPy's name of the type, or "text"."""
    unit: str = ""
    text: str = ""


class Record:
    """A value that every client gets.

    Args:
        form: its type.
        fields: its first value.
    """

    def __init__(self, form: Type, fields: Mapping[str, Any]) -> None:
        self._form = form
        self._fields = dict(fields)
        self._lock = threading.Lock()
        self._clients: dict[SharedPV, str] = {}
        self._thread: ThreadedWorkQueue | None = None  # that calls back, in place of one that all share

    @property
    def peers(self) -> list[str]:
        """HOST:PORT of each client."""
        with self._lock:
            return list(self._clients.values())

    def channel(self, peer: str) -> SharedPV:
        """Return what serves one client from now on."""
        with self._lock:
            pv = SharedPV(handler=self, queue=self._thread, initial=self._value(self._fields))
            self._clients[pv] = peer
        return pv

    def onLastDisconnect(self, pv: SharedPV) -> None:
        """A client has left; called by the library."""
        with self._lock:
            self._clients.pop(pv, None)

    def update(self, fields: Mapping[str, Any]) -> None:
        """Let every client have these fields, each a value of its own."""
        with self._lock:
            self._fields.update(fields)
            clients = list(self._clients)
        for pv in clients:
            if pv.isOpen():
                pv.post(self._value(fields))

    def close(self) -> None:
        """Part from all clients."""
        with self._lock:
            clients = list(self._clients)
            self._clients.clear()
        for pv in clients:
            pv.close(destroy=True)

    def _value(self, fields: Mapping[str, Any]) -> Value:
        value = Value(self._form)
        for name, each in fields.items():
            value[name] = each
        return value


class Scalar(Record):
    """A number, a text or a row of numbers, with alarm, time and index of its frame.

    Args:
        about: its value.
        row: whether it is a row of numbers.
    """

    def __init__(self, about: About, *, row: bool = False) -> None:
        form = NTScalar.buildType(("a" if row else "") + _CODES[about.kind], display=True)
        display = {"display.description": about.text, "display.units": about.unit}
        super().__init__(form, {**display, "alarm": _alarm(INVALID, "no value yet")})
        self._shown: tuple[Any, int, str] | None = None

    def post(
        self, value: Any, when: float | None = None, index: int = 0, severity: int = NONE, message: str = ""
    ) -> None:
        """Show a value: every one that is posted becomes an update."""
        self.update({"value": value, "alarm": _alarm(severity, message), "timeStamp": _stamp(when, index)})

    def show(self, value: Any, severity: int = NONE, message: str = "") -> None:
        """Show a value if it, or its alarm, is another than before."""
        if (shown := (value, severity, message)) != self._shown:
            self._shown = shown
            self.post(value, None, 0, severity, message)

    def invalidate(self, message: str) -> None:
        """Keep the value, which is INVALID from now on."""
        value = None if self._shown is None else self._shown[0]
        if (shown := (value, INVALID, message)) != self._shown:
            self._shown = shown
            self.update({"alarm": _alarm(INVALID, message), "timeStamp": _stamp(None, 0)})


class Image(Record):
    """Images, one after the other."""

    def __init__(self) -> None:
        super().__init__(_ARRAY, {})

    def post(self, array: Array) -> None:
        """Show an array."""
        dimension = [
            {"size": size, "offset": 0, "fullSize": size, "binning": 1, "reverse": False}
            for size in array.sizes
        ]
        self.update(
            {
                "value": (array.member, array.values), "codec.name": array.codec,
                "codec.parameters": array.scalar_type,  # int64: p4p has no other in a variant
                "compressedSize": array.values.nbytes, "uncompressedSize": array.nbytes,
                "uniqueId": array.unique_id, "dimension": dimension,
                "dataTimeStamp": _stamp(array.time, 0), "timeStamp": _stamp(array.time, array.index),
                "attribute": [_attribute(each) for each in array.attributes],
            }
        )  # fmt: skip


class Command(Scalar):
    """A text that clients put.

    Args:
        taken: carries out a command; it raises ValueError with a sentence for the client.
    """

    def __init__(self, taken: Callable[[str], None]) -> None:
        super().__init__(About("text", text="reset, stop, stop REASON, or parameters JSON"))
        self.show("")
        self._taken = taken
        self._thread = ThreadedWorkQueue(maxsize=0, daemon=True).start()  # a command may take minutes

    def put(self, _: SharedPV, operation: Any) -> None:
        """Carry out what a client has put; called by the library."""
        text = str(operation.value().value)
        log.info("command of %s at %s: %s", operation.account(), operation.peer(), text)
        try:
            self._taken(text)
        except ValueError as error:
            self.show(text, MINOR, str(error))
            operation.done(error=str(error))
            return
        self.show(text)
        operation.done()


class Records:
    """All records of a bridge.

    Args:
        prefix: what their names begin with; a colon follows it.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._records: dict[str, Record] = {}
        self._provider = DynamicProvider(f"penstock-{prefix}", self)
        self._server: Server | None = None

    def add(self, name: str, record: Record) -> str:
        """Serve a record, in place of one that had its name; return the whole name."""
        full = f"{self._prefix}:{name}"
        before = self._records.get(full)
        self._records[full] = record
        if before is not None:
            before.close()
        return full

    def testChannel(self, name: bytes | str) -> bool:
        """Return whether there is a record of this name; called by the library."""
        return (name.decode(errors="replace") if isinstance(name, bytes) else name) in self._records

    def makeChannel(self, name: str, peer: str) -> SharedPV:
        """Return what serves a client of a record; called by the library."""
        return self._records[name].channel(peer)

    def start(self) -> None:
        """Serve them, where the variables EPICS_PVAS_… say; on another port, if that is taken.

        Raises:
            RuntimeError: the addresses cannot be used.
        """
        self._server = Server(providers=[self._provider])

    @property
    def addresses(self) -> list[str]:
        """HOST:PORT of each address that clients may name."""
        if self._server is None:
            return []
        conf = self._server.conf()
        port = conf["EPICS_PVAS_SERVER_PORT"]
        hosts = conf["EPICS_PVAS_INTF_ADDR_LIST"].split() or ["0.0.0.0"]
        bare = (f"{each.partition(']')[0]}]" if each[0] == "[" else each.partition(":")[0] for each in hosts)
        return [f"{host}:{port}" for host in bare]

    def clients(self) -> dict[str, list[str]]:
        """Return the records that each client has, by its HOST:PORT."""
        found: dict[str, list[str]] = {}
        for name, record in sorted(self._records.items()):
            for peer in record.peers:
                found.setdefault(peer, []).append(name)
        return found

    def close(self) -> None:
        """End the server; clients see that it is gone."""
        if self._server is not None:
            self._server.stop()
            self._server = None
        for record in self._records.values():
            record.close()


def _alarm(severity: int, message: str) -> dict[str, Any]:
    return {"severity": severity, "status": _DEVICE if severity else 0, "message": message}


def _stamp(when: float | None, index: int) -> dict[str, int]:
    seconds, rest = divmod(time.time() if when is None else when, 1)
    return {
        "secondsPastEpoch": int(seconds), "nanoseconds": int(rest * 1e9), "userTag": index % RING,
    }  # fmt: skip


def _attribute(attribute: Attribute) -> dict[str, Any]:
    return {
        "name": attribute.name, "value": attribute.value, "descriptor": attribute.descriptor, "sourceType": 0,
        "source": "",
    }  # fmt: skip
