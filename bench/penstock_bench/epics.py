"""What EPICS costs: processor time per frame of the camera and of the bridge, beside their bare parts.

The camera: the streamer and a program of the bare parts take acquisitions of one simulated IOC in turn, and
send the frames to consumers that do nothing. The bridge: `penstock epics` and such a program take series of a
receiver in turn, and post the frames to a client that does nothing. All at rates that the machine takes, so
that nobody loses frames.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

from penstock.bridges.epics.client import BridgeClient
from penstock.hosts.child import PENSTOCK, free_port
from penstock.streamer.camera.settings import Settings, TriggerMode
from penstock.streamer.remote.client import StreamerClient
from penstock_bench.programs import DRIVER, IMAGE
from penstock_bench.receivers import (
    DEADLINE,
    ENTRY,
    Loop,
    Receiver,
    per_frame,
    poll,
    process_seconds,
    program,
    since,
    start,
)
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
        Loop(stack, sink)
        return bench.in_turn(takers, warm_up=1)


def _streamer(server: str, frames: Frames, stack: ExitStack) -> Callable[[], Turn]:
    unit = {"NameServers": server, "DriverPrefix": DRIVER, "ImageRecord": IMAGE}
    argv = (
        *PENSTOCK, "streamer", "AreaDetector", "--data", "tcp://127.0.0.1:0", "--control", "tcp://127.0.0.1:0",
        "--properties", json.dumps(unit),
    )  # fmt: skip
    streamer = start(stack, "streamer", argv, "control").answer
    Loop(stack, streamer["data"])
    client = stack.enter_context(closing(StreamerClient(streamer["control"], timeout=10.0)))
    may_lose = iter((True,))
    settings = Settings(
        exposure_time=0.5 / frames.rate, latency_time=0.5 / frames.rate, n_triggers=frames.count,
        n_frames_per_trigger=1, trigger_mode=TriggerMode.INTERNAL, filename="", overwrite=False,
        save_raw=True, rotation=0, fliplr=False, flipud=False, metadata="{}", beam_center=(0.0, 0.0),
        distance=0.0, camera=dict(client.describe().values),
    )  # fmt: skip

    def take() -> Turn:
        client.prepare(settings, DEADLINE)
        client.announce()
        spent = since(lambda: {"process": process_seconds(streamer["pid"])})
        client.start(DEADLINE)
        time.sleep(frames.count / frames.rate)  # it is asked nothing meanwhile, which would cost time
        ended = lambda status: status.state in ("idle", "fault")  # noqa: E731
        status = poll(client.status, ended, "the series does not end", pause=0.1)
        if status.sent != frames.count and not next(may_lose, False):
            raise RuntimeError(f"the camera has lost {frames.count - status.sent} of {frames.count} frames")
        return per_frame(spent(), frames.count)

    return take


def _bare_camera(server: str, sink: str, frames: Frames) -> Turn:
    with ExitStack() as stack:
        numbers = (str(frames.count), str(1 / frames.rate))
        deadline = frames.count / frames.rate + DEADLINE
        bare = program(stack, "camera", server, sink, *numbers, key="cpu_seconds", deadline=deadline)
        return per_frame({"process": float(bare.answer["cpu_seconds"])}, frames.count)


def bridge(bench: Bench, frames: Frames) -> Turns:
    """Let bridge and bare parts take series of receivers."""
    with ExitStack() as stack:
        theirs, ours = (Receiver(bench.folder, frames, stack, forward={"queue_mb": 256}) for _ in range(2))
        there = start_bridge(bench.folder, ours, stack)
        bare = Loop(stack, theirs.consumer.endpoint, "bridge")
        theirs.connected()
        for server, record in ((there["pva"][0], "BENCH:IMAGE"), (bare.answer["ready"], IMAGE)):
            program(stack, "client", server, record)
        client, totals = BridgeClient(there["http"], timeout=5.0), itertools.count(frames.count, frames.count)

        def posted(_: int) -> None:
            total = next(totals)
            over = lambda status: status.images[0].posted >= total  # noqa: E731
            poll(client.status, over, f"the bridge has not posted {total} frames", pause=0.1)

        takers = {
            OURS: partial(_bridged, ours, frames, there["pid"], posted),
            BARE: partial(_bridged, theirs, frames, bare.pid, bare.over),
        }
        return bench.in_turn(takers, warm_up=1)


def _bridged(receiver: Receiver, frames: Frames, pid: int, over: Callable[[int], object]) -> Turn:
    spent = since(lambda: {"process": process_seconds(pid)})
    receiver.take(frames)
    over(frames.count)
    return per_frame(spent(), frames.count)


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
