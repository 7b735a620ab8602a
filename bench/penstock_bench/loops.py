"""Two loops that write a series: one the obvious way, and one of which nothing but pyzmq and h5py is left.

Run as a program: python -m penstock_bench.loops naive|bare ENDPOINT FILE MARK
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import h5py
import numpy as np
import zmq

Clocks = tuple[float, float, float]


def naive(socket: zmq.Socket[bytes], file: h5py.File) -> tuple[int, Clocks]:
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


def bare(socket: zmq.Socket[bytes], file: h5py.File) -> tuple[int, Clocks]:
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


LOOPS: dict[str, Callable[[zmq.Socket[bytes], h5py.File], tuple[int, Clocks]]] = {
    "naive": naive,
    "bare": bare,
}


def clocks() -> Clocks:
    """Return the time, and the processor time of process and thread, in seconds."""
    return time.monotonic(), time.process_time(), time.thread_time()


def receive(name: str, endpoint: str, filename: str, mark: int) -> dict[str, float]:
    """Write one series; return frames, seconds since its start message, and CPU seconds."""
    socket: zmq.Socket[bytes] = zmq.Context().socket(zmq.PULL)
    socket.set(zmq.RCVHWM, mark)
    socket.connect(endpoint)
    print(json.dumps({"ready": endpoint}), flush=True)
    with h5py.File(filename, "w") as file:
        frames, began = LOOPS[name](socket, file)
    seconds, cpu, thread = (now - then for now, then in zip(clocks(), began, strict=True))
    return {"frames": frames, "seconds": seconds, "cpu_seconds": cpu, "thread_seconds": thread}


if __name__ == "__main__":
    name, endpoint, filename, mark = sys.argv[1:]
    print(json.dumps(receive(name, endpoint, filename, int(mark))), flush=True)
