"""`penstock process` with channels, as a user runs it: a real receiver, a real device of a Tango database."""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.main import main
from penstock.processing.models import Status
from penstock.processing.results.read import Results
from tests.processing.channels.test_recorder import DEVICE, Laboratory
from tests.processing.service.pipeline_process import child_of, wait_until
from tests.processing.test_process import ENTRY, pipeline_file, running
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer, pixels

NUMBER = """\
from penstock.processing import Processor


class Spots(Processor):
    def process(self, frame):
        return {"first": frame.pixels.flat[0]}
"""
NEEDS = """\
from penstock.processing import Processor


class Spots(Processor):
    needs = ("energy",)

    def process(self, frame):
        return {"given": frame.channels["energy"]}
"""
KEYS: dict[str, Any] = {
    "parameters": {}, "workers": 1, "late_seconds": 1.0, "channels": [
        {"name": "energy", "attribute": f"{DEVICE}/position", "tolerance": 0.0004},
        {"name": "count", "attribute": f"{DEVICE}/counter", "how": "hold", "poll": 0.02},
        {"name": "text", "attribute": f"{DEVICE}/text"},
    ],
}  # fmt: skip


@pytest.fixture
def laboratory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Laboratory]:
    made = Laboratory(tmp_path / "database")
    monkeypatch.setenv("TANGO_HOST", made.host)
    yield made
    made.close()


def send(streamer: Streamer, path: Path, begin: float, frames: int) -> str:
    name = streamer.start(str(path), frames=frames, shape=(4, 6), type="uint16", compression="none")
    for number in range(frames):
        streamer.frame(number, pixels(number, (4, 6)), timestamp=begin + number / 1000)
    streamer.end(reason="complete", triggered=frames, sent=frames)
    return name


def move(laboratory: Laboratory, begin: float, numbers: range) -> None:
    """Let the motor move, one step per frame."""
    laboratory.device.Move([each for n in numbers for each in (begin + n / 1000, n / 4)])


def problem(place: int, text: str) -> Callable[[Status], bool]:
    return lambda status: text in status.channels[place].problem


@pytest.mark.slow
def test_values_of_a_real_device_are_columns_of_the_result_file(
    laboratory: Laboratory, start_receiver: Callable[..., ReceiverProcess], streamer: Streamer,
    tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    receiver = start_receiver(forward=[ENTRY])
    receiver.connected()
    with running(tmp_path, receiver, NUMBER, **KEYS) as made:
        made.wait(lambda status: status.channels[0].how == "events" and status.channels[1].values > 3)
        made.wait(problem(2, "is scalar of devstring; a channel is one number"))
        begin, raw = time.time(), receiver.root / "a.h5"
        move(laboratory, begin, range(40))
        status = made.over(send(streamer, raw, begin, 50))
        assert status.series is not None and status.series.counts.done == 50
        assert status.series.unmatched == {"energy": 10, "count": 0, "text": 50}
        assert made.client.values("energy").values == [n / 4 if n < 40 else None for n in range(50)]
        assert made.client.values("energy_matched").values == [int(n < 40) for n in range(50)]
        assert made.client.values("count_matched").values == [1] * 50
        assert main(["status", "--pipeline", made.client.url]) == 0
        said = capsys.readouterr().out
        assert "    10 frames without a value of energy\n    50 frames without a value of text\n" in said
        assert f" of {DEVICE}/counter, read every 0.02 s, since it has no change events\n" in said

        # A recorder that dies takes nothing with it, and is started again.
        os.kill(child_of(made.process.pid, "channels.recorder"), signal.SIGKILL)
        # The status says so for half a second, which a slow reader may miss; the log keeps it.
        wait_until(lambda: "recorder of channels ended by signal SIGKILL" in made.log.read_text(), "it died")
        made.wait(lambda status: status.channels[0].how == "events" and not status.channels[0].problem)
        # Nor does a device: said, and the next series is processed all the same.
        assert laboratory.motor is not None
        laboratory.motor.kill()
        laboratory.motor.wait()
        made.wait(problem(0, f"{DEVICE}/position does not answer since "))
        status = made.over(send(streamer, receiver.root / "b.h5", time.time(), 20))
        assert status.series is not None and status.series.counts.done == 20
        assert status.series.unmatched == {
            "energy": 20,
            "count": 20,
            "text": 20,
        }  # a device that is away has no value
    assert Results(receiver.root / "a.spots.h5").rows("energy", 0, 1).values[0] == 0.0


@pytest.mark.slow
def test_a_file_has_no_channels_and_who_needs_one_gets_nan(
    start_receiver: Callable[..., ReceiverProcess], streamer: Streamer, tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    receiver = start_receiver()
    receiver.connected()
    raw = receiver.root / "a.h5"
    send(streamer, raw, time.time(), 30)
    receiver.wait(lambda status: status.series is not None and not status.series.active)
    assert main(["process", str(pipeline_file(tmp_path, NEEDS, **KEYS)), str(raw)]) == 0
    said = capfd.readouterr().out
    assert "    30 frames without a value of energy\n" in said and "recorded only while a series runs" in said
    rows = Results(receiver.root / "a.spots.h5")
    assert all(math.isnan(value) for value in rows.rows("given", 0, 30).values)
    assert rows.rows("energy_matched", 0, 30).values.tolist() == [0] * 30
