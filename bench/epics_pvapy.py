"""PvaPy's streaming test with and without Penstock: processor time per frame, of every process of the chain.

Without: PvaPy's simulated area detector and its consumers. With: generator, receiver (live only), bridge, and
the same consumers. One consumer, or two that PvaPy's distributor shares the frames out among; with a second
stage, as many again take what those of the first put out. Frames of the same size, type and rate on both
sides, made before the first one is sent; nobody reads a pixel. They are taken in turn, and what counts is
spent within a series, not by its begin and end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from penstock.bench.contenders import line_with, process_seconds
from penstock.bench.in_child import JUDGES, packages_with
from penstock.bench.load import high_water_mark
from penstock.bench.pipeline import DEADLINE, ENTRY, Frames, Receiver
from penstock.bench.pvapy_programs import Consumer, Spent, alone, source, within
from penstock.bench.reductions import median_ratio
from penstock.hosts.child import PENSTOCK, Child

PROGRAMS = JUDGES / "bin"
CASES = (
    Frames(name="512²", shape=(512, 512), count=600, rate=200.0, dtype="uint8"),
    Frames(name="4096²", shape=(4096, 4096), count=30, rate=10.0, dtype="uint8"),
)
CHAINS = tuple((consumers, stages) for stages in (1, 2) for consumers in (1, 2))
"""Consumers that share the frames out, and stages of them."""
TOLD = 10.0
"""Times per second that a consumer tells what it has taken, at most."""
AFTER = 1.0
"""Seconds for which frames are sent after those that count."""
RECEIVER, BRIDGE = "receiver", "bridge"


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One series."""

    spent: Spent
    missed: float
    """Share of the frames that consumers have missed, by their own word."""

    @property
    def total(self) -> float:
        """Processor time of all processes, in µs per frame."""
        return sum(self.spent.values())


@dataclass(frozen=True, kw_only=True)
class Streaming:
    """One case; one entry per round."""

    case: Frames
    consumers: int
    stages: int
    pvapy: list[Turn] = field(default_factory=list)
    penstock: list[Turn] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """Our time, times PvaPy's: the median of the rounds."""
        return median_ratio([turn.total for turn in self.penstock], [turn.total for turn in self.pvapy])


def measure(
    folder: Path, rounds: int, progress: Callable[[str], None], cases: Sequence[Frames] = CASES,
    chains: Sequence[tuple[int, int]] = CHAINS,
) -> Iterator[Streaming]:  # fmt: skip
    """Measure each case.

    Args:
        folder: for configurations.
        rounds: turns of each side.
        progress: called with what is being measured.
        cases: what is sent.
        chains: consumers and stages.

    Raises:
        NotMeasured: PvaPy is not here.
        ProcessFailed: a process did not start, or a series did not end in time.
        RuntimeError: frames were missed, so that the figures say nothing.
    """
    packages = folder / "packages"  # the bridge finds PvaPy, and nothing else of its environment
    packages.mkdir()
    (packages / "pvaccess").symlink_to(packages_with("pvaccess") / "pvaccess")
    for case in cases:
        for consumers, stages in chains:
            result = Streaming(case=case, consumers=consumers, stages=stages)
            what = f"pvapy, {case.name}, {consumers} × {stages}"
            with ExitStack() as processes:
                progress(f"{what}: a bridge starts")
                take = _behind_a_bridge(folder, packages, result, processes)
                for number in range(1, rounds + 1):
                    progress(f"{what}, PvaPy, round {number} of {rounds}")
                    result.pvapy.append(_alone(folder, result))
                    progress(f"{what}, penstock, round {number} of {rounds}")
                    result.penstock.append(take())
            yield result


def _alone(folder: Path, chain: Streaming) -> Turn:
    environment, channel = alone(), "bench:image"
    with ExitStack() as processes:
        pids = {"source": source(PROGRAMS, channel, chain.case, environment, processes)}
        stages = _consumers(folder, chain, channel, environment, processes)
        return _turn(chain.case, stages, lambda: {name: process_seconds(pid) for name, pid in pids.items()})


def _behind_a_bridge(
    folder: Path, packages: Path, chain: Streaming, processes: ExitStack
) -> Callable[[], Turn]:
    """Start a receiver, a bridge and its consumers; return a function that takes a series."""
    case, environment = chain.case, alone()
    receiver = Receiver(folder, case, {"queue_mb": 256}, processes)
    config = folder / "epics.yaml"
    entry = {"prefix": "BENCH", "receiver": receiver.url, "consumer": ENTRY, "server": "pvapy"}
    config.write_text(json.dumps(entry | {"listen": "127.0.0.1:0"}))
    argv = (*PENSTOCK, "epics", str(config), "--http", "127.0.0.1:0", "--json")
    bridge = Child(
        "bridge", argv, line_with("pva"), deadline=DEADLINE,
        environment=environment | {"PYTHONPATH": str(packages)},
    )  # fmt: skip
    pid = int(processes.enter_context(bridge).answer["pid"])
    receiver.connected()
    stages = _consumers(folder, chain, "BENCH:IMAGE", environment, processes)
    around = _lead(case) * chain.consumers + round(AFTER * case.rate)

    def take() -> Turn:
        with receiver.taking(case.of(case.count + around)) as taking:

            def seconds() -> dict[str, float]:
                ours = {"generator": process_seconds(taking.pid), RECEIVER: sum(receiver.seconds().values())}
                return ours | {BRIDGE: process_seconds(pid)}

            return _turn(case, stages, seconds)

    return take


def _consumers(
    folder: Path, chain: Streaming, channel: str, environment: dict[str, str], processes: ExitStack
) -> list[list[Consumer]]:
    """Start them, by stage."""
    channels, found = [channel] * chain.consumers, []
    for stage in range(1, chain.stages + 1):
        outputs = [f"bench:{stage}:{number}" for number in range(chain.consumers)]
        found.append([
            Consumer(
                folder, PROGRAMS, taken, high_water_mark(chain.case.nbytes), environment, processes,
                share=chain.consumers if stage == 1 else 1, output=output if stage < chain.stages else "",
                every=max(1, round(chain.case.rate / TOLD)),
            )
            for taken, output in zip(channels, outputs, strict=True)
        ])  # fmt: skip
        channels = outputs
    return found


def _lead(case: Frames) -> int:
    """Return after how many frames each consumer has used all of its queue, whose memory is then there."""
    return high_water_mark(case.nbytes)


def _turn(case: Frames, stages: list[list[Consumer]], others: Callable[[], dict[str, float]]) -> Turn:
    def seconds() -> dict[str, float]:
        by_stage = {
            f"consumers {number}": sum(process_seconds(each.pid) for each in stage)
            for number, stage in enumerate(stages, 1)
        }
        return others() | by_stage

    spent, missed = within(stages, seconds, case, _lead(case))
    return Turn(spent=spent, missed=missed)
