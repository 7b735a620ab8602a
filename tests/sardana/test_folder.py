"""Where files go while ScanDir is not set, and what the user is told."""

from __future__ import annotations

from penstock.sardana.channel.files import scan_folder

HISTORY = [{"ScanDir": "/data/first"}, {"ScanDir": "/data/visit"}, {"ScanDir": None}]


def test_scan_dir_is_the_folder_and_nothing_is_said() -> None:
    assert scan_folder({"ScanDir": "/data/now", "ScanHistory": HISTORY}.get) == ("/data/now", "")


def test_without_scan_dir_the_folder_of_the_last_scan_is_named_before_it_is_used() -> None:
    assert scan_folder({"ScanHistory": HISTORY}.get) == (
        "/data/visit",
        "ScanDir is not set: detectors' files go to /data/visit, the folder of the last scan; "
        "choose a folder with `senv ScanDir /data/...`",
    )


def test_without_any_scan_it_is_said_that_the_receiver_decides() -> None:
    folder, sentence = scan_folder({}.get)
    assert folder == ""
    assert sentence.startswith("ScanDir is not set: detectors' files go to the data root of the receiver;")
