"""The rate of a DECTRIS stream over one socket into a file: V1 and V2, blobs of 200 kB and 2 MB.

    python -m penstock.bench.dectris [FOLDER]

A sender in this process acts as the control unit, on loopback; each series has a receiver of its own.
Time runs from the first frame to the closed file. Files are written to FOLDER, a RAM disk as a rule, and
removed.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import cbor2
import numpy as np
import zmq

from penstock.bench.contenders import line_with
from penstock.bench.load import high_water_mark
from penstock.codecs import bslz4
from penstock.hosts.child import PENSTOCK, Child
from penstock.receiver.client import ReceiverClient

CASES = ((200_000, 5_000), (2_000_000, 500))
"""Bytes of a blob, and frames: 1 GB each."""
SERIES_SECONDS = 120.0
NUMBER = 0xDEADBEEF
"""Placeholder for a frame's number in the message from which all are made."""


def v1(blob: bytes, rows: int, columns: int, frames: int, file: Path) -> Iterator[list[bytes]]:
    """Yield the messages of a series of stream V1."""
    config = {"nimages": frames, "ntrigger": 1}
    yield [_json(htype="dheader-1.0", series=frames, header_detail="basic"), _json(**config),
           _json(filename=str(file))]  # fmt: skip
    data = _json(htype="dimage_d-1.0", shape=[columns, rows], type="uint16", encoding="bs16-lz4<",
                 size=len(blob))  # fmt: skip
    times = _json(htype="dconfig-1.0", start_time=0, stop_time=1, real_time=1)
    for number in range(frames):
        yield [_json(htype="dimage-1.0", series=frames, frame=number, hash=""), data, blob, times]
    yield [_json(htype="dseries_end-1.0", series=frames)]


def v2(blob: bytes, rows: int, columns: int, frames: int, file: Path) -> Iterator[list[bytes]]:
    """Yield the messages of a series of stream V2."""
    series = {"series_id": frames, "series_unique_id": file.name}
    yield [cbor2.dumps({"type": "start", **series, "channels": ["threshold_1"], "number_of_images": frames,
                        "image_dtype": "uint16", "image_size_x": columns, "image_size_y": rows,
                        "user_data": {"filename": str(file)}})]  # fmt: skip
    packed = cbor2.CBORTag(69, cbor2.CBORTag(56500, ["bslz4", 2, blob]))
    data = {"threshold_1": cbor2.CBORTag(40, [[rows, columns], packed])}
    whole = cbor2.dumps({"type": "image", **series, "image_id": NUMBER, "start_time": [0, 1],
                         "stop_time": [1, 1], "real_time": [1, 1], "data": data})  # fmt: skip
    before, _, after = whole.partition(NUMBER.to_bytes(4, "big"))
    for number in range(frames):
        yield [before + number.to_bytes(4, "big") + after]
    yield [cbor2.dumps({"type": "end", **series})]


STREAMS = {"dectris-v1": v1, "dectris-v2": v2}


def measure(kind: str, nbytes: int, frames: int, folder: Path) -> float:
    """Return the seconds that a receiver takes for one series.

    Args:
        kind: of the stream, one of `STREAMS`.
        nbytes: of a blob, approximately.
        frames: of the series.
        folder: for the file.

    Raises:
        RuntimeError: the series was not complete, so its figures say nothing.
    """
    rows, columns = 200, nbytes // 400
    noise = np.random.default_rng(1).integers(0, 2**16, (rows, columns), np.uint16)  # incompressible
    file = folder / f"{kind}.h5"
    with zmq.Context() as context, context.socket(zmq.PUSH) as push:
        push.set(zmq.LINGER, 0)
        push.set(zmq.SNDHWM, high_water_mark(nbytes))
        push.set(zmq.SNDTIMEO, int(SERIES_SECONDS * 1000))
        push.bind("tcp://127.0.0.1:*")
        source = {"type": kind, "endpoints": [push.get_string(zmq.LAST_ENDPOINT)],
                  "high_water_mark": high_water_mark(nbytes)}  # fmt: skip
        config = folder / "dectris.yaml"
        config.write_text(json.dumps({"receivers": {"bench": {"source": source, "data_root": str(folder)}}}))
        argv = (*PENSTOCK, "receiver", "bench", "--config", str(config), "--http", "127.0.0.1:0", "--json")
        try:
            with Child("receiver", argv, line_with("http")) as receiver:
                client = ReceiverClient(receiver.answer["http"], timeout=5.0)
                messages = STREAMS[kind](bslz4.compress(noise), rows, columns, frames, file)
                push.send_multipart(next(messages))  # waits until the receiver is connected
                while client.status().state != "running":
                    pass
                began = time.monotonic()
                for parts in messages:
                    push.send_multipart(parts, copy=False)
                status = client.status()
                while status.state == "running":
                    status = client.status(seen=status.version, wait=5.0)
                seconds = time.monotonic() - began
        finally:
            file.unlink(missing_ok=True)
    if status.series is None or not status.series.complete:
        raise RuntimeError(f"the receiver did not take the whole series: {status.error or status.series}")
    return seconds


def main(folder: Path) -> None:
    """Print one line for each kind of stream and size of blob: the best of three."""
    for kind in STREAMS:
        for nbytes, frames in CASES:
            seconds = min(measure(kind, nbytes, frames, folder) for _ in range(3))
            print(
                f"{kind}, blobs of {nbytes / 1e6:g} MB: {frames / seconds:,.0f} frames/s, "
                f"{frames * nbytes / seconds / 1e9:.2f} GB/s",
                flush=True,
            )


def _json(**keys: object) -> bytes:
    return json.dumps(keys).encode()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if sys.argv[1:] else "/dev/shm") as made:
        main(Path(made))
