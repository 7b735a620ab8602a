"""The result file: what is in it at its end, whatever was planned, and what is refused."""

from __future__ import annotations

import errno
import os
import resource
from pathlib import Path
from typing import Any

import h5py
import msgspec
import numpy as np
import pytest

from penstock.processing.distributor.frames.bunches import Bunch, Item
from penstock.processing.distributor.series.store import Store
from penstock.processing.results import finish as finishing
from penstock.processing.results.errors import ResultError
from penstock.processing.results.layout import DONE, FIRST_ROWS, MOST_LISTED, PENDING
from penstock.processing.results.open_result import OpenResult
from penstock.processing.results.place import path_for
from penstock.processing.results.read import Results
from penstock.processing.results.result_file import ResultFile
from penstock.processing.results.rows import Beyond
from penstock.processing.wire import Array
from tests.processing.results import made
from tests.processing.results.made import BRIGHT, CURVE, begun, created, curves, fill, finish

HITS = Array(name="hits", dtype="<f4", shape=(5, 2), kind="events", counts=(2, 3))


def curve(folder: Path) -> np.ndarray:
    with h5py.File(folder / "x.spots.h5") as file:
        return np.asarray(file["entry/curve/curve"][...])


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_file_has_rows_account_and_process(tmp_path: Path) -> None:
    results = created(tmp_path, 100)
    fill(results, 0, 100)
    results.name_worker(1, "node7/1")
    results.parameters(2, {"threshold": 700}, 50)
    assert finish(results, 100) == ""
    with h5py.File(tmp_path / "x.spots.h5") as file:
        entry = file["entry"]
        assert np.array_equal(entry["curve/curve"][...], curves(np.arange(100)))
        assert np.array_equal(entry["bright/bright"][...], np.arange(100))
        assert entry.attrs["default"] == "curve"
        account = entry["account"]
        assert account["frame_status"][...].tolist() == [DONE] * 100
        assert account["parameters_version"][...].tolist() == [1] * 100
        assert account["raw_stored"][...].tolist() == [255] * 100
        assert account["workers"][1] == b"node7/1" and account["worker"][...].tolist() == [1] * 100
        assert account["state"][()] == b"complete" and account["counts/done"][()] == 100
        assert account["counts/planned"][()] == 100
        assert entry["process/step_1/data"].asstr()[()] == made.SOURCE
        assert entry["process/step_1"].attrs["sha256"] == "00ff"
        assert entry["entry_identifier"].asstr()[()] == "s1"
    assert Results(tmp_path / "x.spots.h5").parameters() == [
        (1, 0, {"threshold": 500}), (2, 50, {"threshold": 700})
    ]  # fmt: skip
    assert names_in(tmp_path) == {"x.spots.h5"}


def test_a_file_of_no_frames_is_complete(tmp_path: Path) -> None:
    for planned in (0, None):
        results = created(tmp_path, planned)
        results.prepare((CURVE, BRIGHT, HITS))
        assert finish(results, 0) == ""
        with h5py.File(tmp_path / "x.spots.h5") as file:
            assert file["entry/account/frame_status"].shape == (0,)
            assert file["entry/curve/curve"].shape == (0, 512)
            assert file["entry/hits/hits"].shape == (0, 2)
            assert file["entry/account/state"][()] == b"complete"
        (tmp_path / "x.spots.h5").unlink()


def test_a_series_of_unknown_length_has_several_segments_and_its_own_length(tmp_path: Path) -> None:
    frames = 3 * FIRST_ROWS + 17
    results = created(tmp_path, None)
    fill(results, 0, frames, bunch=500)
    with h5py.File(tmp_path / "x.spots.h5") as file:
        assert len(file["entry/curve/curve"].virtual_sources()) == 3
        assert np.array_equal(file["entry/curve/curve"][:frames], curves(np.arange(frames)))
    assert finish(results, frames) == ""
    assert np.array_equal(curve(tmp_path), curves(np.arange(frames)))
    with h5py.File(tmp_path / "x.spots.h5") as file:
        assert file["entry/account/frame_status"][...].tolist() == [DONE] * frames
        assert not file["entry/curve/curve"].is_virtual and "segments" not in file["entry"]
    # The places that no frame took are given back.
    assert (tmp_path / "x.spots.h5").stat().st_blocks * 512 < 1.1 * frames * CURVE.shape[1] * 8 + 2**21


