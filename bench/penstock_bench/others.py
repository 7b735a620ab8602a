"""Beside programs of others: dranspose 0.2.0 and PvaPy 5.6, in an environment that `make judges` makes.

dranspose, which needs redis-server, gets the frames of a plain consumer, by its own ingester; its two workers
have no class, and events are given to them in batches, as fast as they take them. PvaPy's programs are
unmodified: its simulated area detector, and consumers whose class passes every frame on. On both sides:
frames of the same size, type and rate, made before the first one is sent, live only; neither reads a pixel.
What counts is spent within a series, not by its begin and end, by all threads that a process has had: PvaPy's
source starts one for each frame.

What consumers have missed is by their own word: each tells how many frames it has taken, and the `uniqueId`
of the last one. A consumer asks for a queue in which it misses none: in the one that it has by itself it
misses a quarter of 1,500 frames per second, and says so only in its statistics.
"""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import urllib3

from penstock.hosts.child import PENSTOCK, Child, free_port
from penstock_bench.cases import Chain
from penstock_bench.processing import BLOCKING, NOTHING, SHARED, pipeline_of
from penstock_bench.receivers import DEADLINE, ENTRY, Pipeline, Receiver, difference, process_seconds, start
from penstock_bench.results import Frames, Turn, Turns
from penstock_bench.runner import JUDGES, Bench, NotMeasured, packages_with

PROGRAMS = JUDGES / "bin"
BATCH = 100
"""Consecutive events that go to the same worker of dranspose."""
FEWER = 4
"""dranspose is slower: it gets so many times fewer frames."""
MOST_MISSED, LEAST_RATE = 0.01, 0.8
"""Share of frames that PvaPy's consumers have missed, and of the rate that a sender has kept, beyond which
figures say nothing."""
DIFFERENT = 16
"""Frames that PvaPy's source makes, and sends in turn."""
AROUND = 1.0
"""Seconds of a series before and after what counts."""
QUEUE, TOLD = 64, 10.0
"""Frames that may wait for PvaPy's consumer; times per second that it tells what it has taken."""
PASS_ON = """
import os

from pvapy.hpc.userDataProcessor import UserDataProcessor


def say(line):  # at once: other threads of PvaPy print as well
    os.write(1, (line + chr(10)).encode())


class PassOn(UserDataProcessor):
    def __init__(self, configDict):
        super().__init__(configDict)
        self.count, self.every = 0, configDict["every"]

    def start(self):
        say("started")

    def getOutputPvObjectType(self, pvObject):
        say("connected")
        return pvObject

    def process(self, pvObject):
        self.count += 1
        if self.count % self.every == 0:
            say('{"count": %d, "id": %d}' % (self.count, pvObject["uniqueId"]))
        self.updateOutputChannel(pvObject)
        return pvObject
"""


# -- dranspose ---------------------------------------------------------------------------------------------


