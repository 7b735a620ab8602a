"""The bare parts of what Penstock does between EPICS and ZeroMQ: nothing is numbered, checked, accounted for.

python -m penstock.bench.epics_bare camera HOST:PORT ENDPOINT FRAMES PERIOD takes an acquisition of an
areaDetector IOC (a monitor of p4p, one copy, a send of pyzmq), and prints the processor time that it took.
… bridge ENDPOINT takes the messages of a receiver, and posts each frame (a receive of pyzmq, one copy, a post
of p4p), until it is killed. … client HOST:PORT RECORD takes all updates of a record, and ignores them.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

import numpy as np
import zmq

DRIVER, IMAGE = "SIM:cam1:", "SIM:Pva1:Image"
QUEUE = 64
"""Arrays that may wait on either side."""
POSTED = "posted"
"""What `bridge` prints at the end of a series."""
SECONDS = 60.0
"""Within which something has to come."""


def client(server: str) -> Any:
    """Return a client of the IOC at this address."""
    from p4p.client.thread import Context

    conf = {"EPICS_PVA_NAME_SERVERS": server, "EPICS_PVA_AUTO_ADDR_LIST": "NO", "EPICS_PVA_ADDR_LIST": ""}
    return Context("pva", conf=conf, useenv=False, nt=False)


def camera(server: str, endpoint: str, frames: int, period: float) -> float:
    """Take an acquisition, and return its seconds of processor time, from Acquire to the last frame."""
    from p4p.client.raw import Context

    socket = zmq.Context().socket(zmq.PUSH)
    socket.bind(endpoint)
    context = client(server)
    come = threading.Event()
    monitor = Context.monitor(context, IMAGE, lambda: come.set(), request=f"record[queueSize={QUEUE}]")
    for name, value in (("AcquirePeriod", period), ("AcquireTime", period / 2), ("NumImages", frames)):
        context.put(DRIVER + name, value)
    context.put(DRIVER + "ImageMode", {"value.index": 1})
    began = time.process_time()
    context.put(DRIVER + "Acquire", {"value.index": 1}, wait=False)
    taken = 0
    while taken < frames:
        if not come.wait(SECONDS):
            raise TimeoutError(f"{taken} of {frames} frames have come")
        come.clear()
        while (array := monitor.pop()) is not None:
            if isinstance(array, Exception) or array.value is None or not len(array.value):
                continue
            copy: np.ndarray[Any, Any] = np.array(array.value)
            header = {"htype": "image", "frame": taken, "shape": copy.shape, "type": str(copy.dtype)}
            socket.send_json(header, zmq.SNDMORE)
            socket.send(copy.data, copy=False)
            taken += 1
    spent = time.process_time() - began
    context.close()
    return spent


def bridge(endpoint: str) -> None:
    """Post what comes until this process is killed."""
    from p4p import Value
    from p4p.nt import NTNDArray
    from p4p.server import Server
    from p4p.server.thread import SharedPV

    kind = NTNDArray.buildType()
    record = SharedPV(initial=Value(kind))
    conf = {"EPICS_PVAS_INTF_ADDR_LIST": "127.0.0.1", "EPICS_PVAS_SERVER_PORT": "0"}
    conf |= {"EPICS_PVAS_BROADCAST_PORT": "0", "EPICS_PVAS_AUTO_BEACON_ADDR_LIST": "NO"}
    server = Server(providers=[{IMAGE: record}], conf=conf, useenv=False)
    socket = zmq.Context().socket(zmq.PULL)
    socket.connect(endpoint)
    print(json.dumps({"server": f"127.0.0.1:{server.conf()['EPICS_PVAS_SERVER_PORT']}"}), flush=True)
    while True:
        parts = socket.recv_multipart(copy=False)
        header = json.loads(parts[0].bytes)
        if header["htype"] == "series_end":
            print(POSTED, flush=True)
        if header["htype"] != "image":
            continue
        array = Value(kind)
        array["value"] = ("ubyteValue", np.array(np.frombuffer(parts[1].buffer, header["type"])))
        array["uniqueId"] = header["frame"] + 1
        array["dimension"] = [{"size": size} for size in reversed(header["shape"])]
        record.post(array)


def take_all(server: str, record: str) -> None:
    """Take all updates until this process is killed."""
    from p4p.client.raw import Context

    come = threading.Event()
    monitor = Context.monitor(
        client(server), record, lambda: come.set(), request=f"record[queueSize={QUEUE}]"
    )
    is_ready = False
    while come.wait():
        come.clear()
        while (found := monitor.pop()) is not None:
            if not is_ready and not isinstance(found, Exception):
                is_ready = True
                print(json.dumps({"ready": record}), flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["camera", server, endpoint, frames, period]:
            seconds = camera(server, endpoint, int(frames), float(period))
            print(json.dumps({"cpu_seconds": seconds}), flush=True)
        case ["bridge", endpoint]:
            bridge(endpoint)
        case ["client", server, record]:
            take_all(server, record)