def test_more_frames_than_planned_have_places(tmp_path: Path) -> None:
    results = created(tmp_path, 10)
    fill(results, 0, 10)
    fill(results, 10, 14)
    assert finish(results, 14) == ""
    assert np.array_equal(curve(tmp_path), curves(np.arange(14)))


def test_a_name_first_appears_in_frame_500(tmp_path: Path) -> None:
    late = Array(name="late", dtype="<f4", shape=(1, 3))
    count = Array(name="count_late", dtype="<u2", shape=(1,))
    results = created(tmp_path, 1000)
    fill(results, 0, 500)
    opened = (tmp_path / "x.spots.h5").open("rb")  # so that its inode is not used again
    fill(results, 500, 1000)
    indices = np.arange(500, 1000)
    results.rows(late, indices, np.full((500, 3), 7, np.float32))
    results.rows(count, indices, np.full(500, 7, np.uint16))
    with opened:
        assert not os.path.samestat(os.stat(results.path), os.fstat(opened.fileno()))
    assert finish(results, 1000) == ""
    assert np.array_equal(curve(tmp_path), curves(np.arange(1000)))
    with h5py.File(tmp_path / "x.spots.h5") as file:
        values = file["entry/late/late"][...]
        assert np.isnan(values[:500]).all() and (values[500:] == 7).all()
        assert file["entry/count_late/count_late"][...].tolist() == [0] * 500 + [7] * 500
        assert file["entry/account/valid/count_late"][...].tolist() == [0] * 500 + [1] * 500


def test_all_names_of_a_bunch_come_in_one_go(tmp_path: Path) -> None:
    results = created(tmp_path, 10)
    results.prepare((CURVE, BRIGHT, HITS))
    opened = results.path.open("rb")
    results.rows(CURVE, np.array([3]), curves(np.array([3])))
    results.rows(BRIGHT, np.array([3]), np.array([3]))
    results.rows(HITS, np.array([3, 4]), np.zeros((5, 2), np.float32))
    with opened:
        assert os.path.samestat(os.stat(results.path), os.fstat(opened.fileno()))
    results.close()


def test_frames_come_in_any_order(tmp_path: Path) -> None:
    results = created(tmp_path, 1000)
    order = np.random.default_rng(1).permutation(1000)
    for bunch in np.array_split(order, 40):
        results.rows(CURVE, bunch, curves(bunch))
        results.status(bunch, DONE)
    finish(results, 1000)
    assert np.array_equal(curve(tmp_path), curves(np.arange(1000)))


def test_frames_without_a_value_are_nan(tmp_path: Path) -> None:
    results = created(tmp_path, 6)
    results.rows(CURVE, np.array([1, 4]), curves(np.array([1, 4])))
    results.status(np.arange(6), DONE)
    finish(results, 6)
    values = curve(tmp_path)[:, 0]
    assert np.array_equal(values, [np.nan, 1, np.nan, np.nan, 4, np.nan], equal_nan=True)


def test_rows_of_frames_that_are_not_done_do_not_count(tmp_path: Path) -> None:
    results = created(tmp_path, 4)
    results.rows(CURVE, np.arange(4), curves(np.arange(4)))
    hits = Array(name="hits", dtype="<i8", shape=(4,), kind="events", counts=(1, 1, 1, 1))
    results.rows(hits, np.arange(4), np.arange(4))
    results.status(np.array([0, 3]), DONE)
    results.status(np.array([1]), 2)  # another of its values was refused
    results.status(np.array([2]), 3)  # it was held, and its worker has died
    finish(results, 2, counts={"failed": 1, "lost": 1})
    assert np.array_equal(curve(tmp_path)[:, 0], [0, np.nan, np.nan, 3], equal_nan=True)
    with h5py.File(tmp_path / "x.spots.h5") as file:
        assert file["entry/account/valid/curve"][...].tolist() == [1, 0, 0, 1]
        assert file["entry/hits/count"][...].tolist() == [1, 0, 0, 1]
    assert Results(tmp_path / "x.spots.h5").rows("hits", 0, 4).values.tolist() == [0, 3]


def test_a_plan_that_was_hardly_begun_takes_no_space_and_no_memory(tmp_path: Path) -> None:
    planned = 1_000_000
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    results = created(tmp_path, planned)
    small = Array(name="small", dtype="<f8", shape=(1, 16))
    results.rows(small, np.arange(100), np.ones((100, 16)))
    results.status(np.arange(100), DONE)
    status = np.full(planned - 100, 5, np.uint8)
    results.status(np.arange(100, planned), 5)
    finish(results, 100, counts={"absent": len(status)})
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) * 1024
    assert grown < 40 * planned  # indices and statuses of the call above, no rows of 128 bytes
    with h5py.File(tmp_path / "x.spots.h5") as file:
        values = file["entry/small/small"]
        assert values.shape == (planned, 16)
        assert (values[:100] == 1).all() and np.isnan(values[100:5000]).all() and np.isnan(values[-1]).all()
    assert (tmp_path / "x.spots.h5").stat().st_blocks * 512 < 20 * planned


