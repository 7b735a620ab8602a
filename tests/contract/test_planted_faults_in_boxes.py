"""Faults that are planted in a good box; the suite has to find each, by the test that is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from penstock.stins.user_part import UserPart
from penstock.streamer.camera.own_stream import StreamingDetector
from penstock.streamer.camera.settings import Settings, TriggerMode, Value
from tests.contract import test_streaming_contract
from tests.contract.nyala import FIRST_DAY, Nyala
from tests.contract.run_one import run

INTERNAL = TriggerMode.INTERNAL


class NyalaContract(test_streaming_contract.TestBox):
    """What the test class of the good one says; only the tests of the table run."""

    detector = Nyala
    rounded = (0.0042, 0.004)
    latency = 0.02

    @contextmanager
    def open(self) -> Iterator[Nyala]:
        yield self.detector({})

    def build(self) -> Nyala:
        return self.detector({})

    def region(self) -> tuple[Mapping[str, Value], tuple[int, ...]]:
        return {"Rows": 2}, (2, 4)

    def leave_settings(self, unit: StreamingDetector) -> None:
        assert isinstance(unit, Nyala)
        unit.registers |= {"exposure_time": 0.001, "n_triggers": 1, "n_frames_per_trigger": 2, "rows": 1}

    def power(self, unit: StreamingDetector, on: bool) -> None:
        assert isinstance(unit, Nyala)
        if on:
            unit.registers = dict(FIRST_DAY)
        super().power(unit, on)


class DropsMetadata(Nyala):
    def arm(self, user: UserPart) -> None:
        super().arm(msgspec.structs.replace(user, metadata={}))


class DropsThePlan(Nyala):
    """How many frames are planned is not in the start message."""

    def arm(self, user: UserPart) -> None:
        super().arm(msgspec.structs.replace(user, frames=0))


class SaysWhatWasAskedFor(Nyala):
    """The settings of a series are not read back."""

    def as_prepared(self, settings: Settings) -> Settings:
        return settings


class ShowsWhatItHasSet(Nyala):
    """Its own settings are not read back."""

    known: Mapping[str, Value] = {}

    def values(self) -> Mapping[str, Value]:
        self.known = self.known or super().values()
        return self.known


class IgnoresLatency(Nyala):
    def registers_of(self, settings: Settings) -> dict[str, Value]:
        return super().registers_of(settings) | {"latency_time": 0.0}


class SendsOneFrameLess(Nyala):
    """The last of the planned frames is not sent."""

    def registers_of(self, settings: Settings) -> dict[str, Value]:
        return super().registers_of(settings) | {"n_triggers": settings.n_triggers - 1}


class KeepsItsFirstRegion(Nyala):
    def registers_of(self, settings: Settings) -> dict[str, Value]:
        return super().registers_of(settings) | {"rows": FIRST_DAY["rows"]}


class WritesOnlyWhatHasChanged(Nyala):
    """It remembers what it has written, and does not know what others have."""

    written: Mapping[str, Value] = {}

    def registers_of(self, settings: Settings) -> dict[str, Value]:
        wanted = super().registers_of(settings)
        before, self.written = self.written, wanted
        return {name: value for name, value in wanted.items() if before.get(name) != value}


FAULTS: list[tuple[type[Nyala], str, dict[str, Any], str]] = [
    (
        DropsMetadata, "test_metadata_and_plan_are_those_of_the_arming", {},
        "arm has to pass on user.metadata",
    ),
    (
        DropsThePlan, "test_metadata_and_plan_are_those_of_the_arming", {},
        "the plan is in the user part",
    ),
    (
        SaysWhatWasAskedFor, "test_an_exposure_that_the_box_rounds_is_shown_as_the_box_has_it", {},
        r"assert 0\.0042 == 0\.004",
    ),
    (
        ShowsWhatItHasSet, "test_what_another_client_has_set_is_shown_once_it_is_read_again", {},
        r"assert 8000\.0 == 10000\.0",
    ),
    (
        IgnoresLatency, "test_frames_are_at_least_exposure_and_latency_apart", {},
        "frames follow each other faster than LatencyTime allows",
    ),
    (
        SendsOneFrameLess, "test_a_series_bears_the_id_of_its_arming_and_has_every_frame",
        {"mode": INTERNAL}, r"assert \[0, 1\] == \[0, 1, 2\]",
    ),
    (
        KeepsItsFirstRegion, "test_a_region_that_changes_between_series_is_that_of_the_next", {},
        r"assert \(3, 4\) == \(2, 4\)",
    ),
    (
        WritesOnlyWhatHasChanged, "test_settings_that_another_client_has_left_change_no_series",
        {"mode": INTERNAL}, "prepare has to bring every setting",
    ),
    (
        WritesOnlyWhatHasChanged, "test_after_a_power_cut_that_nobody_has_noticed_the_next_series_is_whole",
        {}, "prepare has to bring every setting",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "test", "given", "said"), FAULTS, ids=[f"{fault[0].__name__}-{fault[1]}" for fault in FAULTS]
)
def test_a_fault_in_a_box_is_found_by_this_test(
    fault: type[Nyala], test: str, given: dict[str, Any], said: str
) -> None:
    class Planted(NyalaContract):
        detector = fault
        latency = 2.0  # which it ignores: however slow this computer is, it is faster

    with pytest.raises(AssertionError, match=said):
        run(Planted(), test, **given)
    run(NyalaContract(), test, **given)


def test_a_hook_that_a_test_class_lacks_is_named_in_the_skip() -> None:
    with pytest.raises(pytest.skip.Exception, match=r"no region\(\): it always reads out the whole sensor"):
        test_streaming_contract.TestBox().needs("region")
    NyalaContract().needs("region")
