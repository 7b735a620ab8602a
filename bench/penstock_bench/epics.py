"""What EPICS costs: processor time per frame of the camera and of the bridge, beside their bare parts.

The camera: the streamer and a program of the bare parts take acquisitions of one simulated IOC in turn, and
send the frames to consumers that do nothing. The bridge: `penstock epics` and such a program take series of a
receiver in turn, and post the frames to a client that does nothing. All at rates that the machine takes, so
that nobody loses frames.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial

from penstock.bridges.epics.client import BridgeClient
from penstock.hosts.child import PENSTOCK, free_port
from penstock.streamer.camera.settings import Settings, TriggerMode
from penstock.streamer.remote.client import StreamerClient
from penstock_bench.others import start_bridge
from penstock_bench.programs import DRIVER, IMAGE
from penstock_bench.receivers import DEADLINE, Receiver, process_seconds, program, start
from penstock_bench.results import Frames, Turn, Turns
from penstock_bench.runner import Bench

OURS, BARE = "penstock", "bare parts"


def camera(bench: Bench, frames: Frames) -> Turns:
    """Let streamer and bare parts take acquisitions of an IOC. In the first one memory is touched for the
    first time, for which frames may be lost."""
    sensor = "x".join(map(str, frames.shape))
    ioc = [*PENSTOCK, "areadetector", "--sensor", sensor, "--pixel-type", frames.dtype, "--json"]
    sink = f"tcp://127.0.0.1:{free_port()}"
    with ExitStack() as stack:
        server = start(stack, "IOC", ioc, "server").answer["server"]
        takers = {OURS: _streamer(server, frames, stack)}
        takers[BARE] = partial(_bare_camera, server, sink, frames)
        program(stack, "pull", sink)
        return bench.in_turn(takers, warm_up=1)


def bridge(bench: Bench, frames: Frames) -> Turns:
    """Let bridge and bare parts take series of receivers."""
    with ExitStack() as stack:
        takers = {}
        for name, start in ((OURS, _bridge), (BARE, _bare_bridge)):
            receiver = Receiver(bench.folder, frames, stack, forward={"queue_mb": 256})
            takers[name] = start(bench, receiver, frames, stack)
        return bench.in_turn(takers, warm_up=1)


def _figure(spent: float, frames: Frames) -> Turn:
    return {"process, µs": spent / frames.count * 1e6}


def _streamer(server: str, frames: Frames, stack: ExitStack) -> Callable[[], Turn]:
    unit = {"NameServers": server, "DriverPrefix": DRIVER, "ImageRecord": IMAGE}
    argv = (
        *PENSTOCK, "streamer", "AreaDetector", "--data", "tcp://127.0.0.1:0", "--control", "tcp://127.0.0.1:0",
        "--properties", json.dumps(unit),
    )  # fmt: skip
    streamer = start(stack, "streamer", argv, "control").answer
    program(stack, "pull", streamer["data"])
    client = stack.enter_context(closing(StreamerClient(streamer["control"], timeout=10.0)))
    pid, is_first = int(streamer["pid"]), True
    settings = Settings(
        exposure_time=0.5 / frames.rate, latency_time=0.5 / frames.rate, n_triggers=frames.count,
        n_frames_per_trigger=1, trigger_mode=TriggerMode.INTERNAL, filename="", overwrite=False,
        save_raw=True, rotation=0, fliplr=False, flipud=False, metadata="{}", beam_center=(0.0, 0.0),
        distance=0.0, camera=dict(client.describe().values),
    )  # fmt: skip

    def take() -> Turn:
        nonlocal is_first
        client.prepare(settings, DEADLINE)
        client.announce()
        before = process_seconds(pid)
        client.start(DEADLINE)
        time.sleep(frames.count / frames.rate)  # it is asked nothing meanwhile, which would cost time
        due = time.monotonic() + DEADLINE
        while (status := client.status()).state not in ("idle", "fault"):
            if time.monotonic() > due:
                raise RuntimeError(f"the series does not end: {status}")
            time.sleep(0.1)
        if status.sent != frames.count and not is_first:
            raise RuntimeError(f"the camera has lost {frames.count - status.sent} of {frames.count} frames")
        is_first = False
        return _figure(process_seconds(pid) - before, frames)

    return take


def _bare_camera(server: str, sink: str, frames: Frames) -> Turn:
    with ExitStack() as stack:
        numbers = (str(frames.count), str(1 / frames.rate))
        deadline = frames.count / frames.rate + DEADLINE
        bare = program(stack, "camera", server, sink, *numbers, key="cpu_seconds", deadline=deadline)
        return _figure(float(bare.answer["cpu_seconds"]), frames)


def _bridge(bench: Bench, receiver: Receiver, frames: Frames, stack: ExitStack) -> Callable[[], Turn]:
    there = start_bridge(bench.folder, receiver, stack)
    program(stack, "client", there["pva"][0], "BENCH:IMAGE")
    client, pid = BridgeClient(there["http"], timeout=5.0), int(there["pid"])

    def take() -> Turn:
        posted, before = client.status().images[0].posted, process_seconds(pid)
        with receiver.taking(frames):
            pass
        due = time.monotonic() + DEADLINE
        while (now := client.status().images[0].posted) < posted + frames.count:
            if time.monotonic() > due:
                raise RuntimeError(f"the bridge has posted {now - posted} of {frames.count} frames")
            time.sleep(0.1)
        return _figure(process_seconds(pid) - before, frames)

    return take


def _bare_bridge(bench: Bench, receiver: Receiver, frames: Frames, stack: ExitStack) -> Callable[[], Turn]:
    (entry,) = receiver.client.status().consumers
    over = threading.Event()
    relay = lambda line: over.set() if line == "posted" else None  # noqa: E731
    bare = program(stack, "bridge", entry.endpoint, key="server", relay=relay)
    receiver.connected()
    program(stack, "client", bare.answer["server"], IMAGE)

    def take() -> Turn:
        over.clear()
        before = process_seconds(bare.pid)
        with receiver.taking(frames):
            pass
        if not over.wait(DEADLINE):
            raise RuntimeError("the bare parts have not seen the end of the series")
        return _figure(process_seconds(bare.pid) - before, frames)

    return take
