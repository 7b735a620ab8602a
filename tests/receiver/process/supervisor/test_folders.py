"""The folders below the data root: names only, and nothing outside it."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from penstock.receiver.client import ReceiverRefused
from penstock.receiver.models import Folders
from penstock.receiver.process.supervisor.folders import AT_ONCE, MOST, DataRoot, below
from penstock.service.models import Refused
from tests.receiver.processes import ReceiverProcess


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A data root beside a folder that is nobody's business."""
    root = tmp_path / "data"
    for folder in ("visitors/2025/raw", "visitors/2025/processed", "staff", ".hidden", "ünïcode é"):
        (root / folder).mkdir(parents=True)
    (root / "file.h5").touch()
    (tmp_path / "secret" / "inside").mkdir(parents=True)
    return root


def refusal(root: Path, under: str) -> tuple[str, str]:
    with pytest.raises(Refused) as refused:
        below(str(root), under)
    return refused.value.kind, str(refused.value)


def test_folders_are_listed_sorted_without_files_and_hidden_ones(root: Path) -> None:
    assert below(str(root), "") == Folders(
        root=str(root), under="", parent=None, folders=["staff", "visitors", "ünïcode é"]
    )
    assert below(str(root), "visitors") == Folders(
        root=str(root), under="visitors", parent="", folders=["2025"]
    )


@pytest.mark.parametrize("under", ["visitors/2025", "visitors/2025/", "visitors//2025", "./visitors/./2025"])
def test_a_folder_has_its_parent_however_it_is_written(root: Path, under: str) -> None:
    assert below(str(root), under) == Folders(
        root=str(root), under="visitors/2025", parent="visitors", folders=["processed", "raw"]
    )


def test_a_hidden_folder_has_its_own_name_as_parent(root: Path) -> None:
    (root / ".hidden" / "x").mkdir()
    assert below(str(root), ".hidden/x").parent == ".hidden"


@pytest.mark.parametrize(
    ("under", "kind"),
    [
        ("..", "outside_data_root"),
        ("../secret", "outside_data_root"),
        ("visitors/../../secret", "outside_data_root"),
        ("out", "outside_data_root"),
        ("out/inside", "outside_data_root"),
        ("/etc", "not_relative"),
        ("nobody", "no_such_folder"),
        ("gone", "no_such_folder"),
        ("file.h5", "not_a_folder"),
        ("file.h5/x", "not_a_folder"),
        ("a\0b", "bad_filename"),
        ("a\nb", "bad_filename"),
        ("a\ud800b", "bad_filename"),
        ("n" * 300, "not_reachable"),
        ("n/" * 3000, "not_reachable"),
        ("loop/x", "not_reachable"),
    ],
)
def test_what_is_no_folder_of_the_data_root_is_refused(root: Path, under: str, kind: str) -> None:
    (root / "out").symlink_to(root.parent / "secret")
    (root / "gone").symlink_to(root / "nothing")
    (root / "loop").symlink_to(root / "loop")
    found, sentence = refusal(root, under)
    assert found == kind
    assert len(sentence) < 7000 and sentence.isprintable()


def test_links_are_listed_where_they_stay_inside(root: Path) -> None:
    links = root / "links"
    links.mkdir()
    for name, target in {
        "inside": root / "visitors", "relative": Path("../staff"), "out": root.parent / "secret",
        "beside": Path("../../data2"), "gone": root / "nothing", "loop": links / "loop",
        "file": root / "file.h5",
    }.items():  # fmt: skip
        (links / name).symlink_to(target)
    (root.parent / "data2").mkdir()  # begins with the data root's name, and is not in it
    assert below(str(root), "links").folders == ["inside", "relative"]
    assert below(str(root), "links/inside").folders == ["2025"]


