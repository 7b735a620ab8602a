"""A JUNGFRAU and its slsReceiver for tests: one module of few pixels, as `tests/vendor/slsdet` reaches it.

Its stream is that of slsReceiver 10. `stop` gives up the frame that runs, as PSI documents it ("Abort
detector acquisition"); slsReceiver publishes its end message when it is stopped, and never before.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any

import numpy as np
import zmq

from penstock.devices._sls.connection import memory_name
from penstock.hosts.child import free_port
from tests.receiver.sources.sls import DUMMY, header

VENDOR = Path(__file__).resolve().parents[1] / "vendor"
ROWS, COLUMNS = 8, 16
TICK = 25e-9
FOREVER = 1000.0
"""Seconds that no test waits for."""
PATIENCE = 20.0
DEFAULTS: dict[str, Any] = {
    "type": "JUNGFRAU", "detsize": [COLUMNS, ROWS], "timing": "AUTO_TIMING", "gainmode": "DYNAMIC",
    "settings": "GAIN0", "readoutspeed": "HALF_SPEED", "triggers": 1, "frames": 1, "exptime": 1e-5,
    "period": 2e-3, "delay": 0.0, "highvoltage": 0, "powerchip": False, "temp_control": True,
    "temp_threshold": 65, "temp_event": 0, "numinterfaces": 1, "TEMPERATURE_ADC": [31],
    "TEMPERATURE_FPGA": [42], "serialnumber": "0x7", "firmwareversion": "0x250208",
    "detectorserverversion": "10.0.0", "udp_srcip": "", "udp_dstip": "", "udp_dstport": 50001,
    "udp_srcmac": "00:00:00:00:00:00",
}  # fmt: skip
"""Of a module that was just switched on."""
RECEIVER: dict[str, Any] = {
    "rx_version": "10.0.1", "rx_zmqport": 30001, "rx_zmqfreq": 0, "rx_zmqstream": False, "fwrite": True,
    "fpath": "/", "fname": "run", "rx_hostname": [], "rx_tcpport": [1954],
}  # fmt: skip


class SlsBox:
    """The detector, its receiver, and the address at which both are reached."""

    def __init__(self) -> None:
        self.module, self.receiver = dict(DEFAULTS), dict(RECEIVER)
        self.json_header: dict[str, str] = {}
        self.port, self.stream_port = free_port(), free_port()
        self.calls: list[str] = []
        self.refuses: dict[str, str] = {}
        """Names that are refused, with the sentence."""
        self.hangs: set[str] = set()
        """Names that are not answered."""
        self.status, self.rx_status = "IDLE", "IDLE"
        self.lost: set[int] = set()
        """Indices of frames whose packets are lost on the way to slsReceiver."""
        self.number, self._first, self._caught = 1, 0, 0
        self._lock = threading.RLock()
        self.changed = threading.Condition(self._lock)
        """Notified after every frame."""
        self._stopping = threading.Event()
        self._edges = threading.Semaphore(0)
        self._waiting = threading.Event()
        self._run: threading.Thread | None = None
        self._context = zmq.Context()
        self._publisher: zmq.Socket[bytes] | None = None
        self._server: ThreadingTCPServer | None = None
        self.power(on=True)

    # For tests

    @property
    def properties(self) -> dict[str, Any]:
        """Of the device."""
        return {
            "Host": f"127.0.0.1:{self.port}", "Receiver": "127.0.0.1:1954", "UdpSource": "127.0.0.1",
            "UdpDestination": "127.0.0.1", "StreamPort": self.stream_port,
        }  # fmt: skip

    def initialise(self) -> None:
        """Be as an earlier device has left it, and so the memory of slsdet."""
        name = f"fake_slsdet_0_{memory_name([('127.0.0.1', self.port)])}.json"
        known = {"hosts": [["127.0.0.1", self.port]], "receivers": ["127.0.0.1:1954"]}
        (Path(tempfile.gettempdir()) / name).write_text(json.dumps(known))
        self.module |= {"powerchip": True, "udp_srcip": "127.0.0.1", "udp_dstip": "127.0.0.1"}
        self.do("call", "setPosition")
        self.receiver["rx_hostname"] = known["receivers"]
        wanted = {"rx_zmqfreq": 1, "fwrite": False, "rx_zmqport": self.stream_port, "rx_zmqstream": True}
        for key, value in wanted.items():
            self.do("put", key, value)

    def restart_receiver(self) -> None:
        """slsReceiver is started again, and knows nothing."""
        with self._lock:
            self.receiver, self.json_header, self.rx_status = dict(RECEIVER), {}, "IDLE"
            self._publish()

    def power(self, on: bool) -> None:
        """Switch the module on or off; its settings are lost, and what slsReceiver has is not."""
        if self._server is not None and not on:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
            self._stop()
            self.module = dict(DEFAULTS)
        elif self._server is None and on:
            self._server = _Server(("127.0.0.1", self.port), _Handler)
            self._server.box = self  # type: ignore[attr-defined]
            poll = {"poll_interval": 0.01}
            threading.Thread(target=self._server.serve_forever, kwargs=poll, daemon=True).start()

    def subscribed(self) -> None:
        """Wait until a receiver takes the stream: what is published before is lost."""
        with self._lock:  # a socket is one thread's at a time
            assert self._publisher is not None, "slsReceiver publishes nothing yet"
            assert self._publisher.poll(int(1000 * PATIENCE)), "nobody has subscribed"
            while self._publisher.poll(0):
                self._publisher.recv()

    def edge(self) -> None:
        """Give an edge, once the detector waits for it."""
        assert self._waiting.wait(PATIENCE), "the detector waits for no edge"
        self._waiting.clear()
        self._edges.release()

    def start_by_somebody_else(self, frames: int = 0) -> None:
        """Start the detector as it was left, from another client.

        Args:
            frames: number of frames; 0 for one and a second that never ends.
        """
        self._stop()
        self.do("call", "stopReceiver")
        self.do("call", "startReceiver")
        self.module["frames"] = frames or 2
        pause = FOREVER if frames == 0 else 0.001
        self._begin(lambda: self._take(frames or 2, 0.001, pause))
        if frames:
            assert self._run is not None
            self._run.join(PATIENCE)
            self.do("call", "stopReceiver")

    def close(self) -> None:
        self.power(on=False)
        self._context.destroy(0)
        for file in Path(tempfile.gettempdir()).glob(f"fake_slsdet_*{self.port}*.json"):
            file.unlink()

    # What clients ask for

    def do(self, verb: str, name: str, *arguments: Any) -> Any:
        """Answer one request.

        Raises:
            RuntimeError: refused, with the sentence.
        """
        if name in self.refuses:
            raise RuntimeError(f"Detector returned: {self.refuses[name]}")
        asks_receiver = name in self.receiver or "Receiver" in name or "Json" in name or name[:3] == "rx_"
        if asks_receiver and name != "rx_hostname" and not self.receiver["rx_hostname"]:
            raise RuntimeError("Receiver returned: Receiver not set up. Please use rx_hostname first.\n")
        if verb == "get":
            return self._get(name)
        if verb == "put":
            return self._put(name, *arguments)
        self.calls.append(name)
        return getattr(self, f"_{name}")(*arguments)

    def _get(self, name: str) -> Any:
        match name:
            case "status" | "rx_status":
                return getattr(self, name)
            case "nextframenumber":
                return self.number
            case "rx_frameindex":
                return [self._caught]
            case "rx_framescaught":
                return [max(0, self._caught - self._first + 1) if self._caught else 0]
            case "rx_hostname":
                return [each.partition(":")[0] for each in self.receiver[name]]
            case "rx_tcpport":
                return [int(each.partition(":")[2]) for each in self.receiver["rx_hostname"]]
        return self.module[name] if name in self.module else self.receiver[name]

    def _put(self, name: str, value: Any) -> None:
        if name in ("exptime", "period", "delay"):
            value = round(value / TICK) * TICK
        if name == "fname" and set("/ ") & set(value):
            raise RuntimeError("Cannot set file name prefix with '/' or ' '")
        assert name not in ("fpath", "fname") or len(value.encode()) < 1000, "what is longer is cut"
        (self.module if name in self.module else self.receiver)[name] = value
        if name in ("rx_zmqport", "rx_zmqstream"):
            self._publish()

    def _publish(self) -> None:
        """Bind anew, as slsReceiver does."""
        with self._lock:
            if self._publisher is not None:
                self._publisher.close(0)
                self._publisher = None
            if self.receiver["rx_zmqstream"]:
                publisher = self._context.socket(zmq.XPUB)
                publisher.setsockopt(zmq.LINGER, 0)
                publisher.bind(f"tcp://127.0.0.1:{self.receiver['rx_zmqport']}")
                self._publisher = publisher

    def _setAdditionalJsonParameter(self, key: str, value: str) -> None:
        assert max(len(key), len(value)) <= 19, "what is longer is cut, without a word"
        self.json_header.pop(key, None)
        if value:
            self.json_header[key] = value

    def _getAdditionalJsonHeader(self) -> list[dict[str, str]]:
        return [dict(self.json_header)]

    def _setPosition(self) -> None:
        """What slsdet sends for `hostname`; the source MAC comes from it, and from nothing else."""
        self.module["udp_srcmac"] = "aa:bb:cc:dd:00:00"

    def _startReceiver(self) -> None:
        with self._lock:
            self.rx_status, self._first, self._caught = "RUNNING", 0, 0

    def _stopReceiver(self) -> None:
        with self._lock:
            if self.rx_status == "RUNNING":
                self._send([DUMMY])
            self.rx_status = "IDLE"

    def _startDetector(self) -> None:
        if not self.module["powerchip"]:
            raise RuntimeError("Detector returned: Cannot start acquisition. Chip is not powered on")
        if self.module["udp_srcmac"] == DEFAULTS["udp_srcmac"]:
            raise RuntimeError("Detector returned: udp source mac not configured [entry:0]")
        module = dict(self.module)
        external = module["timing"] == "TRIGGER_EXPOSURE"
        self._edges = threading.Semaphore(0)

        def run() -> None:
            for _ in range(module["triggers"]):
                if external and not self._edge_came():
                    return
                self._take(module["frames"], module["exptime"], module["period"] - module["exptime"])

        self._begin(run)

    def _stopDetector(self) -> None:
        self._stop()

    # What it does

    def _begin(self, run: Any) -> None:
        assert self.status not in ("RUNNING", "WAITING"), "a second start confuses slsReceiver"
        self._stopping.clear()
        self._waiting.clear()
        self.status = "RUNNING"

        def to_the_end() -> None:
            run()
            self.status = "STOPPED" if self._stopping.is_set() else "IDLE"

        run_now = threading.Thread(target=to_the_end, daemon=True)
        run_now.start()
        self._run = run_now

    def _stop(self) -> None:
        self._stopping.set()
        if self._run is not None:
            self._run.join(PATIENCE)

    def _edge_came(self) -> bool:
        self.status = "WAITING"
        self._waiting.set()
        while not self._stopping.is_set():
            if self._edges.acquire(timeout=0.01):
                self.status = "RUNNING"
                return True
        return False

    def _take(self, frames: int, exposure: float, pause: float) -> None:
        for _ in range(frames):
            if self._stopping.wait(exposure):
                return
            with self._lock:
                number, self.number = self.number, self.number + 1
                self.changed.notify_all()
                if self.rx_status == "RUNNING":
                    self._catch(number)
            if self._stopping.wait(max(0.0, pause)):
                return

    def _catch(self, number: int) -> None:
        """slsReceiver counts from the first frame that it sees."""
        if number in self.lost:
            return
        self._first = self._first or number
        self._caught = number
        index = number - self._first
        sent = header(index, frames=self.module["frames"] * self.module["triggers"], first=self._first) | {
            "jsonversion": 5, "shape": [COLUMNS, ROWS], "size": 2 * ROWS * COLUMNS,
            "fname": os.path.join(self.receiver["fpath"], self.receiver["fname"]),
            "rx_roi": [0, COLUMNS - 1, 0, ROWS - 1],
        }  # fmt: skip
        if self.json_header:
            sent["addJsonHeader"] = self.json_header
        pixels = np.full((ROWS, COLUMNS), number, "<u2")
        self._send([json.dumps(sent).encode(), pixels.tobytes()])

    def _send(self, parts: list[bytes]) -> None:
        if self._publisher is not None:
            self._publisher.send_multipart(parts)


class _Server(ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


class _Handler(StreamRequestHandler):
    def handle(self) -> None:
        request = json.loads(self.rfile.readline() or b"null")
        if request is None:
            return
        hanging = time.monotonic() + PATIENCE
        while request[1] in self.server.box.hangs and time.monotonic() < hanging:  # type: ignore[attr-defined]
            time.sleep(0.01)
        try:
            answer: dict[str, Any] = {"ok": self.server.box.do(*request)}  # type: ignore[attr-defined]
        except RuntimeError as error:
            answer = {"error": str(error)}
        self.wfile.write(json.dumps(answer).encode() + b"\n")


@contextmanager
def box() -> Iterator[SlsBox]:
    """A box for as long as the `with` lasts."""
    running = SlsBox()
    try:
        yield running
    finally:
        running.close()
