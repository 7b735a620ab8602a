"""`check`, `verify` and `integrate` of files that only refer to a series, which lies in segments."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from penstock.checks.linked_series import series_behind
from penstock.cli.main import main
from penstock.receiver.reading.frame_files import open_frames
from penstock.receiver.reading.reader import ReaderError, SeriesFile
from penstock.sardana.reference import Reference
from penstock.sardana.scan_file import FrameFormat, blocks, link_frames
from tests import rings
from tests.receiver.files.stores.written import DETECTOR, SHAPE, Written, array, frame
from tests.receiver.sample_series import start

FRAMES, PER_FILE = 20, 4
DATA = f"/{DETECTOR}/data"


@pytest.fixture
def series(tmp_path: Path) -> Path:
    """A complete series of five segments, in a folder of its own."""
    path = tmp_path / "raw/scan.h5"
    written = Written(
        path,
        start(
            frames=FRAMES, shape=SHAPE, type="uint16", compression="none", checksum="crc32",
            metadata=rings.GEOMETRY,
        ),
        frames_per_file=PER_FILE,
    )  # fmt: skip
    written.add(*(frame(number, "crc32") for number in range(FRAMES)))
    written.close(reason="complete", triggered=FRAMES, sent=FRAMES)
    return path


def nexus(path: Path, fill: Callable[[h5py.Group], None]) -> None:
    """A file with an empty NXdetector, which is filled."""
    with h5py.File(path, "w") as file:
        file.attrs.update(NX_class="NXroot", default="entry")
        entry, group = file.create_group("entry"), file.create_group("entry/instrument/master")
        entry.attrs.update(NX_class="NXentry", default="data")
        group.parent.attrs["NX_class"] = "NXinstrument"
        group.attrs["NX_class"] = "NXdetector"
        fill(group)
        entry["data"] = h5py.ExternalLink("raw/scan.h5", "/entry/data")


def link_to_entry(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.attrs.update(NX_class="NXroot", default="entry")
        file["entry"] = h5py.ExternalLink("raw/scan.h5", "/entry")


def link_to_detector(path: Path) -> None:
    def fill(group: h5py.Group) -> None:
        parent = group.parent
        del parent["master"]
        parent["master"] = h5py.ExternalLink("raw/scan.h5", f"/{DETECTOR}")

    nexus(path, fill)


def virtual_dataset(path: Path) -> None:
    def fill(group: h5py.Group) -> None:
        layout = h5py.VirtualLayout((FRAMES, *SHAPE), "uint16")
        layout[:] = h5py.VirtualSource("raw/scan.h5", DATA, (FRAMES, *SHAPE), "uint16")[:]
        group.create_virtual_dataset("data", layout, fillvalue=65535)
        for name in ("frame_status", "checksum", "series"):
            group[name] = h5py.ExternalLink("raw/scan.h5", f"/{DETECTOR}/{name}")

    nexus(path, fill)


def symbolic_link(path: Path) -> None:
    os.symlink("raw/scan.h5", path)


def scan_file(path: Path) -> None:
    """What Sardana's recorder makes of a scan whose points are the frames."""
    references = [Reference(str(path.parent / "raw/scan.h5"), DATA, index).text for index in range(FRAMES)]
    with h5py.File(path, "w") as file:
        entry = file.create_group("entry1")
        entry.attrs["NX_class"] = "NXentry"
        measurement, files = entry.create_group("measurement"), entry.create_group("files_sim")
        link_frames(
            measurement, files, "sim", blocks(references), FRAMES, FrameFormat(SHAPE, np.dtype("uint16")),
            path.parent,
        )  # fmt: skip


LINKS = [link_to_entry, link_to_detector, virtual_dataset, symbolic_link, scan_file]


