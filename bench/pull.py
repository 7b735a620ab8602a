"""The least that a consumer of plain messages can be: one loop around `recv_multipart`.

python -m penstock.bench.pull ENDPOINT; prints "ended" after the last message of each series.
"""

from __future__ import annotations

import json
import sys

import zmq


def pull(endpoint: str) -> None:
    """Take what comes until this process is killed."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    socket = context.socket(zmq.PULL)
    socket.connect(endpoint)
    print(json.dumps({"ready": True}), flush=True)
    while True:
        parts = socket.recv_multipart(copy=False)
        if len(parts) == 1:
            print("ended", flush=True)


if __name__ == "__main__":
    pull(sys.argv[1])
