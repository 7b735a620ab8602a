"""Results as a run would leave them, without a run."""

from __future__ import annotations

from penstock.bench.campaign import parts
from penstock.bench.compare import SIZES
from penstock.bench.contenders import BARE, NAIVE, PENSTOCK_RECEIVER, RECEIVE_LIMIT, WRITE_LIMIT
from penstock.bench.files import Cpu
from penstock.bench.load import Case, Run
from penstock.bench.machine import Machine
from penstock.bench.profile import KINDS
from penstock.bench.results import Files, Latency, Measurement, Profile, Results

MACHINE = Machine(
    date="2025-01-31", penstock="0.1.0", processor="A Processor", cores=2, memory_gb=24.0, virtual=True,
    kernel="Linux 6.1", huge_pages="madvise", load=0.1, python="3.11.2", libraries={"libzmq": "4.3.5"},
    storage={"ram": "tmpfs", "disk": "ext4"},
)  # fmt: skip
RATES = {PENSTOCK_RECEIVER: 900.0, BARE: 950.0, NAIVE: 50.0, WRITE_LIMIT: 700.0, RECEIVE_LIMIT: 2000.0}
"""Frames a second: of every case, whatever its frame size."""


def run(frames: int, rate: float, thread_us: float = 100.0) -> Run:
    """A series at this rate."""
    cpu = {"loop": thread_us * frames / 1e6, "I/O": 50e-6 * frames, "HTTP": 0.01, "generator": 0.2}
    return Run(frames=frames, seconds=frames / rate, cpu=cpu)


def measurement(case: Case, repeats: int = 3) -> Measurement:
    """A case whose rate differs a little from run to run."""
    rate = RATES[case.contender]
    rate = min(rate, case.rate) if case.rate else rate
    return Measurement(case=case, runs=[run(case.frames, rate + number) for number in range(repeats)])


def files(cpu_us: Cpu, *, equal: bool = True, bar: float = 1.3) -> Files:
    """Two files beside one; they cost more when frames come as fast as possible."""
    flat_out_us = {number: [number * cost for cost in costs] for number, costs in cpu_us.items()}
    return Files(load="2 MB, plain", bar=bar, cpu_us=cpu_us, flat_out_us=flat_out_us, equal=equal)


def results() -> Results:
    """Everything that a whole run measures."""
    found = Results(machine=MACHINE, repeats=3)
    for part, groups in parts().items():
        cases = [case for group in groups(1.0) for case in group.cases]
        if cases:
            found.measurements[part] = [measurement(case) for case in cases]
    found.latency = [
        Latency(storage="ram", synced=False, arm=[0.03, 0.02, 0.11], end=[0.06, 0.05, 0.07], sync=[]),
        Latency(storage="disk", synced=True, arm=[0.03, 0.02, 0.12], end=[0.1, 0.2, 0.1], sync=[0.02, 0.03]),
    ]
    found.files = [files({1: [100.0, 101.0], 2: [120.0, 122.0]})]
    share = 1 / len(KINDS) / 2
    shares = {f"{thread}: {kind}": share for thread in ("loop", "I/O") for kind in KINDS}
    found.profiles = [
        Profile(contender=name, frame_bytes=size, frames=9, shares=shares, top=[("write (store.py:3)", 0.7)])
        for size in SIZES
        for name in (PENSTOCK_RECEIVER, NAIVE)
    ]
    return found