def test_of_very_many_planned_frames_there_are_rows_as_far_as_they_came(tmp_path: Path) -> None:
    path, came, planned = tmp_path / "x.spots.h5", np.array([0, 1, 3]), 2**48
    hits = Array(name="hits", dtype="<f4", shape=(5, 2), kind="events", counts=(1, 0, 4))
    results = created(tmp_path, planned)
    for array, values in ((CURVE, curves(came)), (BRIGHT, came), (hits, np.zeros((5, 2), np.float32))):
        results.rows(array, came, values)
    results.status(came, DONE)
    assert Results(path).known(2, 5)[0].tolist() == [255, 1, 255]
    results.close()

    results = ResultFile.resume(path, "s1")
    assert results.states[:5].tolist() == [1, 1, 255, 1, 255] and len(results.states) == FIRST_ROWS
    results.status(np.array([2]), 5)
    counts = {"planned": planned, "absent": 281_474_976_710_653}
    assert finish(results, 3, counts=counts, beyond=Beyond(4, planned, 5)) == ""
    with h5py.File(path) as file:
        assert file["entry/account/frame_status"][...].tolist() == [1, 1, 5, 1]
        assert file["entry/account/frame_status_beyond"][()] == 5
        assert file["entry/curve/curve"].shape == (4, 512) and "segments" not in file["entry"]
    assert path.stat().st_blocks * 512 < 1_000_000

    found = Results(path)
    assert found.account()["counts"]["absent"] == 281_474_976_710_653
    states, beyond = found.known()
    assert (states.tolist(), beyond) == ([1, 1, 5, 1], (4, 281_474_976_710_656, 5))
    assert found.states(2**40, 2**40 + 2).tolist() == [5, 5]
    assert found.states(planned - 1, planned + 9).tolist() == [5] and found.states(6, 3).tolist() == []
    rows = found.rows("curve", 2, 8, 2)
    assert (rows.first, rows.states.tolist(), rows.has.tolist()) == (2, [5, 5, 5], [False] * 3)
    assert rows.values.shape == (3, 512) and np.isnan(rows.values).all()
    assert found.rows("bright", 3, 6).values.tolist() == [3, 0, 0]
    assert found.rows("bright", 2**40, 2**40 + 2).states.tolist() == [5, 5]
    events = found.rows("hits", 1, 6)
    assert events.counts is not None and events.counts.tolist() == [0, 0, 4, 0, 0]
    assert events.values.shape == (4, 2) and not events.has[2:].tolist()[2]
    latest = found.latest("bright")
    assert latest is not None and latest.first == 3
    for ask in (lambda: found.states(0, planned), lambda: found.rows("bright", 0, planned, values=False)):
        with pytest.raises(ResultError, match="too many at once: ask for fewer frames"):
            ask()


def test_rows_that_were_skipped_take_no_space(tmp_path: Path) -> None:
    results, far = created(tmp_path, 2**48), 1_000_000
    counted = Array(name="counted", dtype="<u2", shape=(1, 512))
    for index in (0, far, 7, far + 1):
        results.rows(counted, np.array([index]), np.full((1, 512), 9, np.uint16))
        fill(results, index, index + 1)
    taken = (tmp_path / "x.spots.h5").stat().st_blocks * 512
    assert taken < 3 * FIRST_ROWS * CURVE.shape[1] * 10, "one curve of a million would take 4 GB"
    results.status(np.delete(np.arange(far), [0, 7]), 5)
    counts = {"planned": 2**48, "absent": 2**48 - 4}
    assert finish(results, 4, counts=counts, beyond=Beyond(far + 2, 2**48, 5)) == ""
    rows = Results(tmp_path / "x.spots.h5").rows("curve", far - 1, far + 3)
    assert np.isnan(rows.values[[0, 3]]).all() and rows.values[1:3, 5].tolist() == [far, far + 1]
    with h5py.File(tmp_path / "x.spots.h5") as file:
        assert file["entry/counted/counted"][far - 5 :, 0].tolist() == [0] * 5 + [9, 9]
    assert (tmp_path / "x.spots.h5").stat().st_blocks * 512 < 2 * FIRST_ROWS * CURVE.shape[1] * 8


