"""What live processing costs: the figures, and short measurements with real processes."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from penstock.bench import (
    processing,
    processing_kills,
    processing_others,
    processing_paced,
    processing_pvapy,
    processing_recorded,
)
from penstock.bench.contenders import process_seconds
from penstock.bench.pipeline import Frames
from penstock.bench.processing import CASES, KINDS, WAITERS, Cost, Sharing
from penstock.bench.processing_kills import FRAMES, Kills
from penstock.bench.processing_others import DRANSPOSE, EVENT_CASES, Events
from penstock.bench.processing_paced import Paced
from penstock.bench.processing_pvapy import Chain
from penstock.bench.processing_recorded import Recorded
from penstock.bench.processing_report import (
    Verdict,
    chain_verdicts,
    cost_verdicts,
    event_verdicts,
    kill_verdicts,
    paced_verdicts,
    recorded_verdicts,
    sharing_verdicts,
    verdicts_of,
)
from tests.third_party import program_of


def silent(text: str) -> None:
    """No progress."""


def cost(frames: Frames, pipeline: float) -> Cost:
    found = Cost(frames=frames)
    for busy in (1.0, 5.0, 1.0):
        found.spent["none"].append({"receiver": 20 * busy})
        found.spent["loop"].append({"receiver": 60 * busy, "loop": 10 * busy})
        for kind in ("by reference", "by TCP"):
            found.spent[kind].append(
                {"receiver": 24 * busy, "distributor": pipeline * busy, "workers": 6 * busy}
            )
    return found


def test_what_is_added_is_compared_within_a_round() -> None:
    found = cost(CASES[0], pipeline=15)
    assert found.added("loop") == [50, 250, 50]
    assert found.added("by reference") == [25, 125, 25]
    assert found.ratio("by reference") == 0.5 and found.receiver_ratio == 1.2


@pytest.mark.parametrize(("frames", "bar"), [(CASES[0], 0.5), (CASES[1], 0.5), (CASES[2], 0.65)])
def test_the_bar_depends_on_the_size_of_the_frames(frames: Frames, bar: float) -> None:
    found = cost(frames, pipeline=20)
    assert found.bar("by reference") == bar and found.bar("by TCP") == 3
    reference, tcp, receiver = cost_verdicts([found])
    assert reference.found == 0.6 and reference.reached == (bar == 0.65)
    assert tcp.reached and receiver.reached


def test_workers_that_wait_are_compared_with_one_and_with_an_equal_share() -> None:
    found = Sharing(
        rates={1: [50.0, 40.0], WAITERS: [380.0, 304.0]},
        shares=[[1.0, 1.01, 0.99], [1.0, 1.04, 0.96]],
        around=[{"receiver": 0.1, "distributor": 0.1, "workers": 4.0}],
    )
    speed, unlike, around = sharing_verdicts(found)
    assert speed.found == 7.6 and speed.reached
    assert unlike.found == pytest.approx(0.025) and not unlike.reached
    assert around.found == 0.05 and around.reached


def test_of_recorded_frames_plain_ones_have_a_bar() -> None:
    keys: dict[str, Any] = {"stored_bytes": 1, "processing": [1.0], "rate": [1.0]}
    plain = Recorded(compression="none", workers=2, distributor=[400.0, 501.0, 600.0], **keys)
    (verdict,) = recorded_verdicts(
        [plain, Recorded(compression="bslz4", workers=2, distributor=[9e9], **keys)]
    )
    assert verdict.found == 501 and not verdict.reached


def test_rates_have_a_least_and_times_a_most() -> None:
    frames, _, bars = EVENT_CASES[0]
    events = Events(
        frames=frames, bars=bars, rates={DRANSPOSE: [1000.0], "by reference": [6000.0], "by TCP": [2000.0]}
    )
    assert [verdict.reached for verdict in event_verdicts([events])] == [True, False]
    theirs, ours = (
        {"source": 60.0, "consumer": 40.0},
        [{"receiver": 60.0}, {"receiver": 50.0, "workers": 30.0}],
    )
    chain = Chain(frames=replace(frames, rate=10.0), bar=0.7, pvapy=[theirs, theirs], penstock=ours)
    (verdict,) = chain_verdicts([chain])
    assert verdict.found == pytest.approx(0.7) and verdict.reached
    assert not Verdict(text="", found=0.9, bar=1.0, least=True).reached


def test_at_a_rate_the_smallest_frames_have_bars_and_the_others_are_reported() -> None:
    delays = [10.0] * 98 + [60.0] * 2
    small, large = (Paced(cost=cost(FRAMES, pipeline), delays=delays) for pipeline in (32.0, 90.0))
    added, delay = paced_verdicts([small, large])
    # Added by the loop: 60 + 10 - 20; by reference: 24 + 32 + 6 - 20.
    assert added.found == pytest.approx(42 / 50) and added.reached
    assert delay.found == 60.0 and not delay.reached


def test_of_parts_that_were_not_measured_nothing_is_said() -> None:
    (verdict,) = verdicts_of({"kills": [Kills(frames=10_000, kills=16, longest_pause=0.2)], "dranspose": []})
    assert [verdict] == list(kill_verdicts(Kills(frames=10_000, kills=16, longest_pause=0.2)))
    assert not verdict.reached and "16 kills" in verdict.text


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
def test_workers_are_killed_and_frames_do_not_wait(tmp_path: Path) -> None:
    found = processing_kills.kills(tmp_path, silent, FRAMES.of(2000))
    assert found.kills >= 1 and 0 < found.longest_pause < 2.0


@pytest.mark.slow
def test_receivers_loop_and_pipelines_are_measured(tmp_path: Path) -> None:
    (found,) = processing.costs(tmp_path, 1, silent, (replace(CASES[0], count=3000),))
    assert set(found.spent) == set(KINDS)
    for kind, processes in (("loop", ["loop"]), ("by TCP", ["distributor", "workers"])):
        ((spent,), dropped) = found.spent[kind], found.dropped[kind]
        assert dropped == 0 and spent["receiver"] > 0
        assert all(spent[name] > 0 for name in processes)


@pytest.mark.slow
def test_costs_and_delays_at_a_rate_are_measured(tmp_path: Path) -> None:
    (found,) = processing_paced.paced(tmp_path, 1, silent, (replace(processing_paced.CASES[0], count=600),))
    assert len(found.delays) == 600 and 0 < found.usual <= found.delay < 10_000
    assert found.cost.spent["by reference"][0]["workers"] > 0 and found.cost.dropped["by reference"] == 0


@pytest.mark.slow
def test_recorded_frames_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processing_recorded, "WORKERS", (1, 2))
    found = list(processing_recorded.recorded(tmp_path, 1, silent, frames=20))
    assert [(each.compression, each.workers) for each in found] == [
        (compression, workers) for compression in ("none", "bslz4") for workers in (1, 2)
    ]
    assert found[0].stored_bytes == processing_recorded.NBYTES > 4 * found[2].stored_bytes
    assert all(each.distributor[0] > 0 and each.processing[0] > 0 and each.rate[0] > 0 for each in found)


@pytest.mark.slow
def test_workers_that_wait_and_workers_that_compute_are_measured(tmp_path: Path) -> None:
    found = processing.sharing(tmp_path, 1, silent, scale=0.1)
    ((one,), (many,), (shares,)) = found.rates[1], found.rates[WAITERS], found.shares
    assert 0 < one < many
    assert len(shares) == WAITERS and sum(shares) == pytest.approx(WAITERS)
    assert found.around[0]["workers"] >= processing.COMPUTE * 1e3


@pytest.mark.slow
def test_programs_of_others_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = [(frames.of(2000), 500, bars) for frames, _, bars in EVENT_CASES[:1]]
    monkeypatch.setattr(processing_others, "EVENT_CASES", few)
    short = [(frames.of(round(frames.rate)), bar) for frames, bar in processing_pvapy.CASES[1:]]
    monkeypatch.setattr(processing_pvapy, "CASES", short)
    programs = program_of("processing", "dranspose").parent
    for events in processing_others.dranspose(tmp_path, 1, silent, programs):
        assert all(rate > 0 for rates in events.rates.values() for rate in rates)
    (chain,) = processing_pvapy.chains(tmp_path, 1, silent, programs)
    assert all(spent > 0 for turn in (*chain.pvapy, *chain.penstock) for spent in turn.values())
