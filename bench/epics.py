"""What EPICS costs: processor time per frame of the camera and of the bridge, beside their bare parts.

The camera: the streamer and a program of the bare parts (`epics_bare`) take acquisitions of one simulated IOC
in turn, and send the frames to consumers that do nothing. The bridge: `penstock epics` and such a program
take series of a receiver in turn, and post the frames to a client that does nothing. All at rates that the
machine takes, so that nobody loses frames. A third part is `epics_pvapy`.
"""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.bench.contenders import line_with, process_seconds
from penstock.bench.epics_bare import DRIVER, IMAGE, POSTED
from penstock.bench.pipeline import ENTRY, Frames, Receiver
from penstock.bridges.epics.client import BridgeClient
from penstock.hosts.child import PENSTOCK, PYTHON, Child, free_port
from penstock.streamer.camera.settings import Settings, TriggerMode
from penstock.streamer.remote.client import StreamerClient

DEADLINE = 60.0
"""Seconds for one series, and for a process to start."""


CASES = (
    Frames(name="512²", shape=(512, 512), count=1_200, rate=200.0, dtype="uint8"),
    Frames(name="4096²", shape=(4096, 4096), count=60, rate=10.0, dtype="uint8"),
)
CAMERA, BRIDGE = "camera", "bridge"
BARS = {CAMERA: 2.5, BRIDGE: 1.5}
"""Most processor time per frame, as a multiple of that of the bare parts."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """One case of one part: microseconds of processor time per frame, one entry per round."""

    part: str
    case: Frames
    ours: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """Our time, times that of the bare parts: the median of the rounds."""
        return statistics.median(our / bare for our, bare in zip(self.ours, self.bare, strict=True))

    @property
    def reached(self) -> bool:
        """Whether the bar is reached."""
        return self.ratio <= BARS[self.part]


def measure(
    folder: Path, rounds: int, progress: Callable[[str], None], cases: Sequence[Frames] = CASES,
    parts: Collection[str] = tuple(BARS),
) -> Iterator[Result]:  # fmt: skip
    """Measure each case of each part.

    Args:
        folder: for configurations.
        rounds: turns of each contender.
        progress: called with what is being measured.
        cases: what is sent.
        parts: of `BARS`.

    Raises:
        ProcessFailed: a process did not start, or a series did not end in time.
        RuntimeError: frames were lost, so that the figures say nothing.
    """
    for case in cases:
        if CAMERA in parts:
            yield _camera(case, rounds, progress)
        if BRIDGE in parts:
            yield _bridge(folder, case, rounds, progress)


def _camera(case: Frames, rounds: int, progress: Callable[[str], None]) -> Result:
    result = Result(part=CAMERA, case=case)
    sensor = "x".join(map(str, case.shape))
    ioc = [*PENSTOCK, "areadetector", "--sensor", sensor, "--pixel-type", "uint8", "--json"]
    with ExitStack() as stack:
        server = stack.enter_context(Child("IOC", ioc, line_with("server"))).answer["server"]
        take = stack.enter_context(_streamer(server, case))
        sink = f"tcp://127.0.0.1:{free_port()}"
        stack.enter_context(_sink(sink))
        for number in range(rounds + 1):
            progress(f"camera, {case.name}, round {number} of {rounds}")
            (ours, sent), bare = take(), _bare(server, sink, case)
            if number:  # in the first one memory is touched for the first time, for which frames may be lost
                if sent != case.count:
                    raise RuntimeError(f"the camera has lost {case.count - sent} of {case.count} frames")
                result.ours.append(ours)
                result.bare.append(bare)
    return result


@contextmanager
def _streamer(server: str, case: Frames) -> Iterator[Callable[[], tuple[float, int]]]:
    """Run a streamer of the camera with a consumer; yield a function that takes a series and returns µs of
    processor time per frame, and the number of frames sent."""
    unit = {"NameServers": server, "DriverPrefix": DRIVER, "ImageRecord": IMAGE}
    argv = (
        *PENSTOCK, "streamer", "AreaDetector", "--data", "tcp://127.0.0.1:0", "--control", "tcp://127.0.0.1:0",
        "--properties", json.dumps(unit),
    )  # fmt: skip
    with Child("streamer", argv, line_with("control")) as streamer, _sink(streamer.answer["data"]):
        client = StreamerClient(streamer.answer["control"], timeout=10.0)
        pid = int(streamer.answer["pid"])
        settings = Settings(
            exposure_time=0.5 / case.rate, latency_time=0.5 / case.rate, n_triggers=case.count,
            n_frames_per_trigger=1, trigger_mode=TriggerMode.INTERNAL, filename="", overwrite=False,
            save_raw=True, rotation=0, fliplr=False, flipud=False, metadata="{}", beam_center=(0.0, 0.0),
            distance=0.0, camera=dict(client.describe().values),
        )  # fmt: skip

        def take() -> tuple[float, int]:
            client.prepare(settings, DEADLINE)
            client.announce()
            before = process_seconds(pid)
            client.start(DEADLINE)
            time.sleep(case.count / case.rate)  # it is asked nothing meanwhile, which would cost time
            due = time.monotonic() + DEADLINE
            while (status := client.status()).state not in ("idle", "fault"):
                if time.monotonic() > due:
                    raise RuntimeError(f"the series does not end: {status}")
                time.sleep(0.1)
            return (process_seconds(pid) - before) / case.count * 1e6, status.sent

        try:
            yield take
        finally:
            client.close()


def _sink(endpoint: str) -> Child[dict[str, Any]]:
    return Child("consumer", (*PYTHON, "-m", "penstock.bench.pull", endpoint), line_with("ready"))


def _bare(server: str, sink: str, case: Frames) -> float:
    """Return µs of processor time per frame of the bare parts."""
    numbers = (str(case.count), str(1 / case.rate))
    argv = (*PYTHON, "-m", "penstock.bench.epics_bare", CAMERA, server, sink, *numbers)
    with Child(
        "bare parts", argv, line_with("cpu_seconds"), deadline=case.count / case.rate + DEADLINE
    ) as bare:
        return float(bare.answer["cpu_seconds"]) / case.count * 1e6


def _bridge(folder: Path, case: Frames, rounds: int, progress: Callable[[str], None]) -> Result:
    result = Result(part=BRIDGE, case=case)
    with ExitStack() as stack:
        takers = (_bridge_process(folder, case, stack), _bare_bridge(folder, case, stack))
        for number in range(rounds + 1):
            progress(f"bridge, {case.name}, round {number} of {rounds}")
            ours, bare = (take() for take in takers)
            if number:
                result.ours.append(ours)
                result.bare.append(bare)
    return result


def _bridge_process(folder: Path, case: Frames, stack: ExitStack) -> Callable[[], float]:
    """Run a receiver, a bridge and its client; return a function that takes a series, and returns µs of
    processor time per frame."""
    receiver = Receiver(folder, case, {"queue_mb": 256}, stack)
    config = folder / "epics.yaml"
    entry = {"prefix": "BENCH", "receiver": receiver.url, "consumer": ENTRY, "listen": "127.0.0.1:0"}
    config.write_text(json.dumps(entry))
    argv = (*PENSTOCK, "epics", str(config), "--http", "127.0.0.1:0", "--json")
    bridge = stack.enter_context(Child("bridge", argv, line_with("pva"), deadline=DEADLINE)).answer
    receiver.connected()
    stack.enter_context(_client(bridge["pva"][0], "BENCH:IMAGE"))
    client, pid = BridgeClient(bridge["http"], timeout=5.0), int(bridge["pid"])

    def take() -> float:
        posted, before = client.status().images[0].posted, process_seconds(pid)
        with receiver.taking(case):
            pass
        due = time.monotonic() + DEADLINE
        while (now := client.status().images[0].posted) < posted + case.count:
            if time.monotonic() > due:
                raise RuntimeError(f"the bridge has posted {now - posted} of {case.count} frames")
            time.sleep(0.1)
        return (process_seconds(pid) - before) / case.count * 1e6

    return take


def _bare_bridge(folder: Path, case: Frames, stack: ExitStack) -> Callable[[], float]:
    """The same of the bare parts."""
    receiver = Receiver(folder, case, {"queue_mb": 256}, stack)
    (entry,) = receiver.client.status().consumers
    over = threading.Event()
    argv = (*PYTHON, "-m", "penstock.bench.epics_bare", BRIDGE, entry.endpoint)
    bare = stack.enter_context(
        Child(
            "bare parts", argv, line_with("server"), relay=lambda line: over.set() if line == POSTED else None
        )
    )
    receiver.connected()
    stack.enter_context(_client(bare.answer["server"], IMAGE))

    def take() -> float:
        over.clear()
        before = process_seconds(bare.pid)
        with receiver.taking(case):
            pass
        if not over.wait(DEADLINE):
            raise RuntimeError("the bare parts have not seen the end of the series")
        return (process_seconds(bare.pid) - before) / case.count * 1e6

    return take


def _client(server: str, record: str) -> Child[dict[str, Any]]:
    argv = (*PYTHON, "-m", "penstock.bench.epics_bare", "client", server, record)
    return Child("client", argv, line_with("ready"))
