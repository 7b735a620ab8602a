"""Live processing beside programs of others: dranspose 0.2.0 and PvaPy 5.6.

Both are in an environment of their own, which `make judges` makes, and dranspose needs redis-server.
dranspose gets the frames of a plain consumer, by its own ingester; its two workers have no class, and events
are given to them in batches of 100, as fast as they take them. PvaPy's simulated area detector and one
consumer that passes everything on are compared with generator, receiver, and a pipeline of one worker at the
same rate: frames of the same size and type, made before they are sent on both sides, live only. Each process
counts with all threads that it has had, since PvaPy's source starts one per frame. Its consumer asks for a
queue as long as our receiver's: with the two frames that it has by itself, it misses a quarter of 1,500 per
second, and says nothing of it.
"""

from __future__ import annotations

import json
import shutil
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3

from penstock.bench.pipeline import DEADLINE, Frames, Pipeline, Receiver
from penstock.bench.processing import NOTHING, QUEUE_MB
from penstock.hosts.child import Child, free_port
from penstock.hosts.version import CHECKOUT

ENVIRONMENT = CHECKOUT / ".venv-judges" / "processing"
MISSING = f"there is no {ENVIRONMENT}, or no redis-server; make judges installs them"
BATCH = 100
"""Consecutive events that go to the same worker of dranspose."""
DRANSPOSE = "dranspose"
EVENT_CASES = (
    (Frames(name="20 kB", shape=(100, 100), count=25_000), 6_000, (("by reference", 5.0), ("by TCP", 2.5))),
    (Frames(name="200 kB", shape=(316, 316), count=6_000), 3_000, (("by reference", 2.0),)),
)
"""Frames for Penstock, number of them for dranspose, and bars."""


@dataclass(frozen=True, kw_only=True)
class Events:
    """Events per second, one entry per round, of dranspose and of pipelines."""

    frames: Frames
    bars: tuple[tuple[str, float], ...]
    rates: dict[str, list[float]]

    def ratio(self, kind: str) -> float:
        """Return the rate of a pipeline, times dranspose's: median of the rounds."""
        pairs = zip(self.rates[kind], self.rates[DRANSPOSE], strict=True)
        return statistics.median(ours / theirs for ours, theirs in pairs)


def environment() -> Path | None:
    """Return the folder with the programs of others; `None` if there is none."""
    return ENVIRONMENT / "bin" if (ENVIRONMENT / "bin" / "dranspose").is_file() else None


def dranspose(
    folder: Path, rounds: int, progress: Callable[[str], None], programs: Path | None
) -> list[Events]:
    """Measure events per second beside dranspose; nothing if it is not there.

    Raises:
        ProcessFailed: a process did not start.
        RuntimeError: a series was not complete.
    """
    if programs is None or shutil.which("redis-server") is None:
        return []
    found = []
    for frames, fewer, bars in EVENT_CASES:
        kinds = tuple(kind for kind, _ in bars)
        result = Events(frames=frames, bars=bars, rates={kind: [] for kind in (DRANSPOSE, *kinds)})
        with ExitStack() as processes:
            progress(f"{frames.name}: dranspose and pipelines start")
            entry: dict[str, Any] = {"when_full": "block", "queue_mb": QUEUE_MB}
            feeding = Receiver(folder, frames, entry, processes)
            theirs = Dranspose(folder, programs, feeding, processes)
            ours = {}
            for kind in kinds:
                of_kind = {"shared": True, "queue_mb": QUEUE_MB} if kind == "by reference" else entry
                receiver = Receiver(folder, frames, of_kind, processes)
                ours[kind] = receiver, Pipeline(folder, receiver, NOTHING, 2, processes)
            for number in range(1, rounds + 1):
                progress(f"{frames.name}, dranspose, round {number} of {rounds}")
                result.rates[DRANSPOSE].append(theirs.take(frames.of(fewer)))
                for kind, (receiver, pipeline) in ours.items():
                    progress(f"{frames.name}, {kind}, round {number} of {rounds}")
                    with receiver.taking(frames) as taking:
                        counts = pipeline.over()
                        seconds = time.monotonic() - taking.began
                    if counts.done < frames.count:
                        raise RuntimeError(f"of {frames.count} frames {counts.done} were processed: {counts}")
                    result.rates[kind].append(frames.count / seconds)
        found.append(result)
    return found


class Dranspose:
    """Its controller, reducer, ingester and two workers, and a Redis of their own.

    Args:
        folder: for Redis.
        programs: where they are.
        receiver: whose plain consumer it is.
        processes: in which they are started, and ended with.
    """

    def __init__(self, folder: Path, programs: Path, receiver: Receiver, processes: ExitStack) -> None:
        self._receiver = receiver
        self._http = urllib3.PoolManager()
        redis, web, reducer = free_port(), free_port(), free_port()
        (there,) = receiver.client.status().consumers
        around = {
            "REDIS_URL": f"redis://127.0.0.1:{redis}/0",
            "INGESTER_URL": f"tcp://localhost:{free_port()}",
            "REDUCER_URL": f"tcp://localhost:{free_port()}",
        }
        self._url = f"http://127.0.0.1:{web}/api/v1"

        def start(name: str, argv: tuple[str, ...], ready: str) -> None:
            child = Child(
                name,
                argv,
                lambda line: True if ready in line else None,
                deadline=DEADLINE,
                environment=around,
            )
            processes.enter_context(child)

        server = (
            "redis-server",
            "--port",
            str(redis),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--dir",
            str(folder),
        )
        start("redis", server, "Ready to accept connections")
        app = ("dranspose.controller:app", "--host", "127.0.0.1", "--port", str(web))
        start("controller", (str(programs / "uvicorn"), *app), "startup complete")
        program = str(programs / "dranspose")
        at = ("--host", "127.0.0.1", "--port", str(reducer))
        start("reducer", (program, "reducer", *at), "startup complete")
        for name in ("first", "second"):
            start(name, (program, "worker", "--name", name), "created worker")
        ingester = ("-c", "ZmqPullSingleIngester", "-u", there.endpoint, "-n", "bench")
        start("ingester", (program, "ingester", *ingester), "created ingester")
        due = time.monotonic() + DEADLINE
        while not self._is_there(self._ask("GET", "config")):
            if time.monotonic() > due:
                raise RuntimeError("dranspose's processes do not find each other")
            time.sleep(0.2)  # it has no news to wait for

    def take(self, frames: Frames) -> float:
        """Let it take a series; return the events per second.

        Raises:
            RuntimeError: it does not end.
        """
        events = [[{"constraint": number // BATCH}] for number in range(frames.count)]
        self._ask("POST", "sequence", {"parts": {"main": {"bench": events}}, "sequence": ["main"]})
        self._receiver.connected()
        with self._receiver.taking(frames) as taking:
            due = time.monotonic() + DEADLINE
            while not (progress := self._ask("GET", "progress"))["finished"]:
                if time.monotonic() > due:
                    raise RuntimeError(f"dranspose does not end its series: {progress}")
                time.sleep(0.1)  # to ask more often would cost it time
            return frames.count / (time.monotonic() - taking.began)

    @staticmethod
    def _is_there(found: Any) -> bool:
        return bool(found["reducer"]) and len(found["workers"]) == 2 and len(found["ingesters"]) == 1

    def _ask(self, method: str, path: str, content: Any = None) -> Any:
        answer = self._http.request(method, f"{self._url}/{path}", json=content, timeout=DEADLINE)
        if answer.status != 200:
            raise RuntimeError(f"dranspose refuses {path}: {answer.data.decode(errors='replace')[:300]}")
        return json.loads(answer.data)
