"""What live processing costs: short measurements with real processes."""

from __future__ import annotations

import os
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from penstock_bench import channels, consumers, dranspose, processing, processors, pvapy
from penstock_bench.cases import CONSUMED, UINT8, Chain
from penstock_bench.epics import alone
from penstock_bench.pvapy import Consumer, source, within
from penstock_bench.receivers import process_seconds
from penstock_bench.recorded import recorded
from penstock_bench.runner import Bench
from tests.third_party import program_of

SMALL = CONSUMED[0]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(folder=tmp_path)


def test_the_time_of_a_process_has_that_of_threads_that_have_ended() -> None:
    def busy() -> None:
        due = time.thread_time() + 0.05
        while time.thread_time() < due:
            pass

    before = process_seconds(os.getpid())
    thread = threading.Thread(target=busy)
    thread.start()
    thread.join()
    assert process_seconds(os.getpid()) - before >= 0.05


@pytest.mark.slow
def test_receivers_loop_and_pipelines_are_measured(bench: Bench) -> None:
    turns = consumers.cost(bench, SMALL.of(3000))
    assert list(turns) == ["none", "loop", "by reference", "by TCP"]
    for kind, processes in (("loop", ["loop"]), ("by TCP", ["distributor", "workers"])):
        (turn,) = turns[kind]
        assert turn["dropped"] == 0 and turn["receiver, µs"] > 0 and turn["added, µs"] > 0
        assert all(turn[f"{name}, µs"] > 0 for name in processes)


@pytest.mark.slow
def test_costs_and_delays_at_a_rate_are_measured(bench: Bench) -> None:
    turns = consumers.paced(bench, SMALL.of(600, rate=600.0))
    (late,) = turns["results"]
    assert 0 < late["late, ms"] <= late["late, 99 %, ms"] < 10_000
    assert turns["by reference"][0]["workers, µs"] > 0 and turns["by reference"][0]["dropped"] == 0


@pytest.mark.slow
def test_recorded_frames_are_measured(bench: Bench) -> None:
    frames = replace(CONSUMED[2], count=20, pattern="noise")
    plain, packed = (recorded(bench, replace(frames, compression=kind), (1, 2)) for kind in ("none", "bslz4"))
    assert list(plain) == ["1 worker", "2 workers"]
    assert plain["1 worker"][0]["MB stored"] == frames.nbytes / 1e6 > 4 * packed["1 worker"][0]["MB stored"]
    for (turn,) in (*plain.values(), *packed.values()):
        assert turn["distributor, µs"] > 0 and turn["workers, µs"] > 0 and turn["GB/s of pixels"] > 0


@pytest.mark.slow
def test_workers_that_wait_and_workers_that_compute_are_measured(bench: Bench) -> None:
    turns = processing.sharing(bench, SMALL.of(200))
    assert all(turns[name][0]["frames/s"] > 0 for name in ("1 worker that waits", "8 workers that wait"))
    (computing,) = turns["workers that compute"]
    assert computing["workers, µs"] >= processing.COMPUTE * 1e6


@pytest.mark.slow
def test_workers_are_killed_and_the_longest_pause_is_measured(bench: Bench) -> None:
    (turn,) = processing.kills(bench, SMALL.of(2000, rate=1000.0))["3 workers"]
    assert turn["kills"] >= 1 and turn["longest pause, ms"] > 0


@pytest.mark.slow
def test_receivers_are_measured_with_each_kind_of_consumer(bench: Bench) -> None:
    turns = consumers.consumers(bench, SMALL.of(3000))
    assert list(turns) == ["none", "by reference", "messages"]
    assert all(turn["receiver, µs"] > 0 for (turn,) in turns.values())
    assert all(turns[kind][0]["loop, µs"] > 0 for kind in ("by reference", "messages"))
    assert turns["none"][0]["dropped"] == 0


# -- programs of others ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_programs_of_others_take_the_same_frames(bench: Bench) -> None:
    program_of("processing", "dranspose")
    events = dranspose.dranspose(bench, SMALL.of(2000))
    assert all(turn["events/s"] > 0 for (turn,) in events.values()) and len(events) == 3
    chain = pvapy.pvapy(bench, UINT8[0].of(1500, rate=1500.0))
    assert all(turn["all, µs"] > 0 for (turn,) in chain.values()) and len(chain) == 2


SMALLER = replace(UINT8[0], shape=(64, 64), count=100, rate=100.0)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "stages"), [(1, 1), (2, 2)])
def test_streaming_test_of_pvapy_is_measured_with_and_without_a_bridge(
    number: int, stages: int, bench: Bench
) -> None:
    program_of("processing", "pvapy-ad-sim-server")
    turns = pvapy.streaming(bench, Chain(SMALLER, number, stages))
    assert not bench.failed, bench.notes
    of_consumers = {f"consumers {stage}, µs" for stage in range(1, stages + 1)}
    for name, processes in (
        ("PvaPy", {"source, µs"}),
        ("penstock", {"generator, µs", "receiver, µs", "bridge, µs"}),
    ):
        (turn,) = turns[name]
        assert set(turn) == {"all, µs", "missed, %"} | processes | of_consumers
        assert all(turn[each] > 0 for each in processes | of_consumers) and turn["missed, %"] <= 1


@pytest.mark.slow
def test_a_run_in_which_frames_are_missed_says_nothing(tmp_path: Path) -> None:
    program_of("processing", "pvapy-ad-sim-server")
    environment, frames = alone(), SMALLER.of(40)
    with ExitStack() as processes:
        source("T:IMAGE", frames, environment, processes)
        half, other = (
            Consumer(tmp_path, "T:IMAGE", 64, 10, environment, processes, share=2) for _ in range(2)
        )
        assert within([[half, other]], dict, frames, 20)["missed, %"] == 0.0
        with pytest.raises(RuntimeError, match=r"have missed 50\.0% of the frames"):
            within([[half]], dict, frames, 20)


# -- processors and channels -----------------------------------------------------------------------------


@pytest.mark.slow
def test_processors_beside_programs_of_others_have_figures(bench: Bench) -> None:
    program_of("processing", "python")
    electrons = processors.electrons(bench, "")
    assert list(electrons) == ["worker", "stempy"]
    (ours,) = processors.pvapy(bench, "")["worker"]
    assert 0 < ours["of this the class, µs"] < ours["µs per frame"] and "ours, µs" in ours


@pytest.mark.slow
def test_azimuthal_integration_is_measured_beside_pyfai_and_is_equal(bench: Bench) -> None:
    turns = processors.azimuthal(bench, "")
    assert {"worker", "unpacking + product", "pyFAI in a worker", "product by scipy"} <= set(turns)
    assert turns["no matrix yet"][0]["curve after its frame, ms"] > 0
    assert turns["matrix there"][0]["ready after, s"] > 0
    assert turns["beside another geometry"][0]["longest frame, ms"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("measure", [channels.tango, channels.epics])
def test_six_channels_are_joined_to_frames(measure: object, bench: Bench) -> None:
    frames = SMALL.of(500, rate=250.0)
    turns = measure(bench, frames)  # type: ignore[operator]
    assert not bench.failed, bench.notes
    (turn,) = turns["with six channels"]
    assert turn["frames/s"] > 0 and turn["recorder, µs per value"] > 0 and turn["values lacking"] >= 0
    if measure is channels.epics:  # of Tango's device, which is late on a busy machine, all may be
        assert turn["values lacking"] < 6 * frames.count
