"""Results as a run would leave them, without a run."""

from __future__ import annotations

from penstock_bench.cases import PAGE, SIZES, TOP_RATES
from penstock_bench.profile import CONTENDERS as PROFILED
from penstock_bench.profile import KINDS
from penstock_bench.results import Group, Results, Turn, Turns
from penstock_bench.throughput import (
    AS_FAST,
    BARE,
    CONTENDERS,
    NAIVE,
    PENSTOCK,
    RECEIVE_LIMIT,
    SOCKETS,
    STORAGES,
    SYNCED,
    WORKERS,
    WRITE_LIMIT,
)

MACHINE = {"processor": "A Processor, 2 cores of a machine", "file systems": "RAM disk: tmpfs, disk: ext4"}
RATES = {BARE: 950.0, NAIVE: 50.0, WRITE_LIMIT: 700.0, RECEIVE_LIMIT: 2000.0}
"""Frames per second of the contenders that are not Penstock, whatever the frame size."""


def turn(rate: float, loop_us: float = 100.0) -> Turn:
    """A series at this rate."""
    return {"frames/s": rate, "GB/s": rate * 0.02, "receiver, µs": loop_us + 50, "loop, µs": loop_us,
            "I/O, µs": 50.0, "sender, µs": 20.0}  # fmt: skip


def turns(names: list[str]) -> Turns:
    """Contenders whose rates differ a little from round to round."""
    return {name: [turn(RATES.get(name, 900.0) + number) for number in range(3)] for name in names}


def group(case: str, name: str, turns: Turns) -> Group:
    """One group."""
    return Group(case=case, name=name, turns=turns)


def results() -> Results:
    """Everything that a run for the page measures."""
    found = Results(machine=MACHINE, notes=["profile, 2 MB: not measured: perf is missing"])
    for size, top in zip(SIZES, TOP_RATES, strict=True):
        rates = [f"{top / part:,.0f}/s" for part in (8, 4, 2, 1)]
        names = {
            "contenders": list(CONTENDERS),
            "disk": [PENSTOCK, WRITE_LIMIT, SYNCED],
            "offered": [f"{storage}, {rate}" for storage in STORAGES for rate in (*rates, AS_FAST)],
            "sockets": [f"{storage}, {a} × {b}" for storage in STORAGES[:2] for a, b in SOCKETS],
        }
        for case, contenders in names.items():
            found.put(group(case, size.name, turns(contenders)))
        shares = {
            f"{thread}: {kind}, %": 100 / len(KINDS) / 2 for thread in ("loop", "I/O") for kind in KINDS
        }
        found.put(group("profile", size.name, {name: [shares] for name in PROFILED}))
        found.put(group("functions", size.name, {name: [{"write (store.py), %": 70.0}] for name in PROFILED}))
    found.put(group("workers", "2 MB", turns([f"{a} × {b}" for a, b in WORKERS])))
    for load in next(case.loads for case in PAGE if case.name == "files"):
        cpu = {"1 file": 100.0, "2 files": 110.0}
        measured = {name: [{"receiver, µs": us}] * 3 for name, us in cpu.items()}
        found.put(group("files", load.name, measured | {"content": [{"series that differ": 0.0}]}))
    for name in ("RAM disk", "disk, synced"):
        series = [
            {
                "Arm → RUNNING, ms": arm,
                "last frame → ON, ms": 60.0,
                "last frame → ON, less its sync, ms": 50.0,
            }
            for arm in (30.0, 20.0, 110.0)
        ]
        found.put(group("latency", name, {name: series}))
    return found