@pytest.mark.parametrize("name", ["hits", "count", "first"])
def test_events_of_frames_are_found_by_first_and_count(tmp_path: Path, name: str) -> None:
    results = created(tmp_path, 20_000)
    for first in range(0, 20_000, 4000):
        indices = np.arange(first, first + 4000)
        counts = indices % 3
        hits = Array(
            name=name, dtype="<i8", shape=(int(counts.sum()),), kind="events", counts=tuple(counts.tolist())
        )
        results.rows(hits, indices, np.repeat(indices, counts))
        results.status(indices, DONE)
    reader = Results(tmp_path / "x.spots.h5")
    found = reader.rows(name, 9_999, 10_002)
    assert found.counts is not None and found.counts.tolist() == [0, 1, 2]
    assert found.values.tolist() == [10_000, 10_001, 10_001]
    finish(results, 20_000)
    with h5py.File(tmp_path / "x.spots.h5") as file:
        assert np.array_equal(
            file[f"entry/{name}/{name}"][...], np.repeat(np.arange(20_000), np.arange(20_000) % 3)
        )
    latest = reader.latest(name)
    assert latest is not None and latest.first == 19_999 - 19_999 % 3 + (0 if 19_999 % 3 == 0 else 19_999 % 3)


def test_accumulated_values_are_shown_as_users_mean_them(tmp_path: Path) -> None:
    results = created(tmp_path, 10)
    arrays = [
        Array(name="mean", dtype="<u8", shape=(2, 3), kind="mean", n=4),
        Array(name="greatest", dtype="<i4", shape=(), kind="max", n=4),
    ]
    results.accumulated(arrays, [np.arange(6, dtype="u8").reshape(2, 3), np.array(-3, "<i4")], np.arange(4))
    reader = Results(tmp_path / "x.spots.h5")
    mean, frames = reader.accumulated("mean")
    assert np.array_equal(mean, np.arange(6).reshape(2, 3) / 4) and frames == 4
    assert reader.accumulated("greatest") == (-3, 4)
    assert reader.states().tolist() == [DONE] * 4 + [PENDING] * 6
    whole = Array(name="fit", dtype="<f8", shape=(2,))
    finish(results, 10, whole=[(whole, np.array([1.5, 2.5]))])
    assert reader.whole("fit").tolist() == [1.5, 2.5]
    assert {each.name: each.kind for each in reader.names()} == {
        "mean": "accumulated", "greatest": "accumulated", "fit": "whole"
    }  # fmt: skip


def test_failed_and_lost_frames_are_listed(tmp_path: Path) -> None:
    results = created(tmp_path, 5000)
    for index in range(MOST_LISTED + 5):
        results.error(index, f"ZeroDivisionError in frame {index}: " + "é" * 200)
    results.lost(4999, "node7/1")
    finish(results, 0)
    with h5py.File(tmp_path / "x.spots.h5") as file:
        errors = file["entry/account/errors"]
        assert errors["index"][...].tolist() == list(range(MOST_LISTED))
        assert errors["sentence"].asstr()[3].startswith("ZeroDivisionError in frame 3: éé")
        lost = file["entry/account/lost"]
        assert (lost["index"][0], lost["worker"][0], lost["index"][1]) == (4999, b"node7/1", -1)
    assert Results(tmp_path / "x.spots.h5").account()["errors"][7].startswith("ZeroDivisionError in frame 7")


def test_many_sets_of_parameters_are_kept(tmp_path: Path) -> None:
    results = created(tmp_path, 10)
    for version in range(2, 202):
        results.parameters(version, {"threshold": version}, version)
    finish(results, 10)
    kept = Results(tmp_path / "x.spots.h5").parameters()
    assert kept[1:] == [(version, version, {"threshold": version}) for version in range(2, 202)]


def test_names_with_dots_and_those_of_the_file_are_stored_under_others(tmp_path: Path) -> None:
    results = created(tmp_path, 2)
    for name in ("fit.x", "account", "end_time"):
        results.rows(Array(name=name, dtype="<i8", shape=(1,)), np.array([0]), np.array([5]))
    results.status(np.array([0]), DONE)
    reader = Results(tmp_path / "x.spots.h5")
    assert {each.name for each in reader.names()} == {"fit.x", "account", "end_time"}
    assert [int(reader.rows(name, 0, 1).values[0]) for name in ("fit.x", "account", "end_time")] == [5] * 3
    unlike = results.prepare((Array(name="fit_x", dtype="<i8", shape=(1,)),))
    assert str(unlike["fit_x"]).startswith("results fit_x and fit.x would have one name in the file")
    results.close()


