"""What a pipeline waits for: each sentence says who has to do what, or that nothing is to be done."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.processing.distributor.frames.schedule import Schedule
from penstock.processing.distributor.pipeline_status import waits_for
from penstock.processing.distributor.receiver.events import SECONDS, Over, Running, Unheard
from penstock.processing.distributor.series.past import PastSeries
from penstock.processing.distributor.series.run import Phase, Run
from penstock.stins.messages import SeriesEnd

RECEIVER = "http://127.0.0.1:5000"


def member(state: str, last_error: str = "") -> Any:
    return SimpleNamespace(state=state, name="hpc7-12", last_error=last_error)


def flow(
    *members: Any, workers: int = 0, listen: str = "", key: str = "", runs: tuple[Run, ...] = (),
    running: str = "",
) -> Any:  # fmt: skip
    unheard = Unheard()
    if running:
        unheard.take(Running(running, "/data/a.h5"), time.monotonic() - SECONDS)
    connections = SimpleNamespace(address="ipc:///tmp/w/socket", listen=listen)
    ready = [each for each in members if each.state == "ready"]
    return SimpleNamespace(
        config=SimpleNamespace(receiver=RECEIVER, workers=workers, key=key),
        workers=SimpleNamespace(members=dict(enumerate(members)), ready=ready, connections=connections),
        series=SimpleNamespace(runs={run.name: run for run in runs}, past=PastSeries()),
        unheard=unheard,
    )


def run(phase: Phase, **keys: Any) -> Run:
    made = Run("s1", Schedule(), 3)
    made.phase = phase
    for name, value in keys.items():
        setattr(made, name, value)
    return made


def joining(held: int = 0, waits: bool = False) -> Any:
    return SimpleNamespace(needs=("energy",), held=held, waits=waits, wait=2.5)


READY = member("ready")
OVER = Over("s1", "/data/s1.h5", "", 0.0, 1.0, 3, (), "")


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (flow(), "waits for a worker; `penstock worker ipc:///tmp/w/socket` starts one"),
        (
            flow(listen="tcp://hpc7:5101"),
            "waits for a worker; `penstock worker tcp://hpc7:5101` starts one",
        ),
        (
            flow(listen="tcp://hpc7:5101", key="/k/spots.key"),
            "waits for a worker; `penstock worker tcp://hpc7:5101 --key /k/spots.key` starts one",
        ),
        (
            flow(workers=2),
            "waits for its workers on this machine, which are being started; if that lasts, the log of "
            "`penstock process` says why",
        ),
        (flow(member("starting"), workers=2), "waits for its workers, which load the code"),
        (
            flow(member("refused", "there is no module spots"), listen="tcp://hpc7:5101"),
            "waits for a worker that takes the code; hpc7-12 says: there is no module spots. Mend that and "
            "start the pipeline again, or start a worker where the code can run: `penstock worker "
            "tcp://hpc7:5101`",
        ),
        (flow(READY), ""),
        (flow(READY, runs=(run(Phase.LIVE),)), ""),
        (
            flow(READY, running="s9"),
            "waits for the end of series s9, of whose start this pipeline was not told: its frames are taken "
            "from /data/a.h5 then, and live results begin with the next series",
        ),
        (flow(READY, runs=(run(Phase.LIVE),), running="s1"), ""),
        (
            flow(READY, runs=(run(Phase.BEGINNING),)),
            f"waits for the receiver at {RECEIVER} to say where series s1 is kept",
        ),
        (
            flow(READY, runs=(run(Phase.LIVE, stream_is_over=True, file="/data/s1.h5"),)),
            "waits for the end of series s1: the connection to the receiver was lost within it, and frames "
            "that did not come are taken from /data/s1.h5 then",
        ),
        (
            flow(READY, runs=(run(Phase.LIVE, stream_is_over=True),)),
            "waits for the end of series s1: the connection to the receiver was lost within it, and frames "
            "that did not come are dropped: it has no file",
        ),
        (flow(READY, runs=(run(Phase.LIVE, stream_is_over=True, end=SeriesEnd()),)), ""),
        (flow(READY, runs=(run(Phase.LIVE, stream_is_over=True, over=OVER),)), ""),
        (
            flow(READY, runs=(run(Phase.ENDED, file="/data/s1.h5"),)),
            f"waits for the receiver at {RECEIVER} to close /data/s1.h5",
        ),
        (flow(READY, runs=(run(Phase.ENDED),)), f"waits for the receiver at {RECEIVER} to close its file"),
        (
            flow(READY, runs=(run(Phase.LIVE, joining=joining(held=100)),)),
            "waits for values of energy, which 100 frames need: is the device running? After 2.5 s a frame "
            "goes without",
        ),
        (
            flow(READY, runs=(run(Phase.REST, joining=joining(waits=True)),)),
            "waits for late values of its channels, for 2.5 s at most",
        ),
        (
            flow(READY, runs=(run(Phase.FINISHING),)),
            "waits for a worker, which makes the results of the series as a whole",
        ),
        (flow(READY, runs=(run(Phase.OVER),)), ""),
    ],
)  # fmt: skip
def test_the_sentence_says_who_has_to_do_what(found: Any, sentence: str) -> None:
    assert waits_for(found) == sentence
