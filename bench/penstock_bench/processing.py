"""How workers of live processing work: what they share, and what they take."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from penstock.stins.texts import plural
from penstock_bench.consumers import PROCESS, pipeline_of
from penstock_bench.receivers import Pipeline, Receiver, per_frame, process_seconds, since
from penstock_bench.results import Frames, Turn, Turns
from penstock_bench.runner import Bench

WAITERS, WAIT, COMPUTE = 8, 0.020, 0.004
"""Workers that wait; seconds per frame that workers wait, or compute."""
KILLED, EVERY = 3, 0.5
"""Workers of which one is killed every so many seconds; the pipeline starts another one each time."""
COMPUTES = f"""{PROCESS}due = time.thread_time() + {COMPUTE}
        while time.thread_time() < due:
            pass
"""


def sharing(bench: Bench, frames: Frames) -> Turns:
    """Let eight workers that wait take the frames that come faster than they take them, beside one that does;
    and workers compute, beside which receiver and distributor shall take little."""
    few = frames.count // 10
    with ExitStack() as processes:
        takers: dict[str, Callable[[], Turn]] = {}
        for workers in (1, WAITERS):
            source, load = f"{PROCESS}time.sleep({WAIT})\n", frames.of(few * workers)
            receiver, pipeline = pipeline_of(bench.folder, load, source, workers, processes)
            name = plural(workers, "worker that waits", "workers that wait")
            takers[name] = partial(_waiting, receiver, pipeline, load)
        turns = bench.in_turn(takers)
    with ExitStack() as processes:
        number = min(2, os.cpu_count() or 1)
        receiver, pipeline = pipeline_of(bench.folder, frames, COMPUTES, number, processes)
        return turns | bench.in_turn(
            {"workers that compute": partial(_computing, receiver, pipeline, frames)}
        )


def _waiting(receiver: Receiver, pipeline: Pipeline, frames: Frames) -> Turn:
    def processed() -> Turn:
        return {each.name: float(each.frames) for each in pipeline.client.status().workers}

    shares = since(processed)
    with receiver.taking(frames) as taking:
        pass
    pipeline.over(frames.count)
    rate, found = frames.count / (time.monotonic() - taking.began), shares().values()
    unlike = max(abs(share * len(found) / frames.count - 1) for share in found)
    return {"frames/s": rate} | ({"unlike an equal share, %": 100 * unlike} if len(found) > 1 else {})


def _computing(receiver: Receiver, pipeline: Pipeline, frames: Frames) -> Turn:
    with receiver.taking(frames):
        spent = since(lambda: {"receiver": process_seconds(receiver.data)} | pipeline.seconds())
    pipeline.over(frames.count)
    took = spent()
    share = 100 * (took["receiver"] + took["distributor"]) / took["workers"]
    return {"receiver and distributor, % of workers": share} | per_frame(took, frames.count)


def kills(bench: Bench, frames: Frames) -> Turns:
    """Kill a worker of a running series now and then: whoever has done most, since in place of one that has
    worked another is started at once."""
    with ExitStack() as processes:
        source = f"{PROCESS}time.sleep(0.002)\n"
        receiver, pipeline = pipeline_of(bench.folder, frames, source, KILLED, processes)
        return bench.in_turn({f"{KILLED} workers": partial(_killing, receiver, pipeline, frames)})


def _killing(receiver: Receiver, pipeline: Pipeline, frames: Frames) -> Turn:
    killed = 0
    with receiver.taking(frames) as taking:
        due = taking.began + EVERY
        while due < taking.began + frames.count / frames.rate:
            time.sleep(max(0.0, due - time.monotonic()))
            due += EVERY
            most = max(pipeline.client.status().workers, key=lambda each: each.frames, default=None)
            if most is not None and most.frames:
                os.kill(most.pid, signal.SIGKILL)
                killed += 1
    pipeline.over(frames.count, may_die=True)
    pause = pipeline.client.status().longest_pause
    return {"longest pause, ms": pause * 1e3, "kills": float(killed)}
