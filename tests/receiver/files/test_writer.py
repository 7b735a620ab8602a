"""One series into one file, read back by plain h5py."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the filters)
import numpy as np
import pytest
import silx.io
import silx.io.nxdata

from penstock.codecs import bslz4
from penstock.hosts.version import version
from penstock.receiver.files.contents.per_frame import NEIGHBOURS
from penstock.receiver.files.reserve import bytes_for
from penstock.receiver.files.stores.disk.disk_file import DiskFile
from penstock.receiver.files.writer import ROWS_PER_STEP
from penstock.receiver.models import FrameStatus
from penstock.receiver.series.running_series import RunningSeries
from penstock.stins.messages import EndReason, Frame
from tests import hostile
from tests.receiver.files.written import DETECTOR, Written, packed, record, write
from tests.receiver.sample_series import frame, start
from tests.streams import image, pixels


def test_the_file_has_the_structure_that_every_program_looks_for(path: Path) -> None:
    write(path, start(frames=3), [frame(0), frame(1), frame(2)])
    with h5py.File(path) as file:
        assert file.attrs["default"] == "entry"
        classes = {"entry": "NXentry", "entry/data": "NXdata", "entry/instrument": "NXinstrument"}
        classes |= {DETECTOR: "NXdetector", f"{DETECTOR}/series": "NXcollection"}
        assert {name: file[name].attrs["NX_class"] for name in classes} == classes
        assert file["entry"].attrs["default"] == "data"
        assert file.attrs["creator"] == f"Penstock {version()}"
        assert file["entry/program_name"].attrs["version"] == version()
        assert file["entry/data"].attrs["signal"] == "data"
        assert file["entry/data/data"] == file[f"{DETECTOR}/data"], "one dataset, two names"
        assert file["entry/data/data"].attrs["target"] == f"/{DETECTOR}/data"
        begun, ended = (
            datetime.fromisoformat(file[f"entry/{name}"].asstr()[()]) for name in ("start_time", "end_time")
        )
        assert begun <= ended
        assert begun.tzinfo is not None


@pytest.mark.parametrize(
    ("images", "channels", "writing"),
    [
        (0, (), {}),
        (0, (), {"swmr": True}),
        (0, (), {"frames_per_file": 2}),
        (2, (), {}),
        (2, ("threshold_1", "threshold_2"), {}),
    ],
    ids=["one", "swmr", "segments", "images", "channels"],
)
def test_viewers_are_told_that_frames_are_images(
    images: int, channels: tuple[str, ...], writing: dict[str, Any], path: Path
) -> None:
    shape = (images, 4, 6) if images else (4, 6)
    written = Written(path, start(frames=3, channels=channels or None), **writing)
    for number in range(3):
        array = pixels(number, shape)
        blobs = [part.tobytes() for part in array] if images else [array.tobytes()]
        written.add(Frame(image(number, array, series="a"), blobs))
    written.close()
    found: dict[str, str | None] = {}

    def look(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.ndim > 2:
            found[name] = item.attrs.get("interpretation")

    for place in path.parent.glob("*.h5"):
        with h5py.File(place) as file:
            file.visititems(look)
    assert set(found.values()) == {"image"}, found
    with silx.io.open(str(path)) as opened:
        shown = silx.io.nxdata.get_default(opened)
        assert (shown.is_image, shown.interpretation) == (True, "image")


def test_a_file_of_one_frame_is_small(path: Path) -> None:
    write(path, start(frames=1), [frame(0)])
    assert path.stat().st_size < 50_000, "step scans may write a file per point"


def test_a_file_of_one_frame_takes_few_writes_and_none_of_h5pys_slower_calls(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def counted(name: str) -> None:
        plain = getattr(DiskFile, name)

        def call(*given: Any) -> Any:
            done.append(name)
            return plain(*given)

        monkeypatch.setattr(DiskFile, name, call)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("takes four times as long as HDF5's own call")

    for name in ("write", "finalize"):
        counted(name)
    for owner, name in ((h5py.Group, "create_dataset"), (h5py.Dataset, "__setitem__")):
        monkeypatch.setattr(owner, name, refuse)
    monkeypatch.setattr(h5py.AttributeManager, "create", refuse)
    write(path.with_name("before.h5"), start(frames=1), [packed(0)])  # makes the template
    done.clear()
    write(path, start(frames=1), [packed(0)])
    assert done.count("finalize") <= 5, "its name, its dataset, its frame, its account, its state"
    assert done.count("write") <= 110, "HDF5 writes each object for itself"
    assert bytes_for(RunningSeries(start(frames=1))) < 200_000, "reserved for its end"


def test_every_frame_stands_at_its_index(path: Path) -> None:
    write(path, start(frames=3), [frame(2), frame(0), frame(1)])
    with h5py.File(path) as file:
        found = file["entry/data/data"][()]
        np.testing.assert_array_equal(found, [pixels(0), pixels(1), pixels(2)])
        assert file["entry/data/data"].chunks == (1, 4, 6)
        assert file[f"{DETECTOR}/frame_status"][()].tolist() == [1, 1, 1]


def test_values_of_scattered_frames_leave_what_stands_between_them(path: Path) -> None:
    far = 2 * NEIGHBOURS
    written = Written(path, start(frames=far + 1))
    written.add(frame(2, trigger=12), frame(5, trigger=15))
    written.writer.flush()
    written.add(frame(7, trigger=17), frame(0, trigger=10), frame(far, trigger=99), frame(3, trigger=13))
    written.close(reason="stop")
    with h5py.File(path) as file:
        group = file[DETECTOR]
        assert group["trigger"][:9].tolist() == [10, -1, 12, 13, -1, 15, -1, 17, -1]
        assert group["trigger"][far] == 99
        assert np.flatnonzero(group["frame_status"][()] == FrameStatus.STORED).tolist() == [
            0, 2, 3, 5, 7, far,
        ]  # fmt: skip


def test_what_a_frame_brings_stands_beside_it(path: Path) -> None:
    write(
        path,
        start(frames=3),
        [frame(0, trigger=7, timestamp=1.5, timestamp_hw=0.25), frame(2, trigger=9, timestamp=2.5)],
    )
    with h5py.File(path) as file:
        group = file[DETECTOR]
        assert group["trigger"][()].tolist() == [7, -1, 9]
        assert group["sequence_number"][()].tolist() == [0, -1, 2]
        np.testing.assert_array_equal(group["timestamp"], [1.5, np.nan, 2.5])
        np.testing.assert_array_equal(group["timestamp_hw"], [0.25, np.nan, np.nan])
        assert group["timestamp"].attrs["units"] == "s"


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [("uint8", 255), ("uint16", 65535), ("uint32", 2**32 - 1), ("int32", -1), ("float32", np.nan)],
)
def test_pixels_that_nobody_sent_are_no_counts(path: Path, dtype: str, fill: float) -> None:
    array = pixels(0, dtype=dtype)
    frames = [Frame(image(number, array, series="a"), [array.tobytes()]) for number in (1, 3)]
    write(path, start(frames=6), frames)
    with h5py.File(path) as file:
        found = file["entry/data/data"]
        assert found.shape == (4, 4, 6)
        np.testing.assert_array_equal(found[0], np.full((4, 6), fill, dtype))
        np.testing.assert_array_equal(found[3], array)
        assert file[f"{DETECTOR}/frame_status"][()].tolist() == [0, 1, 0, 1]


def test_the_record_has_every_count_and_the_reason(path: Path) -> None:
    written = Written(path, start(frames=5))
    written.add(frame(0), frame(2))
    written.series.account.take(3, FrameStatus.CORRUPT)
    written.series.account.stale = 4
    written.close(reason=EndReason.STOP, triggered=4)
    with h5py.File(path) as file:
        found = record(file)
        assert file[f"{DETECTOR}/frame_status"][()].tolist() == [1, 0, 1, 4]
    assert found["state"] == "incomplete"
    assert found["reason"] == "2 of 5 frames: 1 missing, 1 corrupt, 1 not triggered; ended by stop"
    numbers = {name: value for name, value in found.items() if isinstance(value, int) and value}
    assert numbers == {
        "planned": 5, "received": 3, "stored": 2, "corrupt": 1, "missing": 1, "not_triggered": 1, "stale": 4,
    }  # fmt: skip
    assert found["source"] == "a test"


def test_a_complete_series_is_marked_complete(path: Path) -> None:
    write(path, start(frames=1), [frame(0)], triggered=1)
    with h5py.File(path) as file:
        assert (record(file)["state"], record(file)["reason"]) == ("complete", "its 1 frame is there")


def test_while_it_is_written_the_file_says_so(path: Path) -> None:
    written = Written(path, start(frames=2))
    written.add(frame(0))
    written.writer.flush()
    with h5py.File(path, locking=False) as file:
        assert record(file)["state"] == "in progress"
        np.testing.assert_array_equal(file["entry/data/data"][0], pixels(0))
        assert file[f"{DETECTOR}/frame_status"][0] == FrameStatus.STORED
    written.close()


def test_packed_and_plain_frames_stand_in_one_dataset(path: Path) -> None:
    write(path, start(frames=3), [packed(0), frame(1), packed(2)])
    with h5py.File(path) as file:
        found = file["entry/data/data"]
        assert found.id.get_create_plist().get_filter(0)[0] == 32008
        np.testing.assert_array_equal(found[()], [pixels(0), pixels(1), pixels(2)])
        assert found.id.read_direct_chunk((0, 0, 0))[1] == bslz4.compress(pixels(0)), "stored as received"


def test_modules_are_stored_blob_by_blob(path: Path) -> None:
    arrays = [pixels(number, (3, 4, 6)) for number in range(2)]
    frames = [
        Frame(image(number, array, series="a"), [module.tobytes() for module in array])
        for number, array in enumerate(arrays)
    ]
    write(path, start(frames=2), frames)
    with h5py.File(path) as file:
        found = file["entry/data/data"]
        assert (found.shape, found.chunks) == ((2, 3, 4, 6), (1, 1, 4, 6))
        np.testing.assert_array_equal(found[()], arrays)


@pytest.mark.parametrize("frames", [ROWS_PER_STEP - 1, ROWS_PER_STEP, ROWS_PER_STEP + 1, 3 * ROWS_PER_STEP])
@pytest.mark.parametrize("announced", [True, False])
def test_a_series_that_grows_beyond_a_step_is_cut_to_what_came(
    path: Path, frames: int, announced: bool
) -> None:
    written = Written(path, start(frames=frames + 100 if announced else None))
    for number in range(frames):
        written.add(frame(number))
        if number % 700 == 0:
            written.writer.flush()
    written.close()
    with h5py.File(path) as file:
        assert file["entry/data/data"].shape == (frames, 4, 6)
        np.testing.assert_array_equal(file["entry/data/data"][-1], pixels(frames - 1))
        assert file[f"{DETECTOR}/sequence_number"][()].tolist() == list(range(frames))
        assert record(file)["planned"] == (frames + 100 if announced else frames)


def test_a_frame_far_ahead_makes_the_datasets_long_enough(path: Path) -> None:
    write(path, start(frames=50_000), [frame(0), frame(40_000)])
    with h5py.File(path) as file:
        assert len(file["entry/data/data"]) == 40_001
        np.testing.assert_array_equal(file["entry/data/data"][40_000], pixels(40_000))
    assert path.stat().st_size < 2_000_000, "what never came takes no space"


@pytest.mark.parametrize("triggered", [3, 2**48], ids=["stopped", "lost"])
def test_what_was_only_planned_is_said_and_not_written(triggered: int, path: Path) -> None:
    write(path, start(frames=2**48), [frame(0), frame(2)], triggered=triggered)
    with h5py.File(path) as file:
        assert len(file["entry/data/data"]) == 3, "up to the last frame received"
        assert file[f"{DETECTOR}/frame_status"][()].tolist() == [1, 0, 1]
        assert (file["entry/data/data"][1] == 65535).all()
        counts = record(file)
    assert (counts["planned"], counts["stored"]) == (2**48, 2)
    assert (counts["missing"], counts["not_triggered"]) == (triggered - 2, 2**48 - triggered)
    assert path.stat().st_size < 300_000


def test_a_series_without_a_frame_gives_a_file_that_opens(path: Path) -> None:
    write(path, start(frames=5), [], triggered=0)
    with h5py.File(path) as file:
        assert (record(file)["not_triggered"], record(file)["state"]) == (5, "incomplete")
        assert "data" not in file[DETECTOR]


def test_a_series_whose_format_was_announced_has_its_dataset_from_the_start(path: Path) -> None:
    written = Written(path, start(frames=5, shape=(4, 6), type="uint16", compression="bslz4"))
    with h5py.File(path, locking=False) as file:
        assert file["entry/data/data"].shape == (0, 4, 6)
    written.add(packed(0))
    written.close()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name == "ten thousand keys" else name
        for name in hostile.METADATA
    ],
)
def test_any_metadata_leave_a_file_that_opens(name: str, path: Path) -> None:
    write(path, start(frames=1, metadata=hostile.METADATA[name]), [frame(0)], triggered=1)
    seen = []
    with h5py.File(path) as file:
        file.visititems(
            lambda place, item: seen.append((place, item.shape if hasattr(item, "shape") else None))
        )
        np.testing.assert_array_equal(file["entry/data/data"][0], pixels(0))
        assert record(file)["state"] == "complete"
    assert len(seen) > 10


@pytest.mark.parametrize("name", ["a\0b", "x" * 256, "ü/../°"])
def test_any_series_id_and_any_reason_are_recorded(name: str, path: Path) -> None:
    write(path, start(frames=2, series=name), [frame(0, series=name)], reason="fault", message=f"{name}\0")
    with h5py.File(path) as file:
        assert record(file)["id"] == name.replace("\0", "\ufffd")
        assert record(file)["reason"].endswith(name.replace("\0", r"\x00") + r"\x00")


def test_a_frame_that_comes_twice_in_a_batch_leaves_its_neighbours_alone(path: Path) -> None:
    written = Written(path, start(frames=9))
    written.add(frame(3, trigger=30), frame(3, trigger=31), frame(5, trigger=50))
    written.writer.flush()
    written.close("stopped")
    with h5py.File(path) as file:
        assert file[f"{DETECTOR}/trigger"][:].tolist() == [-1, -1, -1, 31, -1, 50]
        assert file[f"{DETECTOR}/sequence_number"][:].tolist() == [-1, -1, -1, 3, -1, 5]
        assert file[f"{DETECTOR}/frame_status"][:].tolist() == [0, 0, 0, 1, 0, 1]
