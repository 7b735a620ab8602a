"""Faults that are planted in a good camera; the suite has to find each, by the test that is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pytest

from penstock.streamer.camera.contract import Acquisition, Exposure
from penstock.streamer.camera.settings import Settings, TriggerMode, Value
from tests.contract.okapi import COLS, READOUT, ROWS, Okapi
from tests.contract.run_one import run
from tests.contract.test_camera_contract import CameraContract
from tests.streamer.rig import Rig

INTERNAL, SOFTWARE = TriggerMode.INTERNAL, TriggerMode.SOFTWARE


class TestOkapi(CameraContract):
    """The good one."""

    camera = Okapi
    sdk = None
    shape = (ROWS, COLS)

    def lose(self, rig: Rig, index: int) -> None:
        rig.camera.sdk.lost = {index}

    def mark(self, rig: Rig, row: int, col: int) -> None:
        rig.camera.sdk.marked = row, col

    def region(self, rows: int, cols: int) -> Mapping[str, Value]:
        return {"Rows": rows, "Cols": cols}

    def power(self, rig: Rig, on: bool) -> None:
        rig.camera.sdk.is_on = on
        if on:
            rig.camera.sdk.start_up()

    def leave_settings(self, rig: Rig) -> None:
        rig.camera.sdk.write(rows=2, cols=3, exposure=7.0, period=9.0, burst=5, source="line 1")


class LendsOnce(Okapi):
    """The buffers that have been sent are not lent again."""

    def lend_again(self, acquisition: Acquisition) -> None:
        pass


class IgnoresUnderruns(Okapi):
    def refuse_underruns(self) -> None:
        pass


class IgnoresLatency(Okapi):
    def period_of(self, settings: Settings) -> float:
        return settings.exposure_time + READOUT


class ExchangesRowsAndColumns(Okapi):
    def shape_of(self, settings: Settings) -> tuple[int, ...]:
        return tuple(reversed(super().shape_of(settings)))


class SendsColumnAfterColumn(Okapi):
    def __init__(self, properties: Mapping[str, Value]) -> None:
        super().__init__(properties)
        self.sdk.order = "F"


class GivesTwoFramesForOne(Okapi):
    def frames(self, acquisition: Acquisition) -> Iterator[Exposure]:
        for exposure in super().frames(acquisition):
            yield msgspec.structs.replace(exposure, index=2 * exposure.index)
            yield Exposure(index=2 * exposure.index + 1, slot=self.sdk.queue.popleft()[0])


class TakesOneFrameOfABurst(Okapi):
    def registers_of(self, settings: Settings) -> dict[str, object]:
        return super().registers_of(settings) | {"burst": 1}


class KeepsItsFirstRegion(Okapi):
    """The format is that of the first series."""

    first: tuple[int, ...] | None = None

    def shape_of(self, settings: Settings) -> tuple[int, ...]:
        self.first = self.first or super().shape_of(settings)
        return self.first


class WritesOnlyWhatHasChanged(Okapi):
    """It remembers what it has written, and does not know what others have."""

    written: Mapping[str, object] = {}

    def registers_of(self, settings: Settings) -> dict[str, object]:
        wanted = super().registers_of(settings)
        before, self.written = self.written, wanted
        return {name: value for name, value in wanted.items() if before.get(name) != value}


class GoesOnWithoutPower(Okapi):
    """An SDK's error is taken for a frame that did not come."""

    def __init__(self, properties: Mapping[str, Value]) -> None:
        super().__init__(properties)
        self.sdk.ask = lambda: None  # type: ignore[method-assign]


WHOLE = "test_settings_that_another_program_has_left_change_no_series"
FAULTS: list[tuple[type[Okapi], str, dict[str, Any], str]] = [
    (
        LendsOnce, "test_a_series_longer_than_the_ring_has_every_frame", {"waiting_mode": SOFTWARE},
        "frames are missing; lend the SDK another buffer after each .* no buffer was free",
    ),
    (
        IgnoresUnderruns, "test_frames_that_find_no_buffer_are_a_fault_that_counts_them", {},
        "raise Overrun for frames for which the SDK had no buffer",
    ),
    (
        IgnoresLatency, "test_frames_are_at_least_exposure_and_latency_apart", {},
        "frames follow each other faster than LatencyTime allows",
    ),
    (
        ExchangesRowsAndColumns, "test_a_frame_has_the_rows_and_columns_of_the_data_sheet", {},
        r"shape is \(rows, cols\)",
    ),
    (
        SendsColumnAfterColumn, "test_a_pixel_is_where_its_row_and_column_say", {"at": (1, 0)},
        "rows come one after another",
    ),
    (
        GivesTwoFramesForOne, "test_nothing_is_exposed_before_its_trigger", {"waiting_mode": SOFTWARE},
        "assert 2 == 1",
    ),
    (TakesOneFrameOfABurst, "test_each_trigger_gives_its_frames", {"mode": SOFTWARE}, "assert 1 == 3"),
    (
        KeepsItsFirstRegion, "test_a_region_that_changes_between_series_is_that_of_the_next", {},
        r"assert \(12, 20\) == \(8, 16\)",
    ),
    (WritesOnlyWhatHasChanged, WHOLE, {"mode": INTERNAL}, "prepare has to write every setting"),
    (
        WritesOnlyWhatHasChanged, "test_after_a_power_cut_between_series_the_next_one_is_whole",
        {"mode": SOFTWARE}, "prepare has to write every setting",
    ),
    (
        GoesOnWithoutPower, "test_a_power_cut_in_a_series_is_a_fault_and_the_next_series_is_whole",
        {"mode": SOFTWARE}, "a camera without power takes no frames",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "test", "given", "said"), FAULTS, ids=[f"{fault[0].__name__}-{fault[1]}" for fault in FAULTS]
)
def test_a_fault_in_a_camera_is_found_by_this_test(
    fault: type[Okapi], test: str, given: dict[str, Any], said: str
) -> None:
    class Planted(TestOkapi):
        camera = fault
        latency = 2.0  # which it ignores: however slow this computer is, it is faster

    with pytest.raises(AssertionError, match=said):
        run(Planted(), test, **given)
    run(TestOkapi(), test, **given)