def test_thousands_of_names_are_added_in_one_copy_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies: list[str] = []
    remake = OpenResult.remake

    def counted(self: OpenResult, change: Any, what: str, **keys: Any) -> None:
        copies.append(what)
        remake(self, change, what, **keys)

    monkeypatch.setattr(OpenResult, "remake", counted)
    store = Store(created(tmp_path, 4))
    bunch = Bunch(1, 1, 1, tuple(Item(index, None, 1) for index in (1, 2)), np.array([1, 2]), True)
    names = [f"v{number}" for number in range(300)]
    arrays = [Array(name=name, dtype="<f8", shape=(2,)) for name in (*names, "v.0", "v_0")]
    values = {array.name: np.array([0.5, number]) for number, array in enumerate(arrays)}
    failed = store.rows(bunch, arrays, values)
    assert copies == ["room for v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, 291 more"]
    assert failed == dict.fromkeys((0, 1), "results v_0 and v.0 would have one name in the file: rename one")
    store.settled(bunch, 1, "w", 1, {}, (), held=False)
    assert store.rows(bunch, arrays[:300], values) == {} and len(copies) == 1
    store.file.close()
    found = Results(tmp_path / "x.spots.h5").rows("v299", 0, 4)
    assert found.values[1:3].tolist() == [0.5, 299.0] and found.has.tolist() == [False, True, True, False]


@pytest.mark.parametrize("name", ["count", "first"])
def test_a_number_may_be_named_as_a_column_of_events(tmp_path: Path, name: str) -> None:
    results = created(tmp_path, 2)
    number = Array(name=name, dtype="<f8", shape=(1,))
    for frame in range(2):
        results.rows(number, np.array([frame]), np.array([frame + 0.5]))
    results.status(np.arange(2), DONE)
    results.close()
    assert Results(tmp_path / "x.spots.h5").rows(name, 0, 2).values.tolist() == [0.5, 1.5]


@pytest.mark.parametrize(
    "other",
    [
        Array(name="curve", dtype="<c16", shape=(1, 512)),
        Array(name="curve", dtype="<f8", shape=(1, 511)),
        Array(name="curve", dtype="<f8", shape=(1, 512), kind="events", counts=(1,)),
    ],
)
def test_a_value_unlike_the_first_is_refused_and_changes_nothing(tmp_path: Path, other: Array) -> None:
    results = created(tmp_path, 2)
    results.rows(CURVE, np.array([0]), curves(np.array([0])))
    with pytest.raises(ResultError, match="result curve is .* all have to be alike") as caught:
        results.rows(other, np.array([1]), np.zeros(other.shape, other.dtype))
    assert caught.value.kind == "unlike"
    results.close()


def test_a_smaller_type_of_another_worker_is_converted(tmp_path: Path) -> None:
    results = created(tmp_path, 2)
    share = Array(name="share", dtype="<f8", shape=(1,))
    results.rows(share, np.array([0]), np.array([0.5]))
    results.rows(msgspec.structs.replace(share, dtype="<i8"), np.array([1]), np.array([3]))
    results.status(np.arange(2), DONE)
    results.close()
    assert Results(tmp_path / "x.spots.h5").rows("share", 0, 2).values.tolist() == [0.5, 3.0]


def test_a_reader_sees_what_is_done_and_hides_the_rest(tmp_path: Path) -> None:
    results = created(tmp_path, 10)
    reader = Results(tmp_path / "x.spots.h5")
    with pytest.raises(ResultError, match="has no result curve"):
        reader.rows("curve", 0, 10)
    results.rows(CURVE, np.arange(4), curves(np.arange(4)))
    results.rows(BRIGHT, np.arange(4), np.arange(4))
    assert reader.latest("curve") is None
    results.status(np.array([0, 2]), DONE)
    found = reader.rows("curve", 0, 100)
    assert found.has.tolist() == [True, False, True] + [False] * 7
    assert np.array_equal(found.values[:3, 0], [0, np.nan, 2], equal_nan=True)
    assert reader.rows("bright", 1, 4).values.tolist() == [0, 2, 0]
    latest = reader.latest("bright")
    assert latest is not None and latest.first == 2 and latest.values.tolist() == [2]
    assert reader.account()["state"] == "in progress"
    results.close()


