"""Beside dranspose 0.2.0, in an environment that `make judges` makes; it needs redis-server.

It gets the frames of a plain consumer, by its own ingester; its two workers have no class, and events are
given to them in batches, as fast as they take them. On both sides: frames of the same size, live only;
neither reads a pixel.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import urllib3

from penstock.hosts.child import Child, free_port
from penstock_bench.consumers import BLOCKING, SHARED, nothing
from penstock_bench.receivers import DEADLINE, Receiver, poll, says
from penstock_bench.results import Frames, Turn, Turns
from penstock_bench.runner import Bench, NotMeasured, program_of_others

BATCH = 100
"""Consecutive events that go to the same worker of dranspose."""
FEWER = 4
"""dranspose is slower: it gets so many times fewer frames."""


def dranspose(bench: Bench, frames: Frames) -> Turns:
    """Let dranspose and pipelines of two workers take the same frames: events per second."""
    program_of_others("dranspose")
    if shutil.which("redis-server") is None:
        raise NotMeasured("there is no redis-server; make judges installs it")
    with ExitStack() as processes:
        feeding = Receiver(bench.folder, frames, processes, forward=BLOCKING)
        ask = _started(bench.folder, feeding, processes)
        fewer = frames.of(frames.count // FEWER)
        takers: dict[str, Callable[[], Turn]] = {
            "dranspose": partial(_events, feeding, fewer, partial(_end, ask), partial(_begin, ask))
        }
        for kind, forward in (("by reference", SHARED), ("by TCP", BLOCKING)):
            receiver = Receiver(bench.folder, frames, processes, forward=forward)
            takers[kind] = partial(_events, receiver, frames, nothing(receiver, processes).over)
        return bench.in_turn(takers)


def _events(
    receiver: Receiver, frames: Frames, over: Callable[[int], object],
    begin: Callable[[int], object] = lambda count: None,
) -> Turn:  # fmt: skip
    begin(frames.count)
    receiver.connected()
    with receiver.taking(frames) as taking:
        over(frames.count)
        return {"events/s": frames.count / (time.monotonic() - taking.began)}


def _started(folder: Path, receiver: Receiver, processes: ExitStack) -> Callable[..., Any]:
    """Start its controller, reducer, ingester and two workers, and a Redis of their own; return what asks the
    controller."""
    redis, web, reducer = free_port(), free_port(), free_port()
    around = {
        "REDIS_URL": f"redis://127.0.0.1:{redis}/0", "INGESTER_URL": f"tcp://localhost:{free_port()}",
        "REDUCER_URL": f"tcp://localhost:{free_port()}",
    }  # fmt: skip
    source = f"-c ZmqPullSingleIngester -u {receiver.consumer.endpoint} -n bench"
    for program, words, ready in (
        ("redis-server", f"--port {redis} --bind 127.0.0.1 --save  --dir {folder}", "Ready to accept"),
        ("uvicorn", f"dranspose.controller:app --host 127.0.0.1 --port {web}", "startup complete"),
        ("dranspose", f"reducer --host 127.0.0.1 --port {reducer}", "startup complete"),
        ("dranspose", "worker --name first", "created worker"),
        ("dranspose", "worker --name second", "created worker"),
        ("dranspose", f"ingester {source}", "created ingester"),
    ):
        path = program if program == "redis-server" else program_of_others(program)
        child = Child(words, (path, *words.split(" ")), says(ready), deadline=DEADLINE, environment=around)
        processes.enter_context(child)
    http = urllib3.PoolManager()

    def ask(method: str, path: str, content: Any = None) -> Any:
        url = f"http://127.0.0.1:{web}/api/v1/{path}"
        answer = http.request(method, url, json=content, timeout=DEADLINE)
        if answer.status != 200:
            raise RuntimeError(f"dranspose refuses {path}: {answer.data.decode(errors='replace')[:300]}")
        return json.loads(answer.data)

    poll(partial(ask, "GET", "config"), _is_there, "dranspose's processes do not find each other", pause=0.2)
    return ask


def _is_there(found: Any) -> bool:
    return bool(found["reducer"]) and len(found["workers"]) == 2 and len(found["ingesters"]) == 1


def _begin(ask: Callable[..., Any], count: int) -> None:
    events = [[{"constraint": number // BATCH}] for number in range(count)]
    ask("POST", "sequence", {"parts": {"main": {"bench": events}}, "sequence": ["main"]})


def _end(ask: Callable[..., Any], count: int) -> None:
    complaint = f"dranspose does not end its series of {count} frames"
    # To ask more often would cost it time.
    poll(partial(ask, "GET", "progress"), lambda progress: progress["finished"], complaint, pause=0.1)
