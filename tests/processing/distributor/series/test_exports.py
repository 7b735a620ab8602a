"""Files for others: made one after the other, and whatever becomes of one is said."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from penstock.processing.config.pipeline_config import ExportConfig
from penstock.processing.distributor.series import exports
from penstock.processing.distributor.series.exports import Exported, Exports
from penstock.processing.results import as_stempy
from penstock.processing.results.layout import DONE
from penstock.processing.results.rows import Beyond
from penstock.processing.wire import Array
from tests.processing.results.made import created, finish
from tests.processing.service.pipeline_process import wait_until


def results_of(made: Exports, number: int) -> list[Exported]:
    found: list[Exported] = []

    def have_come() -> bool:
        found.extend(made.step())
        return len(found) >= number

    wait_until(have_come, "the processes have ended")
    return found


def test_a_file_that_cannot_be_made_is_said_and_the_next_one_is_tried(tmp_path: Path) -> None:
    made = Exports([ExportConfig(kind="stempy")], overwrite=False)
    for name in ("a.h5", "b.h5"):
        made.begin(str(tmp_path / name))
    first, second = results_of(made, 2)
    assert first.result_file == str(tmp_path / "a.h5") and first.failed
    assert f"{tmp_path}/a.h5 cannot be opened" in first.said
    assert second.result_file == str(tmp_path / "b.h5") and second.failed
    assert not made.are_running


def test_a_process_that_dies_without_a_word_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(exports.MODULES, "stempy", "penstock.there_is_no_such_module")
    made = Exports([ExportConfig(kind="stempy")], overwrite=False)
    made.begin(str(tmp_path / "a.h5"))
    (result,) = results_of(made, 1)
    assert result.failed and "ended with exit status 1" in result.said
    assert "No module named" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("planned", "positions"), [(8, [0, 1, 2, 3, None, None, None, None]), (2**48, [0, 1, 2, 3])]
)
def test_positions_of_a_scan_are_those_of_its_plan_if_that_is_one(
    tmp_path: Path, planned: int, positions: list[int | None]
) -> None:
    indices = np.arange(4)
    results = created(tmp_path, planned)
    events = Array(name="electrons", dtype="<u4", shape=(4,), kind="events", counts=(1, 1, 1, 1))
    results.rows(events, indices, indices.astype(np.uint32))
    results.status(indices, DONE)
    counts = {"planned": planned, "absent": planned - 4}
    shape = Array(name="frame_shape", dtype="<i8", shape=(2,))
    whole = [(shape, np.array([2, 3]))]
    assert finish(results, 4, counts=counts, whole=whole, beyond=Beyond(4, planned, 5)) == ""
    path = tmp_path / "x.spots.h5"
    as_stempy.write(path, as_stempy.Settings(result="electrons", scan=(2, 2)))
    with h5py.File(as_stempy.path_of(path)) as file:
        found = [row.tolist() for row in file["electron_events/frames"][...]]
    assert found == [[] if each is None else [each] for each in positions]


def test_without_exports_nothing_is_started(tmp_path: Path) -> None:
    made = Exports([], overwrite=False)
    made.begin(str(tmp_path / "a.h5"))
    assert not made.are_running and made.step() == []
