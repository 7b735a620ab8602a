"""Where a file may be written."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from pathlib import Path

import msgspec
import pytest

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.files import lease, storage
from penstock.receiver.files.refusals import NameRefusedError, StorageError
from penstock.receiver.files.reserve import Reserve
from tests import hostile
from tests.receiver.disks import small_file_system


def config(root: Path | str, **keys: object) -> ReceiverConfig:
    source = {"endpoints": ["tcp://127.0.0.1:1"]}
    return msgspec.convert({"source": source, "data_root": str(root), **keys}, ReceiverConfig)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "data"
    made.mkdir()
    return made


def allowed(entry: ReceiverConfig, name: str, overwrite: bool = False, nbytes: int | None = None) -> Path:
    path = storage.resolve(entry, name)
    storage.check(path, overwrite=overwrite, nbytes=nbytes, min_free=0)
    return path


def refused(entry: ReceiverConfig, name: str, nbytes: int | None = None) -> StorageError:
    with pytest.raises(StorageError) as caught:
        allowed(entry, name, nbytes=nbytes)
    return caught.value


def test_a_new_file_in_the_root_is_allowed(root: Path) -> None:
    assert allowed(config(root), f"{root}/x.h5") == root / "x.h5"


def test_folders_that_are_not_there_yet_are_created(root: Path) -> None:
    path = allowed(config(root), f"{root}/a/b/x.h5")
    os.close(storage.open_folder(path))
    assert path.parent.is_dir()


@pytest.mark.parametrize("bad", hostile.NAMES, ids=lambda item: item.name)
def test_a_hostile_name_is_refused_by_kind_and_nothing_is_created(bad: hostile.BadName, root: Path) -> None:
    name = bad.make(root)
    before = sorted(root.rglob("*"))
    error = refused(config(root), name)
    assert error.kind == bad.kind, str(error)
    assert sorted(root.rglob("*")) == before


def test_a_root_that_is_a_link_is_the_folder_that_it_leads_to(root: Path, tmp_path: Path) -> None:
    link = tmp_path / "facility"
    link.symlink_to(root)
    for name in (f"{link}/x.h5", f"{root}/x.h5"):
        assert allowed(config(link), name) == root / "x.h5"


def test_a_link_inside_the_root_is_followed(root: Path) -> None:
    (root / "real").mkdir()
    (root / "link").symlink_to(root / "real")
    assert allowed(config(root), f"{root}/link/x.h5") == root / "real" / "x.h5"


def test_the_clients_prefix_is_mapped_to_the_receivers(root: Path) -> None:
    entry = config(root, path_map={"/data/visitors": f"{root}/visitors", "/data": f"{root}/other"})
    assert allowed(entry, "/data/visitors/x.h5") == root / "visitors" / "x.h5"
    assert allowed(entry, "/data/x.h5") == root / "other" / "x.h5"
    assert refused(entry, "/data2/x.h5").kind == "outside_data_root"
    assert refused(entry, "/data/../../etc/x.h5").kind == "outside_data_root"


def test_an_existing_file_is_refused_unless_overwriting_was_asked_for(root: Path) -> None:
    (root / "x.h5").write_text("precious")
    error = refused(config(root), f"{root}/x.h5")
    assert error.kind == "file_exists"
    assert "DestinationFilename" in str(error)
    allowed(config(root), f"{root}/x.h5", overwrite=True)
    assert (root / "x.h5").read_text() == "precious", "a check changes nothing"


def test_a_link_to_nothing_inside_the_root_is_a_name_like_any_other(root: Path) -> None:
    (root / "link.h5").symlink_to(root / "target.h5")
    assert allowed(config(root), f"{root}/link.h5") == root / "target.h5"


def test_a_disk_without_the_space_is_refused_with_both_numbers(root: Path) -> None:
    error = refused(config(root), f"{root}/x.h5", nbytes=2**60)
    assert error.kind == "disk_full"
    assert "1,152,921,505 GB" in str(error)


def test_a_number_of_frames_that_no_empty_disk_holds_says_nothing_about_the_space(root: Path) -> None:
    path, total = root / "new" / "x.h5", shutil.disk_usage(root).total
    assert storage.credible(path, total // 1000, 1000) == total // 1000, "too many if others use the disk"
    assert storage.credible(path, 2**48, 1000) is None
    assert storage.credible(path, 2**48, None) == 2**48, "packed frames may be small"
    assert storage.credible(path, None, 1000) is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_rights_is_refused(root: Path) -> None:
    root.chmod(0o500)
    assert refused(config(root), f"{root}/x.h5").kind == "not_writable"


def test_a_folder_whose_rights_do_not_suffice_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage.os, "access", lambda *_: False)
    error = refused(config(root), f"{root}/x.h5")
    assert error.kind == "not_writable"
    assert f"user id {os.geteuid()}" in str(error)


def test_a_file_system_that_is_away_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(_: object) -> None:
        raise OSError(107, "Transport endpoint is not connected")

    monkeypatch.setattr(storage.shutil, "disk_usage", away)
    error = refused(config(root), f"{root}/x.h5")
    assert error.kind == "not_reachable"
    assert "check that it is mounted" in str(error)


def test_folders_that_cannot_be_created_are_named(root: Path) -> None:
    (root / "file").touch()
    with pytest.raises(NameRefusedError, match="cannot create the folder .* Not a directory") as caught:
        storage.open_folder(root / "file" / "below" / "x.h5")
    assert caught.value.kind == "not_a_folder"


def test_a_folder_that_is_swapped_for_a_link_after_the_check_leads_nowhere(root: Path) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (root / "a").mkdir()
    path = allowed(config(root), f"{root}/a/b/x.h5")
    (root / "a").rmdir()
    (root / "a").symlink_to(outside)
    with pytest.raises(StorageError, match="cannot create the folder"):
        storage.open_folder(path)
    assert list(outside.iterdir()) == []


def test_a_link_that_changes_while_it_is_followed_is_a_refusal(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changed(path: object) -> str:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os.path, "realpath", changed)
    with pytest.raises(StorageError, match="cannot be used"):
        storage.resolve(config(root), f"{root}/x.h5")


def test_what_is_kept_back_comes_back(tmp_path: Path) -> None:
    with small_file_system(tmp_path / "disk", 16) as disk:
        before = shutil.disk_usage(disk).free
        folder = storage.open_folder(disk / "x.h5")
        kept = Reserve(folder)
        os.close(folder)
        assert list(disk.iterdir()) == [], "it has no name"
        assert shutil.disk_usage(disk).free <= before - storage.RESERVE_BYTES
        kept.release()
        kept.release()
        assert shutil.disk_usage(disk).free == before


def test_a_disk_without_space_to_close_a_file_is_refused(tmp_path: Path) -> None:
    with small_file_system(tmp_path / "disk", 3) as disk:
        folder = storage.open_folder(disk / "x.h5")
        try:
            with pytest.raises(StorageError, match="has no 4.19 MB left.* free some space") as refusal:
                Reserve(folder)
        finally:
            os.close(folder)
        assert refusal.value.kind == "disk_full"
        assert list(disk.iterdir()) == []


def test_where_space_cannot_be_kept_back_a_file_is_written_without(
    root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def cannot(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr(os, "posix_fallocate", cannot)
    folder = storage.open_folder(root / "x.h5")
    Reserve(folder).release()
    os.close(folder)
    assert f"no space reserved in {root}" in caplog.text


def test_a_closed_file_is_made_durable(root: Path) -> None:
    (root / "x.h5").write_text("data")
    storage.sync(root / "x.h5")


def test_more_segments_than_one_file_can_show_are_refused_with_the_number_that_fits() -> None:
    storage.check_segments(400_000, 100)
    storage.check_segments(None, 1)
    storage.check_segments(10**9, 0)
    with pytest.raises(
        StorageError, match=r"400,001 frames would be 4,001 segments, .* set it to 101 or more"
    ):
        storage.check_segments(400_001, 100)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_file_that_is_being_written_is_refused_overwrite_or_not(root: Path, overwrite: bool) -> None:
    file = root / "x.h5"
    with file.open("w+") as written:
        mark = lease.hold(written.fileno())
        with pytest.raises(
            StorageError, match=r"a receiver is writing .*x\.h5, .* give another name"
        ) as refusal:
            allowed(config(root), str(file), overwrite=overwrite)
        assert refusal.value.kind == "being_written"
        fcntl.flock(written, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the check has left no lock
        os.close(mark)
    allowed(config(root), str(file), overwrite=True)


def test_where_the_mark_says_that_a_file_is_written_hdf5s_lock_is_not_tried(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[object] = []
    monkeypatch.setattr(fcntl, "flock", lambda *asked: tried.append(asked))
    with (root / "x.h5").open("w+") as written:
        mark = lease.hold(written.fileno())
        assert lease.is_written(root / "x.h5")
        assert not tried
        os.close(mark)
    assert not lease.is_written(root / "x.h5")
    assert tried


def test_a_file_that_is_read_with_hdf5s_lock_may_be_replaced(root: Path) -> None:
    (root / "x.h5").write_text("old")
    with (root / "x.h5").open() as read:
        fcntl.flock(read, fcntl.LOCK_SH)
        allowed(config(root), f"{root}/x.h5", overwrite=True)


def test_where_there_are_no_locks_a_file_may_be_replaced_as_ever(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr(fcntl, "fcntl", none)
    monkeypatch.setattr(fcntl, "flock", none)
    (root / "x.h5").write_text("old")
    allowed(config(root), f"{root}/x.h5", overwrite=True)
    (root / "draft").write_text("new")
    folder = storage.open_folder(root / "x.h5")
    storage.give_name("draft", "x.h5", folder, replace=True)
    os.close(folder)
    assert (root / "x.h5").read_text() == "new"
