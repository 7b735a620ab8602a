"""The rival: a receiver written the obvious way, after the pattern of public ones.

Every frame is looked up by name in the file, the dataset grows by one, one element is assigned.
Run as a program: python -m penstock.bench.naive ENDPOINT FILE MARK
"""

from __future__ import annotations

import json
import sys
import time

import h5py
import numpy as np
import zmq


def receive(endpoint: str, filename: str, mark: int) -> dict[str, float]:
    """Write one series; return frames, seconds since its start message, and CPU seconds."""
    socket = zmq.Context().socket(zmq.PULL)
    socket.set(zmq.RCVHWM, mark)
    socket.connect(endpoint)
    print(json.dumps({"ready": endpoint}), flush=True)
    frames, began, cpu, thread = 0, 0.0, 0.0, 0.0
    with h5py.File(filename, "w") as file:
        while True:
            parts = socket.recv_multipart()
            header = json.loads(parts[0])
            if header["htype"] == "header":
                began, cpu, thread = time.monotonic(), time.process_time(), time.thread_time()
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
                break
    return {
        "frames": frames,
        "seconds": time.monotonic() - began,
        "cpu_seconds": time.process_time() - cpu,
        "thread_seconds": time.thread_time() - thread,
    }


if __name__ == "__main__":
    print(json.dumps(receive(sys.argv[1], sys.argv[2], int(sys.argv[3]))), flush=True)