# -- names, folders, disks: a refusal touches nothing --------------------------------------------------


def test_the_name_follows_the_raw_file(tmp_path: Path) -> None:
    assert path_for(Path("/data/x.h5"), "spots") == Path("/data/x.spots.h5")
    assert path_for(Path("/data/x.h5"), "spots", "/results") == Path("/results/x.spots.h5")
    assert path_for(Path("/data/scan.7"), "spots") == Path("/data/scan.7.spots.h5")
    assert path_for(None, "spots", "/results", "s1") == Path("/results/s1.spots.h5")
    assert path_for(None, "spots") is None


def test_an_existing_file_is_overwritten_only_if_asked(tmp_path: Path) -> None:
    path = tmp_path / "x.spots.h5"
    path.write_text("mine")
    with pytest.raises(ResultError, match="exists and is not overwritten") as caught:
        ResultFile.create(path, begun())
    assert caught.value.kind == "name_taken" and path.read_text() == "mine"
    assert names_in(tmp_path) == {"x.spots.h5"}
    results = ResultFile.create(path, begun(), overwrite=True)
    fill(results, 0, 1)
    results.close()
    assert Results(path).account()["state"] == "in progress"


def test_the_raw_file_is_never_the_result_file(tmp_path: Path) -> None:
    raw = tmp_path / "x.h5"
    raw.write_text("raw")
    with pytest.raises(ResultError, match="is the raw file itself"):
        ResultFile.create(raw, begun(raw), overwrite=True)
    link = tmp_path / "link.h5"
    link.symlink_to(raw)
    with pytest.raises(ResultError, match="is the raw file itself"):
        ResultFile.create(link, begun(raw), overwrite=True)
    assert raw.read_text() == "raw"


def test_a_file_that_is_being_written_is_not_replaced(tmp_path: Path) -> None:
    results = created(tmp_path)
    for attempt in (
        lambda: ResultFile.create(results.path, begun(), overwrite=True),
        lambda: ResultFile.resume(results.path, "s1"),
    ):
        with pytest.raises(
            ResultError, match=f"is being written by the pipeline of process {os.getpid()} on"
        ):
            attempt()
    results.close()


def test_a_file_system_without_locks_hard_links_and_reservations_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr("fcntl.flock", refuse)
    for name in ("link", "posix_fallocate", "copy_file_range"):
        monkeypatch.setattr(os, name, refuse)
    results = created(tmp_path, None)
    fill(results, 0, 5000, bunch=500)
    assert finish(results, 5000) == ""
    assert np.array_equal(curve(tmp_path), curves(np.arange(5000)))
    with pytest.raises(ResultError, match="exists and is not overwritten"):
        created(tmp_path)


def test_a_folder_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="absent is not there: create it, or set results_root"):
        created(tmp_path / "absent")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_folder_without_rights_is_a_sentence(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setresuid(65534, 65534, 65534)
            created(tmp_path)
        except ResultError as error:
            status = 0 if "user 65534 may not write in" in str(error) else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert names_in(tmp_path) == set()


def test_results_of_another_text_of_the_class_are_not_mixed_with_those_of_the_first(tmp_path: Path) -> None:
    steps = begun(tmp_path / "x.h5").steps
    created(tmp_path).close()
    path = tmp_path / "x.spots.h5"
    before = path.read_bytes()
    for other in (
        msgspec.structs.replace(steps[0], sha256="0" * 64),
        msgspec.structs.replace(steps[0], name="Rings"),
    ):
        with pytest.raises(ResultError, match="--overwrite") as refused:
            ResultFile.resume(path, "s1", (other, *steps[1:]))
        assert refused.value.kind == "other_class"
    assert path.read_bytes() == before
    ResultFile.resume(path, "s1", steps).close()


def test_resume_refuses_what_is_not_its_own(tmp_path: Path) -> None:
    path = tmp_path / "x.spots.h5"
    with pytest.raises(ResultError, match="does not exist"):
        ResultFile.resume(path, "s1")
    path.write_text("text")
    with pytest.raises(ResultError, match="cannot be opened"):
        ResultFile.resume(path, "s1")
    made.raw_file(tmp_path / "raw.h5")
    with pytest.raises(ResultError, match="is no result file"):
        ResultFile.resume(tmp_path / "raw.h5", "s1")
    path.unlink()
    results = created(tmp_path)
    results.close()
    with pytest.raises(ResultError, match="has the results of series s1, not of s2"):
        ResultFile.resume(path, "s2")
    finish(ResultFile.resume(path, "s1"), 1000)
    with pytest.raises(ResultError, match="is finished"):
        ResultFile.resume(path, "s1")


@pytest.mark.parametrize("dtype", ["|b1", "|u1", "<i2", "<u8", "<i8", "<f2", "<f4", "<f8"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 1, 3)])
def test_numbers_of_every_type_and_shape_are_stored(
    tmp_path: Path, dtype: str, shape: tuple[int, ...]
) -> None:
    values = np.arange(4 * int(np.prod(shape))).reshape(4, *shape).astype(dtype)
    results = created(tmp_path, 4)
    array = Array(name="v", dtype=np.dtype(dtype).str, shape=(3, *shape))
    results.rows(array, np.array([0, 1, 3]), values[[0, 1, 3]])
    greatest = Array(name="greatest", dtype=array.dtype, shape=shape, kind="max", n=4)
    results.accumulated([greatest], [values[3]], np.array([0, 1, 3]))
    finish(results, 4)
    reader = Results(tmp_path / "x.spots.h5")
    found = reader.rows("v", 0, 4)
    assert found.values.dtype == np.dtype(dtype) and found.has.tolist() == [True, True, False, True]
    assert np.array_equal(found.values[[0, 1, 3]], values[[0, 1, 3]])
    assert np.array_equal(reader.accumulated("greatest")[0], values[3])
    with h5py.File(tmp_path / "x.spots.h5") as file:
        missing = file["entry/v/v"][2]
        assert np.isnan(missing).all() if dtype.startswith("<f") else not missing.any()


