"""The process that records, with a real device of a Tango database: events, readings, a device that dies."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import tango

from penstock.beamline.registration import register
from penstock.hosts.tango_database import start_database
from penstock.processing.channels.recorder import Settings
from penstock.processing.channels.recording import ENDED, NO_NUMBER, News, Reader, Recording
from penstock.processing.config.pipeline_config import ChannelConfig
from tests.processing.channels.recorder_process import RecorderProcess, until

DEVICE = "test/motor/1"
MOTOR = Path(__file__).with_name("tango_motor.py")


class Laboratory(RecorderProcess):
    """A database, a motor, and the recorder."""

    def __init__(self, folder: Path) -> None:
        self.database = start_database(folder)
        self.host = f"127.0.0.1:{self.database.answer}"
        super().__init__({**os.environ, "TANGO_HOST": self.host})
        register(tango.Database("127.0.0.1", self.database.answer), "tango_motor/1", "Motor", DEVICE, {})
        self.motor: subprocess.Popen[bytes] | None = None
        self.start_motor()

    def start_motor(self) -> None:
        self.motor = subprocess.Popen([sys.executable, "-P", str(MOTOR)], env=self.environment)
        until(self._answers)

    def _answers(self) -> bool:
        try:
            self.device.ping()
        except tango.DevFailed:
            return False
        return True

    @property
    def device(self) -> tango.DeviceProxy:
        return tango.DeviceProxy(f"tango://{self.host}/{DEVICE}")

    def close(self) -> None:
        super().close()
        if self.motor is not None:
            self.motor.kill()
            self.motor.wait()
        self.database.stop()


@pytest.fixture
def laboratory(tmp_path: Path) -> Iterator[Laboratory]:
    made = Laboratory(tmp_path / "database")
    yield made
    made.close()


def channel(name: str, attribute: str, **keys: Any) -> ChannelConfig:
    return ChannelConfig(name=name, attribute=f"{DEVICE}/{attribute}", poll=0.02, **keys)


@pytest.mark.slow
def test_values_are_recorded_with_the_time_of_the_device_and_who_is_silent_is_said(
    laboratory: Laboratory,
) -> None:
    far = ChannelConfig(name="far", attribute=f"tango://{laboratory.host}/{DEVICE}/position")
    laboratory.record(
        channel("position", "position"), channel("counter", "counter"), channel("text", "text"),
        channel("said", "said", by="frame"), channel("none", "none"), far,
    )  # fmt: skip
    until(lambda: all(laboratory.says(place, "events|") for place in (0, 3, 5)))
    moments = [time.time() + number / 1000 for number in range(50)]
    laboratory.device.Move([each for number, moment in enumerate(moments) for each in (moment, number / 4)])
    laboratory.device.Say([7, 1.25])
    until(lambda: laboratory.has(0, 51) and laboratory.has(5, 51) and laboratory.has(3, 2))
    for place in (0, 5):
        first, *others = laboratory.values[place]
        assert first[2] == 0.5 and [value for _, _, value in others] == [n / 4 for n in range(50)]
        # Tango's times have whole microseconds.
        assert [moment for _, moment, _ in others] == pytest.approx(moments, abs=2e-6)
    assert laboratory.values[3][-1][0] == 7 and laboratory.values[3][-1][2] == 1.25

    until(
        lambda: (
            laboratory.says(1, "read every 0.02 s, since it has no change events|") and laboratory.has(1, 5)
        )
    )
    counted = [value for _, _, value in laboratory.values[1]]
    assert counted == sorted(set(counted))
    until(lambda: laboratory.says(2, "test/motor/1/text is scalar of devstring; a channel is one number"))
    until(lambda: laboratory.says(4, "test/motor/1/none does not answer since 2"))

    assert laboratory.motor is not None
    laboratory.motor.kill()
    laboratory.motor.wait()
    until(lambda: all(laboratory.says(place, "does not answer since 2") for place in (0, 1, 3, 5)))
    known = len(laboratory.values[0])
    laboratory.start_motor()
    until(
        lambda: all(
            laboratory.says(place, "|") and not laboratory.news[place].problem for place in (0, 1, 3, 5)
        )
    )
    laboratory.device.Move([time.time(), 42.0])
    until(lambda: laboratory.has(0, known + 1) and laboratory.values[0][-1][2] == 42.0)


@pytest.mark.slow
def test_a_value_that_holds_ends_when_it_is_invalid_or_its_device_is_away(laboratory: Laboratory) -> None:
    laboratory.record(
        channel("held", "position", how="hold"), channel("polled", "counter", how="hold"),
        channel("near", "position"),
    )  # fmt: skip
    until(lambda: all(laboratory.has(place, 1) for place in (0, 1, 2)))
    begin, now = time.time() - 10, time.time()
    laboratory.device.Move([begin, 1.5])
    laboratory.device.Invalid(begin + 1)
    laboratory.device.Invalid(begin + 2)  # it is over already
    laboratory.device.Move([begin + 3, 2.5])
    until(lambda: laboratory.has(0, 4) and laboratory.has(2, 3))
    numbers, moments, values = zip(*laboratory.values[0][1:], strict=True)
    assert numbers == (NO_NUMBER, ENDED, NO_NUMBER) and (values[0], values[2]) == (1.5, 2.5)
    assert moments == pytest.approx([begin, begin + 1, begin + 3], abs=2e-6)
    assert [value for _, _, value in laboratory.values[2][1:]] == [1.5, 2.5]
    read = len(laboratory.values[1])
    until(lambda: laboratory.has(1, read + 1))  # since then

    assert laboratory.motor is not None
    laboratory.motor.kill()
    laboratory.motor.wait()
    until(lambda: laboratory.read() or all(laboratory.values[place][-1][0] == ENDED for place in (0, 1)))
    assert all(now < laboratory.values[place][-1][1] < time.time() for place in (0, 1))  # the last answer
    known = [len(laboratory.values[place]) for place in (0, 1)]
    laboratory.start_motor()
    until(lambda: all(laboratory.has(place, n + 1) for place, n in enumerate(known)))
    for place in (0, 1):
        (_, ended, _), (number, moment, _) = laboratory.values[place][known[place] - 1 : known[place] + 1]
        assert number == NO_NUMBER and moment > ended


def test_where_no_database_is_named_it_is_said_how_to_name_one_and_none_is_asked() -> None:
    recording = Recording()
    reader, said = Reader(recording.places), list[News]()
    settings = msgspec.json.encode(Settings(recording.places, (channel("x", "position"),))).decode()
    recorder = subprocess.Popen(
        [sys.executable, "-P", "-m", "penstock.processing.channels.recorder", settings],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "TANGO_HOST": ""},
    )  # fmt: skip
    try:
        until(lambda: said.extend(reader.news()) or said)
        assert said[-1].problem.startswith(
            f"TANGO_HOST is not set, so there is no database to ask for {DEVICE}/position: export TANGO_HOST="
        )
        assert recorder.communicate(timeout=20)[1].decode().splitlines() == [
            f"WARNING channel x: {said[-1].problem}"
        ]
    finally:
        recorder.kill()
        recorder.wait()
        recording.close()
