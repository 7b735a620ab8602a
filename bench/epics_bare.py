"""The bare parts of what Penstock does between EPICS and ZeroMQ: nothing is numbered, checked, accounted for.

python -m penstock.bench.epics_bare camera HOST:PORT ENDPOINT FRAMES PERIOD takes an acquisition of an
areaDetector IOC (a monitor of p4p, one copy, a send of pyzmq), and prints the processor time that it took.
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


if __name__ == "__main__":
    seconds = camera(sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5]))
    print(json.dumps({"cpu_seconds": seconds}), flush=True)