def test_a_kill_at_the_end_leaves_a_file_that_can_be_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = created(tmp_path, None)
    fill(results, 0, 5000)

    class Killed(BaseException):
        pass

    def killed(*_: object) -> str:
        tidy(*_)
        raise Killed

    tidy = finishing.tidy
    monkeypatch.setattr(finishing, "tidy", killed)
    with pytest.raises(Killed):
        finish(results, 5000)
    results.close()
    monkeypatch.undo()
    resumed = ResultFile.resume(tmp_path / "x.spots.h5", "s1")
    assert resumed.states.tolist() == [DONE] * 5000
    assert finish(resumed, 5000) == ""
    assert np.array_equal(curve(tmp_path), curves(np.arange(5000)))
    assert Results(tmp_path / "x.spots.h5").account()["state"] == "complete"


@pytest.mark.parametrize("is_anothers", [False, True])
def test_a_file_that_is_discarded_is_gone_and_nothing_else(tmp_path: Path, is_anothers: bool) -> None:
    results = created(tmp_path, 10)
    if is_anothers:  # somebody has moved it away, and put another one in its place
        (tmp_path / "x.spots.h5").rename(tmp_path / "old.h5")
        (tmp_path / "x.spots.h5").write_text("another's")
    results.discard()
    left = names_in(tmp_path) - {"x.h5"}
    assert left == ({"old.h5", "x.spots.h5"} if is_anothers else set())


def test_an_older_file_keeps_its_name_until_a_frame_is_done(tmp_path: Path) -> None:
    older = created(tmp_path, 10)
    older.accumulated(
        (Array(name="sum", dtype="<i8", shape=(), kind="sum", n=1),), (np.array(7),), np.array([0])
    )
    older.close()  # it is to be resumed
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(before) == {"x.spots.h5", ".x.spots.h5.totals"}

    def begin() -> ResultFile:
        return ResultFile.create(tmp_path / "x.spots.h5", begun(tmp_path / "x.h5", 10), overwrite=True)

    for end in (ResultFile.discard, ResultFile.close):
        results = begin()
        results.prepare((CURVE, BRIGHT))
        results.error(0, "no")
        results.status(np.array([0]), 2)
        assert results.path != results.replaces == tmp_path / "x.spots.h5"
        assert Results(results.path).states().tolist() == [2] + [PENDING] * 9
        assert (tmp_path / "x.spots.h5").read_bytes() == before["x.spots.h5"]
        end(results)
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before

    results = begin()
    fill(results, 0, 1)
    assert results.path == tmp_path / "x.spots.h5" and results.replaces is None
    assert names_in(tmp_path) == {"x.spots.h5", ".x.spots.h5.lock"}
    assert Results(results.path).states().tolist() == [DONE] + [PENDING] * 9
    results.close()
    resumed = ResultFile.resume(tmp_path / "x.spots.h5", "s1")
    assert resumed.totals.arrays == (), "those of the older file are gone"
    resumed.close()


