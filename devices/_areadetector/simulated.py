"""A stand-in for an areaDetector IOC: driver and PVA plugin over pvAccess, without EPICS installed.

It counts like ADCore: `ArrayCounter_RBV` runs on between acquisitions, and is the `uniqueId` of each array;
a frame that is lost on its way has a number like every other.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from functools import partial
from typing import Any

import numpy as np
from p4p import Value
from p4p.nt import NTNDArray
from p4p.server import Server
from p4p.server.thread import SharedPV

from penstock.codecs.ntndarray import MEMBERS, scalar_type
from penstock.devices._areadetector.payload import packed_as
from penstock.devices._areadetector.simulated_records import DATA_TYPES, Kind, Record, driver

TRIGGER_MODES = ("Internal", "External", "External start", "Software")
_ARRAY = NTNDArray.buildType()
LEAST_EXPOSURE = 1e-5
DEAD_TIME = 0.0005
"""Seconds between two exposures, at least."""


class SimulatedIoc:
    """One IOC with one driver and one PVA plugin.

    Args:
        prefix: of all records, such as `SIM:`; those of the driver have `cam1:` behind it, the arrays are
            `Pva1:Image`.
        host: address at which it is served.
        port: TCP port; 0 for a free one.
        shape: rows and columns.
        dtype: type of the pixels.
        codec: codec of the arrays, as the plugin NDPluginCodec names them; "" for none.
    """

    def __init__(
        self, prefix: str = "SIM:", host: str = "127.0.0.1", port: int = 0,
        shape: tuple[int, int] = (256, 320), dtype: str = "uint16", codec: str = "",
    ) -> None:  # fmt: skip
        self._prefix, self._host, self._port = prefix, host, port
        self.dtype = np.dtype(dtype)
        self.codec = codec
        self.lost: Collection[int] = ()
        """Numbers, from 0, of the frames of the next acquisition that are lost on their way."""
        self._lock = threading.Condition()
        self._counting = threading.Lock()
        """Held while a frame is counted; a counter that a client sets meanwhile is set after it."""
        self._edges = 0
        self._ends = threading.Event()
        self._thread: threading.Thread | None = None
        number = [name.lower() for name in DATA_TYPES].index(self.dtype.name)
        kinds = driver(*shape, number, TRIGGER_MODES)
        self.records: dict[str, Record] = {}
        """The driver's, by their names behind the prefix."""
        for name, kind in kinds.items():
            read_only = name.endswith("_RBV") or name in ("AcquireBusy", "TemperatureActual", "PoolUsedMem")
            self.records[name] = Record(kind, None if read_only else partial(self._taken, name))
            if kind.readback:
                self.records[f"{name}_RBV"] = Record(kind._replace(readback=False), None)
        self.image = SharedPV(initial=Value(_ARRAY))
        self._image_name = Record(Kind(f"{prefix}Pva1:Image"), None)
        self._server: Any = None
        self.start()

    # -- for its owner ---------------------------------------------------------------------------

    @property
    def address(self) -> str:
        """HOST:PORT of its name server."""
        return f"{self._host}:{self._port}"

    def start(self) -> None:
        """Serve the records, with a counter of 0 and the settings of the first day."""
        pvs = {f"{self._prefix}cam1:{name}": record.pv for name, record in self.records.items()}
        pvs[f"{self._prefix}Pva1:Image"] = self.image
        pvs[f"{self._prefix}Pva1:PvName_RBV"] = self._image_name.pv
        where = {
            "EPICS_PVAS_INTF_ADDR_LIST": self._host, "EPICS_PVAS_SERVER_PORT": str(self._port),
            "EPICS_PVAS_BROADCAST_PORT": "0", "EPICS_PVAS_AUTO_BEACON_ADDR_LIST": "NO",
            "EPICS_PVAS_BEACON_ADDR_LIST": "",
        }  # fmt: skip
        self._server = Server(providers=[pvs], conf=where, useenv=False)
        port = int(self._server.conf()["EPICS_PVAS_SERVER_PORT"])
        if self._port not in (0, port):  # the library takes another one then
            self._server.stop()
            raise RuntimeError("the port is taken")
        self._port = port

    def stop(self) -> None:
        """Be gone, as if it were killed; `start` brings it back."""
        if self._server is not None:
            self._server.stop()
            self._server = None
        self._end()

    close = stop

    def edge(self) -> None:
        """Let an edge come at the trigger input."""
        with self._lock:
            self._edges += 1
            self._lock.notify_all()

    def show_codec(self, codec: str) -> None:
        """Show an array of this codec, which has no pixels."""
        array = Value(_ARRAY)
        array["codec.name"] = codec
        self.image.post(array)

    def value(self, name: str) -> Any:
        """Return the value of a record of the driver."""
        return self.records[name].value

    def put(self, name: str, value: Any) -> None:
        """Set a record as some client would."""
        self._taken(name, value)

    # -- what clients put --------------------------------------------------------------------------

    def _taken(self, name: str, value: Any) -> None:
        if name == "Acquire":
            self._end()
            if value:
                self._begin()
            return
        if name == "TriggerSoftware":
            self.edge()
            return
        self.records[name].post(value)
        if f"{name}_RBV" in self.records:
            with self._counting:
                self.records[f"{name}_RBV"].post(self._made_of(name, value))
        if name in ("MinX", "MinY", "SizeX", "SizeY", "BinX", "BinY"):
            axis = name[-1]
            size = self.records[f"Size{axis}_RBV"]
            size.post(self._made_of(f"Size{axis}", size.value))
            length = size.value // self.value(f"Bin{axis}_RBV")
            for suffix in (axis, "XY".index(axis)):
                self.records[f"ArraySize{suffix}_RBV"].post(length)
        if name == "DataType":
            self.dtype = np.dtype(DATA_TYPES[value].lower())

    def _made_of(self, name: str, value: Any) -> Any:
        """Return what the driver makes of a value."""
        if name == "AcquireTime":
            return max(LEAST_EXPOSURE, round(value, 6))
        if name == "AcquirePeriod":
            return max(self.value("AcquireTime_RBV") + DEAD_TIME, round(value, 6))
        if name in ("MinX", "MinY"):
            return max(0, min(value, self.value(f"MaxSize{name[-1]}_RBV") - 1))
        if name in ("SizeX", "SizeY"):
            axis = name[-1]
            return max(1, min(value, self.value(f"MaxSize{axis}_RBV") - self.value(f"Min{axis}_RBV")))
        return value

    # -- acquisition -------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._ends.clear()
        with self._lock:
            self._edges = 0
        for name in ("Acquire", "Acquire_RBV", "AcquireBusy", "DetectorState_RBV"):
            self.records[name].post(1)
        self.records["NumImagesCounter_RBV"].post(0)
        self._thread = threading.Thread(target=self._acquire, daemon=True)
        self._thread.start()

    def _end(self) -> None:
        self._ends.set()
        with self._lock:
            self._lock.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._thread = None

    def _acquire(self) -> None:
        value = self.value
        mode = TRIGGER_MODES[value("TriggerMode_RBV")]
        number = (1, value("NumImages_RBV"), 2**31)[value("ImageMode_RBV")]
        due = time.monotonic()
        for frame in range(number):
            waits = mode in ("External", "Software") or (mode == "External start" and not frame)
            if waits:
                if not self._edge():
                    break
                due = time.monotonic()
            if self._ends.wait(max(0.0, due + value("AcquireTime_RBV") - time.monotonic())):
                break
            due += value("AcquirePeriod_RBV")
            self._frame(frame)
        for name in ("Acquire", "Acquire_RBV", "AcquireBusy", "DetectorState_RBV"):
            self.records[name].post(0)

    def _edge(self) -> bool:
        with self._lock:
            self._lock.wait_for(lambda: self._edges > 0 or self._ends.is_set())
            self._edges -= 1
        return not self._ends.is_set()

    def _frame(self, frame: int) -> None:
        with self._counting:
            counter = self.value("ArrayCounter_RBV") + 1
            if frame not in self.lost:
                self.image.post(self._array(counter))
            self.records["ArrayCounter_RBV"].post(counter)
        self.records["UniqueId_RBV"].post(counter)
        self.records["NumImagesCounter_RBV"].post(frame + 1)

    def pixels(self, counter: int) -> np.ndarray[Any, Any]:
        """Return the pixels of an array: (rows, columns), all of them its number but for a ramp in the first
        row."""
        rows, columns = self.value("ArraySizeY_RBV"), self.value("ArraySizeX_RBV")
        found = np.full((rows, columns), counter % 100, self.dtype)
        found[0] = np.arange(columns) % 100
        return found

    def _array(self, counter: int) -> Any:
        array, pixels, now = Value(_ARRAY), self.pixels(counter), time.time()
        rows, columns = pixels.shape
        member, sent = MEMBERS[self.dtype.name], pixels.ravel()
        if self.codec:
            member, sent = "ubyteValue", np.frombuffer(packed_as(self.codec, pixels), np.uint8)
            array["codec.name"] = self.codec
            array["codec.parameters"] = scalar_type(self.dtype)
        array["value"] = (member, sent)
        array["compressedSize"], array["uncompressedSize"] = sent.nbytes, pixels.nbytes
        array["uniqueId"] = counter
        array["dimension"] = [
            {"size": size, "offset": 0, "fullSize": size, "binning": 1, "reverse": False}
            for size in (columns, rows)
        ]
        stamp = {"secondsPastEpoch": int(now), "nanoseconds": int(now % 1 * 1e9), "userTag": 0}
        array["dataTimeStamp"] = array["timeStamp"] = stamp
        return array
