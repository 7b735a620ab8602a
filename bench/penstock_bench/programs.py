"""Programs that cases run as processes: python -P -m penstock_bench.programs NAME ARGUMENT …

- naive, bare ENDPOINT FILE MARK: loops that write a series: one the obvious way, and one of which nothing but
  pyzmq and h5py is left;
- pull ENDPOINT: the least that a consumer of plain messages can be;
- free ENDPOINT PATH: a consumer of the memory at PATH;
- camera HOST:PORT ENDPOINT FRAMES PERIOD, bridge ENDPOINT, client HOST:PORT RECORD: the bare parts of what
  Penstock does between EPICS and ZeroMQ; nothing is numbered, checked, accounted for;
- device RATE: a Tango device whose attributes change by themselves;
- ioc RATE: an IOC whose records do.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import zmq

Clocks = tuple[float, float, float]
DRIVER, IMAGE = "SIM:cam1:", "SIM:Pva1:Image"
QUEUE = 64
"""Arrays that may wait on either side."""
SECONDS = 60.0
"""Within which something has to come."""
SERVER, DEVICE, PREFIX = "channel_device/bench", "bench/channels/1", "BENCH"
CHANNELS = 6
JITTER, BEAT = 0.002, 0.01
"""Most in s by which times differ from an even beat; seconds between two bursts of values."""


def say(**keys: object) -> None:
    """Print a line of JSON at once."""
    print(json.dumps(keys), flush=True)


def connected(endpoint: str, mark: int = 1000) -> zmq.Socket[bytes]:
    """Return a PULL socket that queues so many messages; by default as many as ZeroMQ says."""
    socket: zmq.Socket[bytes] = zmq.Context().socket(zmq.PULL)
    socket.set(zmq.RCVHWM, mark)
    socket.connect(endpoint)
    return socket


def naive(socket: zmq.Socket[bytes], file: Any) -> tuple[int, Clocks]:
    """Write the obvious way, after the pattern of public receivers: each frame is looked up by name in the
    file, the dataset grows by one, one element is assigned."""
    frames, began = 0, clocks()
    while True:
        parts = socket.recv_multipart()
        header = json.loads(parts[0])
        if header["htype"] == "header":
            began = clocks()
        elif header["htype"] == "image":
            image = np.frombuffer(parts[1], header["type"]).reshape(header["shape"])
            if "data" not in file:
                shape = image.shape
                file.create_dataset(
                    "data", (0, *shape), image.dtype, maxshape=(None, *shape), chunks=(1, *shape)
                )
                file.create_dataset("sequence_number", (0,), "int64", maxshape=(None,))
            file["data"].resize(frames + 1, axis=0)
            file["data"][frames] = image
            file["sequence_number"].resize(frames + 1, axis=0)
            file["sequence_number"][frames] = header["frame"]
            frames += 1
        else:
            return frames, began


def bare(socket: zmq.Socket[bytes], file: Any) -> tuple[int, Clocks]:
    """Write what Python costs when nothing is checked, counted or accounted for: each frame is received
    without a copy, its header decoded, its blob written as a chunk into a dataset that has its full length
    from the start."""
    start = json.loads(socket.recv_multipart()[0])
    began = clocks()
    shape = (start["frames"], *start["shape"])
    write = file.create_dataset("data", shape, start["type"], chunks=(1, *shape[1:])).id.write_direct_chunk
    while True:
        parts: Any = socket.recv_multipart(copy=False)
        header = json.loads(parts[0].bytes)
        if header["htype"] != "image":
            return start["frames"], began
        write((header["frame"], 0, 0), parts[1].buffer)


LOOPS = {"naive": naive, "bare": bare}


def clocks() -> Clocks:
    """Return the time, and the processor time of process and thread, in seconds."""
    return time.monotonic(), time.process_time(), time.thread_time()


def receive(name: str, endpoint: str, filename: str, mark: str) -> dict[str, float]:
    """Write one series; return frames, seconds since its start message, and CPU seconds."""
    import h5py

    socket = connected(endpoint, int(mark))
    say(ready=endpoint)
    with h5py.File(filename, "w") as file:
        frames, began = LOOPS[name](socket, file)
    seconds, cpu, thread = (now - then for now, then in zip(clocks(), began, strict=True))
    return {"frames": frames, "seconds": seconds, "cpu_seconds": cpu, "thread_seconds": thread}


def pull(endpoint: str) -> None:
    """Take what comes until this process is killed; tell the frames of each series."""
    socket = connected(endpoint)
    say(ready=endpoint)
    messages = 0
    while True:
        messages += 1
        if len(socket.recv_multipart(copy=False)) == 1:
            say(ended=messages - 2)  # less its start and its end
            messages = 0


def free(endpoint: str, path: str) -> None:
    """Take references, and free what they stand for at once, until this process is killed."""
    from penstock.processing.sources.stream import Began, Ended, Referenced, Stream
    from penstock.processing.wire.shared_frames import SharedFrames, lock

    hold, stream = lock(path), Stream(endpoint, zmq.Context())
    say(ready=endpoint)
    memory: SharedFrames | None = None
    while hold and stream.socket.poll():
        while (event := stream.receive()) is not None:
            if isinstance(event, Began) and event.header.shared is not None:
                memory = SharedFrames(event.header.shared.path, event.header.shared.nonce)
            elif isinstance(event, Referenced) and memory is not None:
                memory.free([reference.slot for reference in event.references])
            elif isinstance(event, Ended):
                say(ended=event.end.sent)


def _pva(server: str) -> Any:
    """Return a client of the IOC at this address."""
    from p4p.client.thread import Context

    conf = {"EPICS_PVA_NAME_SERVERS": server, "EPICS_PVA_AUTO_ADDR_LIST": "NO", "EPICS_PVA_ADDR_LIST": ""}
    return Context("pva", conf=conf, useenv=False, nt=False)


def _updates(context: Any, record: str, seconds: float | None = None) -> Iterator[Any]:
    """Yield the updates of a record; end when none has come for so long."""
    from p4p.client.raw import Context

    come = threading.Event()
    monitor = Context.monitor(context, record, lambda: come.set(), request=f"record[queueSize={QUEUE}]")
    while come.wait(seconds):
        come.clear()
        while (update := monitor.pop()) is not None:
            if not isinstance(update, Exception):
                yield update


def camera(server: str, endpoint: str, frames: str, period: str) -> None:
    """Take an acquisition (a monitor of p4p, one copy, a send of pyzmq), and print the processor time from
    Acquire to the last frame."""
    socket = zmq.Context().socket(zmq.PUSH)
    socket.bind(endpoint)
    context = _pva(server)
    updates = _updates(context, IMAGE, SECONDS)
    next(updates)  # what was there before
    settings = {"AcquirePeriod": float(period), "AcquireTime": float(period) / 2, "NumImages": int(frames)}
    for name, value in (settings | {"ImageMode": {"value.index": 1}}).items():
        context.put(DRIVER + name, value)
    began, taken = time.process_time(), 0
    context.put(DRIVER + "Acquire", {"value.index": 1}, wait=False)
    for array in updates:
        if array.value is None or not len(array.value):
            continue
        copy: np.ndarray[Any, Any] = np.array(array.value)
        header = {"htype": "image", "frame": taken, "shape": copy.shape, "type": str(copy.dtype)}
        socket.send_json(header, zmq.SNDMORE)
        socket.send(copy.data, copy=False)
        taken += 1
        if taken == int(frames):
            break
    else:
        raise TimeoutError(f"{taken} of {frames} frames have come")
    say(cpu_seconds=time.process_time() - began)
    context.close()


def bridge(endpoint: str) -> None:
    """Post what comes (a receive of pyzmq, one copy, a post of p4p) until this process is killed."""
    from p4p import Value
    from p4p.nt import NTNDArray
    from p4p.server import Server
    from p4p.server.thread import SharedPV

    kind = NTNDArray.buildType()
    record = SharedPV(initial=Value(kind))
    conf = {"EPICS_PVAS_INTF_ADDR_LIST": "127.0.0.1", "EPICS_PVAS_SERVER_PORT": "0"}
    conf |= {"EPICS_PVAS_BROADCAST_PORT": "0", "EPICS_PVAS_AUTO_BEACON_ADDR_LIST": "NO"}
    server = Server(providers=[{IMAGE: record}], conf=conf, useenv=False)
    socket = connected(endpoint)
    say(ready=f"127.0.0.1:{server.conf()['EPICS_PVAS_SERVER_PORT']}")
    while True:
        parts: Any = socket.recv_multipart(copy=False)
        header = json.loads(parts[0].bytes)
        if header["htype"] == "series_end":
            say(ended=header["sent"])
        if header["htype"] != "image":
            continue
        array = Value(kind)
        array["value"] = ("ubyteValue", np.array(np.frombuffer(parts[1].buffer, header["type"])))
        array["uniqueId"] = header["frame"] + 1
        array["dimension"] = [{"size": size} for size in reversed(header["shape"])]
        record.post(array)


def client(server: str, record: str) -> None:
    """Take all updates until this process is killed."""
    updates = _updates(_pva(server), record)
    next(updates)
    say(ready=record)
    for _ in updates:
        pass


def device(rate: str) -> None:
    """Serve numbers c0, c1 …, each with change events, so many per second."""
    import tango
    from tango.server import Device, run

    class Channels(Device):  # type: ignore[misc]
        """Attributes that change by themselves."""

        def init_device(self) -> None:
            """Begin to push."""
            super().init_device()
            for number in range(CHANNELS):
                self.add_attribute(
                    tango.Attr(f"c{number}", tango.DevDouble, tango.AttrWriteType.READ), self._read
                )
                self.set_change_event(f"c{number}", True, False)
            threading.Thread(target=self._push, daemon=True).start()

        def _read(self, attribute: Any) -> None:
            attribute.set_value(0.0)

        def _push(self) -> None:
            with tango.EnsureOmniThread():
                say(ready=DEVICE)
                begin, sent = time.time(), 0
                while True:
                    due = int((time.time() - begin) * float(rate))
                    for number in range(sent, due):
                        for channel in range(CHANNELS):
                            moment = begin + number / float(rate) + random.uniform(-JITTER, JITTER)
                            value = f"c{channel}", float(number), moment, tango.AttrQuality.ATTR_VALID
                            self.push_change_event(*value)
                    sent = max(sent, due)
                    time.sleep(BEAT)

    run((Channels,), args=SERVER.split("/"))


def ioc(rate: str) -> None:
    """Serve records c0, c1 … over Channel Access and pvAccess, as the environment says, so many values of
    each per second; their time is when the record was processed."""
    from softioc import asyncio_dispatcher, builder, softioc

    dispatcher = asyncio_dispatcher.AsyncioDispatcher()
    builder.SetDeviceName(PREFIX)
    records = [builder.aIn(f"c{number}", initial_value=0.0) for number in range(CHANNELS)]
    builder.LoadDatabase()
    softioc.iocInit(dispatcher)
    say(ready=PREFIX)
    due, number = time.monotonic(), 0
    while True:
        number += 1
        for record in records:
            record.set(float(number))
        # A value that is set before the last one was processed takes its place: none is made up for.
        due = max(due + 1 / float(rate), time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))


PROGRAMS: dict[str, Callable[..., None]] = {
    each.__name__: each for each in (pull, free, camera, bridge, client, device, ioc)
}

if __name__ == "__main__":
    if sys.argv[1] in LOOPS:
        say(**receive(*sys.argv[1:]))
    else:
        PROGRAMS[sys.argv[1]](*sys.argv[2:])