def test_an_older_file_is_replaced_at_the_end_also_without_a_frame_that_is_done(tmp_path: Path) -> None:
    (tmp_path / "x.spots.h5").write_text("older")
    results = ResultFile.create(tmp_path / "x.spots.h5", begun(tmp_path / "x.h5", 10), overwrite=True)
    assert finish(results, 0, counts={"failed": 10}) == ""
    assert Results(tmp_path / "x.spots.h5").account()["state"] == "complete"
    assert names_in(tmp_path) == {"x.spots.h5"}


def test_what_a_kill_has_left_of_a_file_without_its_name_is_removed_by_the_next_one(tmp_path: Path) -> None:
    (tmp_path / "x.spots.h5").write_text("older")
    (tmp_path / ".x.spots.h5.begun").write_text("left")
    ResultFile.create(tmp_path / "x.spots.h5", begun(tmp_path / "x.h5", 10), overwrite=True).close()
    assert names_in(tmp_path) == {"x.spots.h5"}


@pytest.mark.parametrize("shape", [(0,), (0, 2), (3, 0)])
def test_arrays_of_size_0_are_rows_like_others(tmp_path: Path, shape: tuple[int, ...]) -> None:
    results = created(tmp_path, planned=None)
    frames = 2 * FIRST_ROWS + 1  # so that the file has to grow twice
    for first in range(0, frames, FIRST_ROWS):
        indices = np.arange(first, min(frames, first + FIRST_ROWS))
        n = len(indices)
        spots = Array(name="spots", dtype="<f8", shape=(n, *shape))
        events = Array(name="hits", dtype="<f8", shape=(0, *shape), kind="events", counts=(0,) * n)
        total = Array(name="total", dtype="<f8", shape=shape, kind="sum", n=first + n)
        results.rows(spots, indices, np.zeros(spots.shape))
        results.rows(events, indices, np.zeros(events.shape))
        results.accumulated([total], [np.zeros(shape)], indices)
    assert finish(results, frames) == ""
    with h5py.File(tmp_path / "x.spots.h5") as file:
        assert file["entry/spots/spots"].shape == (frames, *shape)
        assert file["entry/hits/hits"].shape == (0, *shape)
        assert file["entry/accumulated/total"].shape == shape
        assert file["entry/account/frame_status"][...].tolist() == [DONE] * frames


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
@pytest.mark.parametrize("what", ["status", "prepare", "finish"])
def test_a_file_that_is_gone_while_it_is_written_is_said_and_what_replaced_it_is_untouched(
    tmp_path: Path, how: str, what: str
) -> None:
    results = created(tmp_path, 10)
    fill(results, 0, 5)
    path = results.path
    if how == "deleted":
        path.unlink()
    else:
        path.rename(tmp_path / "moved.h5")
    if how == "replaced":
        path.write_text("of somebody else")
    acts = {
        "status": lambda: results.status(np.array([5]), DONE),
        "prepare": lambda: results.prepare((HITS,)),
        "finish": lambda: finish(results, 10),
    }
    with pytest.raises(ResultError, match="x.spots.h5 was deleted, moved or replaced while") as caught:
        acts[what]()
    assert caught.value.kind == "gone"
    results.close()
    expected = {"deleted": set(), "moved": {"moved.h5"}, "replaced": {"moved.h5", path.name}}[how]
    assert names_in(tmp_path) - {".x.spots.h5.lock"} == expected
    if how == "replaced":
        assert path.read_text() == "of somebody else"


def test_without_a_file_everything_is_taken_and_accumulated_values_are_kept() -> None:
    store = Store()
    bunch = Bunch(1, 1, 1, tuple(Item(index, None, 1) for index in (1, 2)), np.array([1, 2]), True)
    row = Array(name="v", dtype="<f8", shape=(2,))
    total = Array(name="t", kind="sum", dtype="<f8", shape=(), n=2)
    assert store.describe((), ("a note",))
    assert store.rows(bunch, [row], {"v": np.array([0.5, 1.0])}) == {}
    store.settled(bunch, 1, "w", 1, {1: "it has raised"}, (), held=True)
    assert store.handed_over([bunch], [total], {"t": np.array(3.0)}) == ""
    store.lost([3], 1, "w")
    store.file.parameters(2, {"threshold": 1}, 0)
    store.file.unmatched({"energy": 1})
    assert store.file.finish({"done": 1}, "complete", "") == ""
    store.file.close()
    assert (store.path, store.file.replaces) == (None, None)
    assert [float(value) for value in store.totals.values] == [3.0]
