"""What EPICS costs: processor time per frame of the camera `AreaDetector`, beside its bare parts.

The streamer and a program of the bare parts (`epics_bare`) take acquisitions of one simulated IOC in turn, at
a rate that the machine takes, and send the frames to consumers that do nothing.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from penstock.bench.contenders import line_with, process_seconds
from penstock.bench.epics_bare import DRIVER, IMAGE
from penstock.devices._base.processes import PENSTOCK, PYTHON, Child, free_port
from penstock.streamer.client import StreamerClient
from penstock.streamer.settings import Settings, TriggerMode

DEADLINE = 60.0
"""Seconds for one series, and for a process to start."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """Frames of uint8, plain, at a steady rate."""

    name: str
    shape: tuple[int, int]
    frames: int
    rate: float
    """Frames per second."""


CASES = (
    Case(name="512²", shape=(512, 512), frames=1_200, rate=300.0),
    Case(name="4096²", shape=(4096, 4096), frames=60, rate=12.0),
)
CAMERA = "camera"
BARS = {CAMERA: 2.5}
"""Most processor time per frame, as a multiple of that of the bare parts."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """One case of one part: microseconds of processor time per frame, one entry per round."""

    part: str
    case: Case
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


def measure(rounds: int, progress: Callable[[str], None], cases: Sequence[Case] = CASES) -> Iterator[Result]:
    """Measure each case.

    Args:
        rounds: turns of each contender.
        progress: called with what is being measured.
        cases: what is sent.

    Raises:
        ProcessFailed: a process did not start, or a series did not end in time.
        RuntimeError: frames were lost, so that the figures say nothing.
    """
    for case in cases:
        yield _camera(case, rounds, progress)


def _camera(case: Case, rounds: int, progress: Callable[[str], None]) -> Result:
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
                if sent != case.frames:
                    raise RuntimeError(f"the camera has lost {case.frames - sent} of {case.frames} frames")
                result.ours.append(ours)
                result.bare.append(bare)
    return result


@contextmanager
def _streamer(server: str, case: Case) -> Iterator[Callable[[], tuple[float, int]]]:
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
            exposure_time=0.5 / case.rate, latency_time=0.5 / case.rate, n_triggers=case.frames,
            n_frames_per_trigger=1, trigger_mode=TriggerMode.INTERNAL, filename="", overwrite=False,
            save_raw=True, rotation=0, fliplr=False, flipud=False, metadata="{}", beam_center=(0.0, 0.0),
            distance=0.0, camera=dict(client.describe().values),
        )  # fmt: skip

        def take() -> tuple[float, int]:
            client.prepare(settings, DEADLINE)
            client.announce()
            before = process_seconds(pid)
            client.start(DEADLINE)
            time.sleep(case.frames / case.rate)  # it is asked nothing meanwhile, which would cost time
            due = time.monotonic() + DEADLINE
            while (status := client.status()).state not in ("idle", "fault"):
                if time.monotonic() > due:
                    raise RuntimeError(f"the series does not end: {status}")
                time.sleep(0.1)
            return (process_seconds(pid) - before) / case.frames * 1e6, status.sent

        try:
            yield take
        finally:
            client.close()


def _sink(endpoint: str) -> Child[dict[str, Any]]:
    return Child("consumer", (*PYTHON, "-m", "penstock.bench.pull", endpoint), line_with("ready"))


def _bare(server: str, sink: str, case: Case) -> float:
    """Return µs of processor time per frame of the bare parts."""
    numbers = (str(case.frames), str(1 / case.rate))
    argv = (*PYTHON, "-m", "penstock.bench.epics_bare", CAMERA, server, sink, *numbers)
    with Child(
        "bare parts", argv, line_with("cpu_seconds"), deadline=case.frames / case.rate + DEADLINE
    ) as bare:
        return float(bare.answer["cpu_seconds"]) / case.frames * 1e6
