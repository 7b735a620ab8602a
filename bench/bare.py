"""A bare loop of pyzmq and h5py: the cost of Python when nothing is checked, counted or accounted for.

Each frame is received without a copy, its header decoded, its blob written as a chunk into a dataset that
has its full length from the start. Run as a program: python -m penstock.bench.bare ENDPOINT FILE MARK
"""

from __future__ import annotations

import json
import sys
import time

import h5py
import zmq


def receive(endpoint: str, filename: str, mark: int) -> dict[str, float]:
    """Write one series; return frames, seconds since its start message, and CPU seconds."""
    socket = zmq.Context().socket(zmq.PULL)
    socket.set(zmq.RCVHWM, mark)
    socket.connect(endpoint)
    print(json.dumps({"ready": endpoint}), flush=True)
    start = json.loads(socket.recv_multipart()[0])
    began, cpu, thread = time.monotonic(), time.process_time(), time.thread_time()
    with h5py.File(filename, "w") as file:
        shape = (start["frames"], *start["shape"])
        data = file.create_dataset("data", shape, start["type"], chunks=(1, *start["shape"]))
        write = data.id.write_direct_chunk
        while True:
            parts = socket.recv_multipart(copy=False)
            header = json.loads(parts[0].bytes)
            if header["htype"] != "image":
                break
            write((header["frame"], 0, 0), parts[1].buffer)
    return {
        "frames": start["frames"],
        "seconds": time.monotonic() - began,
        "cpu_seconds": time.process_time() - cpu,
        "thread_seconds": time.thread_time() - thread,
    }


if __name__ == "__main__":
    print(json.dumps(receive(sys.argv[1], sys.argv[2], int(sys.argv[3]))), flush=True)
