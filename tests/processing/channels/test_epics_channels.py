"""The process that records, with a real IOC: both protocols, alarms, an IOC that dies, what is no number."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.processing.channels.recording import ENDED, NO_NUMBER, News
from penstock.processing.config.pipeline_config import ChannelConfig
from tests.processing.channels.epics_laboratory import EpicsLaboratory
from tests.processing.channels.recorder_process import RecorderProcess, until


@pytest.fixture
def laboratory() -> Iterator[EpicsLaboratory]:
    made = EpicsLaboratory()
    yield made
    made.close()


def channels(record: str, **keys: Any) -> tuple[ChannelConfig, ChannelConfig]:
    """The same record by both protocols."""
    pva, ca = (
        ChannelConfig(name=f"{protocol}_{len(record)}", attribute=f"{protocol}://R:{record}", **keys)
        for protocol in ("pva", "ca")
    )
    return pva, ca


BOTH = (0, 1)
MAJOR, INVALID = 2, 3
"""Severities of alarms."""


def is_well(laboratory: EpicsLaboratory) -> bool:
    laboratory.read()
    return all(laboratory.news[place] == News(place, "monitor", unit="keV") for place in BOTH)


def test_values_have_the_time_of_the_record_and_end_with_an_invalid_alarm(
    laboratory: EpicsLaboratory,
) -> None:
    laboratory.record(*channels("energy", how="hold"))
    until(lambda: all(laboratory.says(place, "monitor|") for place in BOTH))
    assert [laboratory.news[place].unit for place in BOTH] == ["keV", "keV"]
    begin = math.floor(time.time()) - 10
    for number, (value, severity) in enumerate([(1.5, 0), (2.5, MAJOR), (9.0, INVALID), (3.5, 0)], 1):
        laboratory.set("energy", value, begin + number, severity)
        until(lambda count=number + 1: all(laboratory.has(place, count) for place in BOTH))
        if severity == INVALID:
            until(lambda: all(laboratory.says(place, "has no value: its alarm is INVALID") for place in BOTH))
            assert all(laboratory.news[place].problem.endswith("(UDF)") for place in BOTH)
    until(
        lambda: all(
            laboratory.says(place, "monitor|") and not laboratory.news[place].problem for place in BOTH
        )
    )
    for place in BOTH:
        first, *others = laboratory.values[place]
        assert first[2] == 0.5
        numbers, moments, values = zip(*others, strict=True)
        assert numbers == (NO_NUMBER, NO_NUMBER, ENDED, NO_NUMBER)
        assert moments == pytest.approx([begin + number for number in (1, 2, 3, 4)], abs=1e-6)
        assert (*values[:2], values[3]) == (1.5, 2.5, 3.5)


@pytest.mark.slow
def test_a_value_ends_when_the_ioc_is_killed_and_comes_back_with_it(laboratory: EpicsLaboratory) -> None:
    laboratory.record(*channels("energy", how="hold"))
    until(lambda: all(laboratory.has(place, 1) for place in BOTH))
    killed = time.time()
    laboratory.kill_ioc()
    until(
        lambda: all(laboratory.says(place, ": the connection is lost; does its IOC run?") for place in BOTH)
    )
    assert all(len(laboratory.values[place]) == 2 for place in BOTH)
    assert all(laboratory.values[place][1][0] == ENDED for place in BOTH)
    assert all(killed <= laboratory.values[place][1][1] < time.time() for place in BOTH)
    laboratory.start_ioc()
    until(lambda: all(laboratory.has(place, 3) for place in BOTH))
    for place in BOTH:
        (_, ended, _), (number, moment, value) = laboratory.values[place][-2:]
        assert (number, value) == (NO_NUMBER, 0.5) and moment > ended
    until(
        lambda: all(
            laboratory.says(place, "monitor|") and not laboratory.news[place].problem for place in BOTH
        )
    )


@pytest.mark.slow
def test_what_has_no_value_is_said_and_arrays_say_their_frame(laboratory: EpicsLaboratory) -> None:
    laboratory.record(
        *channels("shutter"), *channels("count"), *channels("said", by="frame"), *channels("never"),
        *channels("text"), *channels("said"), *channels("nobody"),
    )  # fmt: skip
    for place in (0, 1, 2, 3):
        until(lambda place=place: laboratory.has(place, 1))
        assert laboratory.values[place][0][2] == (1.0 if place < 2 else 3.0)
    until(lambda: all(laboratory.has(place, 1) for place in (4, 5)))
    laboratory.set("said", [7, 1.25], time.time())
    until(lambda: all(laboratory.has(place, 2) for place in (4, 5)))
    assert all(laboratory.values[place][1][::2] == (7, 1.25) for place in (4, 5))
    for places, text in (
        ((6, 7), "://R:never has no value: its time stamp is 0, so it was never processed"),
        ((8, 9), "://R:text is text; a channel is one number"),
        ((10, 11), "://R:said is an array of 2 values; a channel is one number"),
        ((12, 13), "://R:nobody does not answer since 2"),
    ):
        for place in places:
            until(lambda place=place, text=text: laboratory.says(place, text))
            assert not laboratory.has(place, 1)
    for place, variable in ((12, "EPICS_PVA_ADDR_LIST"), (13, "EPICS_CA_ADDR_LIST")):
        assert f"give its host in {variable} and restart the pipeline" in laboratory.news[place].problem


@pytest.mark.parametrize(("protocol", "package"), [("pva", "p4p"), ("ca", "aioca")])
def test_without_the_extra_the_package_and_the_extra_are_named(
    protocol: str, package: str, tmp_path: Path
) -> None:
    # As if it were not installed.
    (tmp_path / f"{package}.py").write_text(f"raise ModuleNotFoundError('none', name='{package}')\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    process = RecorderProcess(environment)
    process.record(ChannelConfig(name="x", attribute=f"{protocol}://R:x"))
    until(lambda: process.says(0, f"{protocol}://R:x cannot be read, since {package} is missing: install"))
    assert "Penstock with its extra epics" in process.news[0].problem
    process.close()
