"""The name of a series that comes without one: the template's, or the first free one with a number."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.files import names
from penstock.receiver.files.names import free_path
from penstock.receiver.files.refusals import StorageError
from penstock.receiver.files.series_files import SeriesFiles
from penstock.receiver.series.running_series import Outcome, RunningSeries
from penstock.stins.errors import StinsError
from penstock.stins.messages import Header, Start
from tests.receiver.files.written import Written
from tests.receiver.sample_series import start


def config(root: Path, template: str = "scan.h5", **keys: object) -> ReceiverConfig:
    entry = {
        "source": {"endpoints": ["tcp://127.0.0.1:1"]}, "data_root": str(root), "min_free_mb": 0,
        "filename_template": template, **keys,
    }  # fmt: skip
    return msgspec.convert(entry, ReceiverConfig)


def name(root: Path, template: str = "scan.h5", *, overwrite: bool = False, **keys: object) -> str:
    found = free_path(config(root, template, **keys), "eiger", "7", overwrite=overwrite)
    return str(found.relative_to(root))


@pytest.mark.parametrize(
    ("taken", "template", "expected"),
    [
        ([], "scan.h5", "scan.h5"),
        (["scan.h5"], "scan.h5", "scan_1.h5"),
        (["scan.h5", "scan_1.h5", "scan_2.h5"], "scan.h5", "scan_3.h5"),
        (["scan_1.h5"], "scan.h5", "scan.h5"),
        (["eiger_7.h5"], "{detector}_{series}.h5", "eiger_7_1.h5"),
        (["new/scan.h5"], "new/scan.h5", "new/scan_1.h5"),
        (["scan"], "scan", "scan_1"),
    ],
)
def test_a_name_that_is_taken_gets_the_next_number(
    taken: list[str], template: str, expected: str, tmp_path: Path
) -> None:
    for each in taken:
        (tmp_path / each).parent.mkdir(exist_ok=True)
        (tmp_path / each).write_bytes(b"precious")
    assert name(tmp_path, template) == expected


def test_thousands_of_taken_names_cost_a_few_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3000):
        names.numbered(tmp_path / "scan.h5", number).touch()
    looked: list[Path] = []
    exists = names.os.path.lexists
    monkeypatch.setattr(names.os.path, "lexists", lambda path: looked.append(path) or exists(path))
    assert name(tmp_path) == "scan_3000.h5"
    assert len(looked) < 30


def test_a_link_that_leads_nowhere_has_its_name(tmp_path: Path) -> None:
    (tmp_path / "scan.h5").touch()
    (tmp_path / "scan_1.h5").symlink_to(tmp_path / "gone.h5")
    assert name(tmp_path) == "scan_2.h5"


def test_with_permission_to_overwrite_only_a_file_that_is_being_written_keeps_its_name(
    tmp_path: Path,
) -> None:
    (tmp_path / "scan.h5").touch()
    assert name(tmp_path, overwrite=True) == "scan.h5"
    written = Written(tmp_path / "other.h5", start())
    assert name(tmp_path, "other.h5", overwrite=True) == "other_1.h5"
    written.close()


def test_the_segments_of_another_series_have_their_names(tmp_path: Path) -> None:
    (tmp_path / "scan_000002.h5").touch()
    assert name(tmp_path) == "scan.h5"
    assert name(tmp_path, frames_per_file=2) == "scan_1.h5"


def test_a_template_that_leads_out_of_the_data_root_is_no_matter_of_numbers(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="outside the data root"):
        name(tmp_path, "../scan.h5")


@pytest.fixture
def files(tmp_path: Path) -> SeriesFiles:
    return SeriesFiles("eiger", config(tmp_path))


def begin(files: SeriesFiles, filename: str | None = None) -> tuple[str, RunningSeries]:
    """The name of the file of a series without frames, and the series."""
    series = RunningSeries(Start(Header(filename=filename, frames=0), {}))
    begun = files.begin(series)
    assert begun.writer is not None and begun.path is not None
    files.end(begun.writer, Outcome(True, ""), "")
    return begun.path.name, series


def test_each_series_gets_a_file_of_its_own_and_says_its_name_to_consumers(
    files: SeriesFiles, tmp_path: Path
) -> None:
    assert [begin(files)[0] for _ in range(3)] == ["scan.h5", "scan_1.h5", "scan_2.h5"]
    _, series = begin(files)
    assert series.header.filename == str(tmp_path / "scan_3.h5")


def test_a_name_that_somebody_takes_at_the_last_moment_is_theirs(
    files: SeriesFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = names.storage.give_name

    def late(draft: str, own: str, folder: int, *, replace: bool) -> None:
        if own in ("scan.h5", "scan_1.h5"):
            (tmp_path / own).write_bytes(b"another receiver's")
        created(draft, own, folder, replace=replace)

    monkeypatch.setattr(names.storage, "give_name", late)
    assert begin(files)[0] == "scan_2.h5"
    assert (
        (tmp_path / "scan.h5").read_bytes() == (tmp_path / "scan_1.h5").read_bytes() == b"another receiver's"
    )
    assert sorted(path.name for path in tmp_path.glob("*.h5")) == ["scan.h5", "scan_1.h5", "scan_2.h5"]
    assert not list(tmp_path.glob(".penstock-*")), "no draft stays"


def test_a_name_that_a_client_gives_never_gets_a_number(files: SeriesFiles, tmp_path: Path) -> None:
    (tmp_path / "given.h5").write_bytes(b"precious")
    with pytest.raises(StinsError, match="exists and is not overwritten") as refusal:
        begin(files, str(tmp_path / "given.h5"))
    assert refusal.value.kind == "file_exists"
    assert [path.name for path in tmp_path.glob("*.h5")] == ["given.h5"]
