"""`penstock process` with channels of EPICS, as a user runs it: a real receiver, a real IOC."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.processing.models import Status
from penstock.processing.results.read import Results
from tests.processing.channels.epics_laboratory import EpicsLaboratory
from tests.processing.test_channels_of_tango import NUMBER, send
from tests.processing.test_process import ENTRY, running
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer

BOTH = ("pva", "ca")


@pytest.fixture
def laboratory(monkeypatch: pytest.MonkeyPatch) -> Iterator[EpicsLaboratory]:
    made = EpicsLaboratory()
    for name, value in made.variables.items():
        monkeypatch.setenv(name, value)
    yield made
    made.close()


def channel(name: str, protocol: str, record: str, **keys: Any) -> dict[str, Any]:
    return {"name": f"{name}_{protocol}", "attribute": f"{protocol}://R:{record}", **keys}


KEYS: dict[str, Any] = {
    "parameters": {}, "workers": 1, "late_seconds": 1.0, "channels": [
        *(channel("energy", protocol, "energy", tolerance=0.0004) for protocol in BOTH),
        *(channel("shutter", protocol, "shutter", how="hold") for protocol in BOTH),
        *(channel("nobody", protocol, "nobody") for protocol in BOTH),
    ],
}  # fmt: skip


def is_known(status: Status, before: list[int], invalid: bool) -> bool:
    """Whether the channels have a further value, or it is said that the record has none."""
    if invalid:
        return all("its alarm is INVALID (UDF)" in each.problem for each in status.channels[:2])
    return all(each.values > count for each, count in zip(status.channels[:2], before, strict=True))


@pytest.mark.slow
def test_values_of_a_real_ioc_are_columns_of_the_result_file(
    laboratory: EpicsLaboratory, start_receiver: Callable[..., ReceiverProcess], streamer: Streamer,
    tmp_path: Path,
) -> None:  # fmt: skip
    receiver = start_receiver(forward=[ENTRY])
    receiver.connected()
    with running(tmp_path, receiver, NUMBER, **KEYS) as made:
        made.wait(lambda status: [each.how for each in status.channels] == ["monitor"] * 4 + [""] * 2)
        made.wait(lambda status: all("no IOC says" in each.problem for each in status.channels[4:]))
        begin, raw = time.time(), receiver.root / "a.h5"
        for number in range(5):  # the next one once it is known, or the IOC would leave it out
            known = [each.values for each in made.client.status().channels[:2]]
            invalid = number == 2
            laboratory.set("energy", number / 4, begin + number / 1000, severity=3 if invalid else 0)
            made.wait(lambda status, known=known, invalid=invalid: is_known(status, known, invalid))
        status = made.over(send(streamer, raw, begin, 8))
        assert status.series is not None and status.series.counts.done == 8
        assert status.series.unmatched == {
            "energy_pva": 4, "energy_ca": 4, "shutter_pva": 0, "shutter_ca": 0,
            "nobody_pva": 8, "nobody_ca": 8,
        }  # fmt: skip
        wanted = [n / 4 if n < 5 and n != 2 else None for n in range(8)]
        for protocol in BOTH:
            assert made.client.values(f"energy_{protocol}").values == wanted
            assert made.client.values(f"shutter_{protocol}").values == [1.0] * 8
    results = Results(receiver.root / "a.spots.h5")
    units = {each.name: each.unit for each in results.names()}
    assert units["energy_pva"] == units["energy_ca"] == "keV" and units["shutter_pva"] == ""
