"""A receiver's loop, or the naive writer, for one series under cProfile.

Run as a program: python -m penstock.bench.profiled penstock|naive ENDPOINT FILE MARK; the last line is
JSON: [["function (file:line)", seconds of its own] …], waiting for messages left out.
"""

from __future__ import annotations

import cProfile
import json
import pstats
import sys
import time
from pathlib import Path

from penstock.bench import naive
from penstock.receiver.config import ReceiverConfig, SourceConfig
from penstock.receiver.live import last_frame
from penstock.receiver.live.last_frame import LastFrame
from penstock.receiver.process.data_process import TICK
from penstock.receiver.process.pipeline import Pipeline

SERIES_SECONDS = 120.0
WAITING = ("poll", "zmq_poll", "recv_multipart")


def penstock(endpoint: str, file: str, mark: int, profile: cProfile.Profile) -> None:
    """Run the receiver's own loop in this process, until the first series has ended."""
    source = SourceConfig(endpoints=(endpoint,), high_water_mark=mark)
    config = ReceiverConfig(source=source, data_root=str(Path(file).parent))
    frames = (LastFrame(last_frame.create()), LastFrame(last_frame.create()))
    pipeline = Pipeline("profiled", config, *frames)
    print(json.dumps({"ready": endpoint}), flush=True)
    deadline = time.monotonic() + SERIES_SECONDS
    try:
        while not _over(pipeline) and time.monotonic() < deadline:
            profile.runcall(pipeline.step, TICK)
    finally:
        pipeline.close()


def _over(pipeline: Pipeline) -> bool:
    series = pipeline.status(0).series
    return series is not None and not series.active


def top(profile: cProfile.Profile) -> list[tuple[str, float]]:
    """Return functions by their own time in seconds, the greatest first."""
    found: list[tuple[str, float]] = []
    for (file, line, name), numbers in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        where = Path(file).name if line else ""
        if not any(word in name for word in WAITING):
            found.append((f"{name} ({where})" if where else name, numbers[2]))
    return sorted(found, key=lambda row: -row[1])


def main(argv: list[str]) -> None:
    """Profile one series, and print the functions."""
    contender, endpoint, file, mark = argv[0], argv[1], argv[2], int(argv[3])
    profile = cProfile.Profile()
    if contender == "naive":
        profile.runcall(naive.receive, endpoint, file, mark)
    else:
        penstock(endpoint, file, mark, profile)
    print(json.dumps({"top": top(profile)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