def test_a_data_root_that_is_a_link_itself_is_followed(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    found = below(str(tmp_path / "link"), "visitors")
    assert (found.root, found.folders) == (str(tmp_path / "link"), ["2025"])


def test_a_folder_that_is_swapped_for_a_link_while_it_is_asked_for_shows_nothing(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_open = os.open

    def swapped(path: Any, *arguments: Any) -> int:
        (root / "staff").rmdir()
        (root / "staff").symlink_to(root.parent / "secret")
        return real_open(path, *arguments)

    monkeypatch.setattr(os, "open", swapped)
    assert refusal(root, "staff")[0] == "outside_data_root"


def test_names_that_no_file_name_may_have_in_it_are_left_out(root: Path) -> None:
    folder = root / "odd"
    folder.mkdir()
    for name in (b"new\nline", b"\xff\xfe", b"fine"):
        os.mkdir(os.fsencode(folder) + b"/" + name)
    assert below(str(root), "odd").folders == ["fine"]


def test_a_folder_that_may_not_be_listed_is_said(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: Any) -> int:  # not by its rights: the tests may run as root
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", denied)
    kind, sentence = refusal(root, "staff")
    assert kind == "not_readable"
    assert "may not list" in sentence and "type the folder's name" in sentence


def test_of_very_many_folders_the_first_are_listed_and_the_others_counted(root: Path) -> None:
    folder = root / "many"
    folder.mkdir()
    for number in range(MOST + 7):
        (folder / f"{number:05}").mkdir()
    found = below(str(root), "many")
    assert (len(found.folders), found.folders[0], found.folders[-1], found.more) == (
        MOST, "00000", f"{MOST - 1:05}", 7,
    )  # fmt: skip


@pytest.mark.slow
def test_a_hundred_thousand_entries_are_listed_within_the_time_of_a_request(root: Path) -> None:
    folder = root / "many"
    folder.mkdir()
    for number in range(100_000):
        os.mkdir(f"{folder}/{number:06}")
    began = time.monotonic()
    assert below(str(root), "many").more == 100_000 - MOST
    assert time.monotonic() - began < 1.5


def test_a_file_system_that_hangs_is_said_in_time(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proceed = threading.Event()

    def hangs(*_: Any) -> int:
        proceed.wait(20.0)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("penstock.receiver.process.supervisor.folders.SECONDS", 0.05)
    monkeypatch.setattr("penstock.receiver.process.supervisor.folders.below", hangs)
    began = time.monotonic()
    with pytest.raises(Refused, match="not listed within 0.05 s: the file system hangs") as refused:
        asyncio.run(DataRoot(str(root)).below("staff"))
    assert refused.value.kind == "not_reachable"
    assert time.monotonic() - began < 5.0
    proceed.set()


def test_listings_that_hang_are_no_more_than_may_be_at_once(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, proceed, folders = threading.Semaphore(0), threading.Event(), DataRoot(str(root))

    def hangs(*_: Any) -> Folders:
        begun.release()
        proceed.wait(20.0)
        return Folders(root=str(root), under="", parent=None, folders=[])

    async def ask() -> None:
        for _ in range(AT_ONCE):
            with pytest.raises(Refused):
                await folders.below("staff")
            assert begun.acquire(timeout=20.0)
        with pytest.raises(Refused):
            await folders.below("staff")
        assert not begun.acquire(blocking=False), "one more was not even tried"

    with monkeypatch.context() as patched:
        patched.setattr("penstock.receiver.process.supervisor.folders.SECONDS", 0.01)
        patched.setattr("penstock.receiver.process.supervisor.folders.below", hangs)
        asyncio.run(ask())
    threads = [thread for thread in threading.enumerate() if thread.name == "folders"]
    proceed.set()
    for thread in threads:
        thread.join(20.0)
    for _ in range(AT_ONCE + 1):
        assert asyncio.run(folders.below("visitors")).folders == ["2025"]


def test_a_running_receiver_lists_the_folders_of_its_data_root(receiver: ReceiverProcess) -> None:
    (receiver.root / "visitors" / "2025").mkdir(parents=True)
    assert receiver.client.folders() == Folders(
        root=str(receiver.root), under="", parent=None, folders=["visitors"]
    )
    assert receiver.client.folders("visitors").folders == ["2025"]
    with pytest.raises(ReceiverRefused) as refused:
        receiver.client.folders("../..")
    assert refused.value.kind == "outside_data_root"
    with pytest.raises(ReceiverRefused) as refused:
        receiver.client.folders("n" * 5000)
    assert refused.value.kind == "bad_request"