@pytest.fixture(params=LINKS, ids=lambda link: link.__name__.replace("_", " "))
def link(series: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / "link.h5"
    request.param(path)
    return path


def test_every_frame_behind_a_link_is_checked_and_verified(
    link: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["check", "--json", str(link)])
    [checked] = json.loads(capsys.readouterr().out.splitlines()[-1])["files"]
    problems = {each["kind"] for each in checked["findings"] if each["level"] == "problem"}
    assert (checked["frames_read"], problems - {"no_default_plot"}) == (FRAMES, set())
    assert main(["verify", str(link)]) == 0
    assert "20 of 20 stored frames are as they were received" in capsys.readouterr().out


def test_a_segment_that_is_missing_is_said_and_not_passed_over(
    link: Path, series: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = series.with_name("scan_000002.h5")
    gone.unlink()
    says = f"stored frames are in files that do not exist: {gone}; put these back"
    assert main(["check", "--quick", str(link)]) == 1
    assert says in capsys.readouterr().out
    assert main(["check", str(link)]) == 1
    assert "frames 4-7 count as stored, but have no data" in capsys.readouterr().out
    assert main(["verify", str(link)]) == 1
    assert f"frames 4-7 count as stored, but cannot be read; {says}" in capsys.readouterr().out


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def _overwrite(path: Path) -> None:
    path.write_text("no HDF5 " * 100)


def _without_frames(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        del file["entry/data/data"]


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


BROKEN = [
    (Path.unlink, "does not exist", "missing_file"),
    (_truncate, "is truncated (", "unreadable_file"),
    (_overwrite, "is not an HDF5 file", "unreadable_file"),
    (_without_frames, "has no dataset /entry/data/data", "unreadable_file"),
    (_folder, "is a folder, not a file", "unreadable_file"),
]


@pytest.mark.parametrize(("damage", "cause", "kind"), BROKEN, ids=[cause for _, cause, _ in BROKEN])
@pytest.mark.parametrize("link", [link_to_detector], indirect=True, ids=[""])
def test_a_segment_that_cannot_be_read_is_named_with_its_cause(
    link: Path, series: Path, damage: Callable[[Path], None], cause: str, kind: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    segment = series.with_name("scan_000002.h5")
    damage(segment)
    says = f"{segment} {cause}"
    for path in (series, link):
        with SeriesFile(path) as file:
            np.testing.assert_array_equal(file.frame(3), array(3))
            for index in (4, 7):
                with pytest.raises(ReaderError, match=re.escape(f"frame {index} of {path}")) as caught:
                    file.frame(index)
                assert says in str(caught.value)
    # What the viewer shows of a file.
    with open_frames(series) as frames, pytest.raises(ReaderError, match=re.escape(says)):
        frames.frame(5)
    assert main(["check", "--json", str(series)]) == 1
    [checked] = json.loads(capsys.readouterr().out.splitlines()[-1])["files"]
    found = {each["kind"]: each["sentence"] for each in checked["findings"]}
    if kind == "unreadable_file":
        assert says in found[kind]
    assert kind in found
    assert "frames 4-7 count as stored" in found["hollow"]
    assert main(["verify", str(series)]) == 1
    assert segment.name in capsys.readouterr().out
    assert main(["integrate", "--out", str(series.parent / "curves"), str(series)]) == 2
    error = capsys.readouterr().err
    assert segment.name in error
    assert cause in error or kind == "missing_file"


@pytest.mark.parametrize("link", [link_to_detector, scan_file], indirect=True, ids=["detector", "scan"])
def test_the_frames_behind_a_link_are_integrated_unless_a_segment_is_missing(
    link: Path, series: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["integrate", "--out", str(tmp_path / "curves"), str(link)]) == 0
    assert len(list((tmp_path / "curves").iterdir())) == 1
    series.with_name("scan_000005.h5").unlink()
    assert main(["integrate", "--out", str(tmp_path / "more"), str(link)]) == 2
    assert "scan_000005.h5; put these back" in capsys.readouterr().err
    assert not list((tmp_path / "more").iterdir())


def test_segments_of_which_nothing_came_are_not_missing(tmp_path: Path) -> None:
    path = tmp_path / "raw/scan.h5"
    keys = {"frames": FRAMES, "shape": SHAPE, "type": "uint16", "compression": "none"}
    written = Written(path, start(**keys), frames_per_file=PER_FILE)
    written.add(frame(0), frame(18))
    written.close("stopped")
    with SeriesFile(path) as file:
        assert [file.is_allocated(index) for index in (0, 1, 5, 18)] == [True, False, False, True]
        assert file.unreadable_files() == []
        np.testing.assert_array_equal(file.frame(18), array(18))
        assert file.blobs(18) == [array(18).tobytes()]


def test_a_scan_file_stands_for_the_files_of_its_frames_also_those_that_are_gone(
    series: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scan_file(tmp_path / "scan.h5")
    assert series_behind(tmp_path / "scan.h5") == [series]
    assert series_behind(series) == [series]
    series.unlink()
    assert series_behind(tmp_path / "scan.h5") == [series]
    assert main(["check", str(tmp_path / "scan.h5")]) == 2
    assert f"{series} does not exist" in capsys.readouterr().err


def test_a_link_that_leads_nowhere_is_named(
    series: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    link_to_entry(tmp_path / "link.h5")
    series.unlink()
    assert main(["check", str(tmp_path / "link.h5")]) == 2
    assert "its link /entry leads to raw/scan.h5, which cannot be opened" in capsys.readouterr().err


def test_of_another_programs_file_it_is_said_who_did_not_write_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "other.h5"
    nexus(path, lambda group: group.create_dataset("counts", data=np.ones((3, 4, 6))))
    main(["check", str(path)])
    said = capsys.readouterr().out
    assert "the file was not written by Penstock, and /entry/instrument/master has no dataset `data`" in said
    assert "not one frame was stored" not in said
    assert main(["verify", str(path)]) == 1
    assert "this file has no checksums: it was not written by Penstock" in capsys.readouterr().out
    assert main(["integrate", str(path)]) == 2
    assert "other.h5 was not written by Penstock, and has no geometry" in capsys.readouterr().err