def dranspose(bench: Bench, frames: Frames) -> Turns:
    """Let dranspose and pipelines of two workers take the same frames: events per second."""
    if not (PROGRAMS / "dranspose").is_file() or shutil.which("redis-server") is None:
        raise NotMeasured(
            f"there is no {PROGRAMS / 'dranspose'}, or no redis-server; make judges installs them"
        )
    with ExitStack() as processes:
        feeding = Receiver(bench.folder, frames, processes, forward=BLOCKING)
        theirs = Dranspose(bench.folder, feeding, processes)
        takers: dict[str, Callable[[], Turn]] = {
            "dranspose": partial(theirs.take, frames.of(frames.count // FEWER))
        }
        for kind, forward in (("by reference", SHARED), ("by TCP", BLOCKING)):
            receiver = Receiver(bench.folder, frames, processes, forward=forward)
            pipeline = Pipeline(bench.folder, receiver, NOTHING, 2, processes)
            takers[kind] = partial(_events, receiver, pipeline, frames)
        return bench.in_turn(takers)


def _events(receiver: Receiver, pipeline: Pipeline, frames: Frames) -> Turn:
    with receiver.taking(frames) as taking:
        pipeline.over(frames.count)
        seconds = time.monotonic() - taking.began
    return {"events/s": frames.count / seconds}


class Dranspose:
    """Its controller, reducer, ingester and two workers, and a Redis of their own.

    Args:
        folder: for Redis.
        receiver: whose plain consumer it is.
        processes: in which they are started, and ended with.
    """

    def __init__(self, folder: Path, receiver: Receiver, processes: ExitStack) -> None:
        self._receiver, self._http = receiver, urllib3.PoolManager()
        redis, web, reducer = free_port(), free_port(), free_port()
        (there,) = receiver.client.status().consumers
        around = {
            "REDIS_URL": f"redis://127.0.0.1:{redis}/0", "INGESTER_URL": f"tcp://localhost:{free_port()}",
            "REDUCER_URL": f"tcp://localhost:{free_port()}",
        }  # fmt: skip
        self._url = f"http://127.0.0.1:{web}/api/v1"
        programs = {
            "redis": ("redis-server", f"--port {redis} --bind 127.0.0.1 --save  --dir {folder}",
                      "Ready to accept connections"),
            "controller": ("uvicorn", f"dranspose.controller:app --host 127.0.0.1 --port {web}",
                           "startup complete"),
            "reducer": ("dranspose", f"reducer --host 127.0.0.1 --port {reducer}", "startup complete"),
            "worker 1": ("dranspose", "worker --name first", "created worker"),
            "worker 2": ("dranspose", "worker --name second", "created worker"),
            "ingester": ("dranspose", f"ingester -c ZmqPullSingleIngester -u {there.endpoint} -n bench",
                         "created ingester"),
        }  # fmt: skip
        for name, (program, words, ready) in programs.items():
            path = program if name == "redis" else str(PROGRAMS / program)
            started = partial(_says, ready)
            child = Child(name, (path, *words.split(" ")), started, deadline=DEADLINE, environment=around)
            processes.enter_context(child)
        due = time.monotonic() + DEADLINE
        while not self._is_there(self._ask("GET", "config")):
            if time.monotonic() > due:
                raise RuntimeError("dranspose's processes do not find each other")
            time.sleep(0.2)  # it has no news to wait for

    def take(self, frames: Frames) -> Turn:
        """Let it take a series.

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
            return {"events/s": frames.count / (time.monotonic() - taking.began)}

    @staticmethod
    def _is_there(found: Any) -> bool:
        return bool(found["reducer"]) and len(found["workers"]) == 2 and len(found["ingesters"]) == 1

    def _ask(self, method: str, path: str, content: Any = None) -> Any:
        answer = self._http.request(method, f"{self._url}/{path}", json=content, timeout=DEADLINE)
        if answer.status != 200:
            raise RuntimeError(f"dranspose refuses {path}: {answer.data.decode(errors='replace')[:300]}")
        return json.loads(answer.data)


# -- PvaPy -------------------------------------------------------------------------------------------------


def pvapy(bench: Bench, frames: Frames) -> Turns:
    """Let PvaPy's source and one consumer, and generator, receiver and a pipeline of one worker, take the
    same frames."""
    packages_with("pvaccess")
    with ExitStack() as processes:
        receiver, pipeline = pipeline_of(bench.folder, frames, NOTHING, 1, processes)
        chain = Chain(frames, 1, 1)
        theirs = partial(_pvapy, bench.folder, chain, QUEUE, round(AROUND * frames.rate), 10)
        return bench.in_turn({"PvaPy": theirs, "penstock": partial(_penstock, receiver, pipeline, frames)})


def streaming(bench: Bench, chain: Chain) -> Turns:
    """Let PvaPy's consumers take frames of PvaPy's source, and of generator, receiver and bridge. Several
    share the frames out by PvaPy's distributor; with a second stage, as many again take what the first put
    out."""
    packages = bench.folder / "packages"  # the bridge finds PvaPy, and nothing else of its environment
    packages.mkdir(exist_ok=True)
    if not (packages / "pvaccess").exists():
        (packages / "pvaccess").symlink_to(packages_with("pvaccess") / "pvaccess")
    mark, every = chain.frames.mark, max(1, round(chain.frames.rate / TOLD))
    with ExitStack() as processes:
        return bench.in_turn(
            {
                "PvaPy": partial(_pvapy, bench.folder, chain, mark, mark, every),
                "penstock": _behind_a_bridge(bench.folder, packages, chain, every, processes),
            }
        )


def _pvapy(folder: Path, chain: Chain, queue: int, lead: int, every: int) -> Turn:
    environment, channel = alone(), "bench:image"
    with ExitStack() as processes:
        server = source(channel, chain.frames, environment, processes)
        stages = consumers(folder, chain, channel, queue, every, environment, processes)
        return within(stages, lambda: {"source": process_seconds(server)}, chain.frames, lead)


def _penstock(receiver: Receiver, pipeline: Pipeline, frames: Frames) -> Turn:
    sent = frames.of(frames.count + round(2 * AROUND * frames.rate))

    def seconds() -> Turn:
        ours = receiver.seconds()
        ours = {"receiver": ours["receiver"], "receiver's HTTP": ours["HTTP"]}
        return {"generator": process_seconds(taking.sender)} | ours | pipeline.seconds()

    with receiver.taking(sent) as taking:
        time.sleep(AROUND)  # it is asked nothing meanwhile, which would cost time
        before, began = seconds(), time.monotonic()
        time.sleep(frames.count / frames.rate)
        spent, took = difference(seconds(), before), time.monotonic() - began
    pipeline.over(sent.count)
    if taking.rate < LEAST_RATE * frames.rate:
        raise RuntimeError(f"the generator has sent {taking.rate:g} frames per second, not {frames.rate:g}")
    return _all(spent, took * taking.rate)


def _behind_a_bridge(
    folder: Path, packages: Path, chain: Chain, every: int, processes: ExitStack
) -> Callable[[], Turn]:
    """Start a receiver, a bridge and its consumers; return a function that takes a series."""
    frames, environment = chain.frames, alone()
    receiver = Receiver(folder, frames, processes, forward={"queue_mb": 256})
    keys = {"server": "pvapy"}
    bridge = start_bridge(folder, receiver, processes, environment | {"PYTHONPATH": str(packages)}, keys)
    stages = consumers(folder, chain, "BENCH:IMAGE", frames.mark, every, environment, processes)
    around = frames.mark * chain.consumers + round(AROUND * frames.rate)

    def take() -> Turn:
        with receiver.taking(frames.of(frames.count + around)) as taking:

            def seconds() -> Turn:
                ours = receiver.seconds()
                return {
                    "generator": process_seconds(taking.sender), "receiver": ours["receiver"] + ours["HTTP"],
                    "bridge": process_seconds(bridge["pid"]),
                }  # fmt: skip

            return within(stages, seconds, frames, frames.mark)

    return take


def start_bridge(
    folder: Path, receiver: Receiver, processes: ExitStack, environment: dict[str, str] | None = None,
    keys: dict[str, str] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Start a bridge of this receiver's frames to BENCH:IMAGE; return what it tells."""
    config = folder / "epics.yaml"
    entry = {"prefix": "BENCH", "receiver": receiver.url, "consumer": ENTRY, "listen": "127.0.0.1:0"}
    config.write_text(json.dumps(entry | (keys or {})))
    argv = (*PENSTOCK, "epics", str(config), "--http", "127.0.0.1:0", "--json")
    answer = start(processes, "bridge", argv, "pva", environment=environment).answer
    receiver.connected()
    return answer


def alone() -> dict[str, str]:
    """Return the variables of servers and clients that find each other, and nobody else."""
    search = str(free_port())
    return {
        "EPICS_PVA_ADDR_LIST": "127.0.0.1", "EPICS_PVA_AUTO_ADDR_LIST": "NO",
        "EPICS_PVAS_INTF_ADDR_LIST": "127.0.0.1", "EPICS_PVAS_AUTO_BEACON_ADDR_LIST": "NO",
        "EPICS_PVA_BROADCAST_PORT": search, "EPICS_PVAS_BROADCAST_PORT": search, "PYTHONUNBUFFERED": "1",
    }  # fmt: skip


def source(channel: str, frames: Frames, environment: dict[str, str], processes: ExitStack) -> int:
    """Start PvaPy's source, which makes its frames before it sends the first one; return its process id."""
    rows, columns = frames.shape
    argv = (
        str(PROGRAMS / "pvapy-ad-sim-server"), "-cn", channel, "-nx", str(columns), "-ny", str(rows),
        "-dt", frames.dtype, "-nf", str(DIFFERENT), "-fps", f"{frames.rate:g}",
        "-rt", f"{frames.count / frames.rate + 2 * DEADLINE:g}", "-std", "1", "-dc", "-rp", "100000",
    )  # fmt: skip
    says = partial(_says, "")
    child = Child("PvaPy's source", argv, says, deadline=DEADLINE, environment=environment)
    return processes.enter_context(child).pid


class Consumer:
    """One of PvaPy's consumers, whose class passes every frame on.

    Args:
        folder: for the class.
        channel: whose frames it takes.
        queue: frames that may wait for it.
        every: number of frames after which it tells.
        environment: from `alone`.
        processes: in which it is started, and ended with.
        share: how many consumers PvaPy's distributor shares the frames out among.
        output: channel that it serves them on; "": none.
    """

    def __init__(
        self, folder: Path, channel: str, queue: int, every: int, environment: dict[str, str],
        processes: ExitStack, *, share: int = 1, output: str = "",
    ) -> None:  # fmt: skip
        file = folder / "pass_on.py"
        file.write_text(PASS_ON)
        argv = [
            str(PROGRAMS / "pvapy-hpc-consumer"), "-ic", channel, "-pf", str(file), "-pc", "PassOn",
            "-pa", json.dumps({"every": every}), "-dc", "-sqs", str(queue),
            *(("-du", "1", "-oo", str(share)) if share > 1 else ()), *(("-oc", output) if output else ()),
        ]  # fmt: skip
        ready = "connected" if output else "started"  # before the first frame it prints nothing by itself
        self.taken = (0, 0)
        """Frames, and the number of the last one, as it has told."""
        self._news = threading.Event()
        child = Child(
            "PvaPy's consumer", argv, lambda line: True if line == ready else None, deadline=DEADLINE,
            environment=environment, relay=self._line,
        )  # fmt: skip
        self.pid = processes.enter_context(child).pid

    def wait(self, count: int, due: float) -> None:
        """Wait until it has taken so many.

        Raises:
            RuntimeError: it has not in time.
        """
        while self.taken[0] < count:
            if time.monotonic() > due:
                raise RuntimeError(f"PvaPy's consumer has taken {self.taken[0]} frames in time, not {count}")
            self._news.wait(1.0)
            self._news.clear()

    def _line(self, line: str) -> None:
        if line.startswith('{"count"'):
            told = json.loads(line)
            self.taken = int(told["count"]), int(told["id"])
            self._news.set()


def consumers(
    folder: Path, chain: Chain, channel: str, queue: int, every: int, environment: dict[str, str],
    processes: ExitStack,
) -> list[list[Consumer]]:  # fmt: skip
    """Start the consumers of a chain, by stage."""
    channels, found = [channel] * chain.consumers, []
    for stage in range(1, chain.stages + 1):
        outputs = [f"bench:{stage}:{number}" for number in range(chain.consumers)]
        found.append([
            Consumer(
                folder, taken, queue, every, environment, processes,
                share=chain.consumers if stage == 1 else 1, output=output if stage < chain.stages else "",
            )
            for taken, output in zip(channels, outputs, strict=True)
        ])  # fmt: skip
        channels = outputs
    return found


def within(
    stages: Sequence[Sequence[Consumer]], others: Callable[[], Turn], frames: Frames, lead: int
) -> Turn:
    """Return what each process takes within a series, not by its begin, and the share of frames missed.

    Args:
        stages: consumers that share the frames of a source out, and those that take what these put out.
        others: returns the processor time so far of the other processes.
        frames: how many count, and their rate.
        lead: frames that each consumer takes before: its queue is used then, and its memory there.

    Raises:
        RuntimeError: consumers have missed too many, or the source was too slow, so that figures say nothing.
    """

    def seconds() -> Turn:
        return others() | {
            f"consumers {number}": sum(process_seconds(each.pid) for each in stage)
            for number, stage in enumerate(stages, 1)
        }

    due = time.monotonic() + DEADLINE + frames.count / frames.rate
    all_of_them = [each for stage in stages for each in stage]
    for each, first in [(each, each.taken[0] + lead) for each in all_of_them]:
        each.wait(first, due)
    began, earlier, before = time.monotonic(), [each.taken for each in all_of_them], seconds()
    for each, (count, _) in zip(all_of_them, earlier, strict=True):
        each.wait(count + frames.count // len(stages[0]), due)
    spent, told = difference(seconds(), before), [each.taken for each in all_of_them]
    took = time.monotonic() - began
    pairs = list(zip(earlier, told, strict=True))
    taken = sum(count - first_count for (first_count, _), (count, _) in pairs)
    sent = [(last - first) / len(stages[0]) for (_, first), (_, last) in pairs]
    missed = max(0.0, 1 - taken / sum(sent))
    if missed > MOST_MISSED:
        raise RuntimeError(
            f"PvaPy's consumers have missed {missed:.1%} of the frames, so figures say nothing"
        )
    total = sum(sent[: len(stages[0])])
    if total / took < LEAST_RATE * frames.rate:
        raise RuntimeError(f"{total / took:.0f} frames per second were sent, not {frames.rate:g}")
    return _all(spent, total) | {"missed, %": 100 * missed}


def _all(spent: Turn, frames: float) -> Turn:
    each = {f"{name}, µs": seconds / frames * 1e6 for name, seconds in spent.items()}
    return {"all, µs": sum(each.values())} | each


def _says(word: str, line: str) -> bool | None:
    return True if word in line else None
