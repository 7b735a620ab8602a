"""The measurement of the light streamer counts every frame, and says so."""

from __future__ import annotations

import json
import os

import pytest

from penstock.bench.light import RAM_DISK, main

pytestmark = pytest.mark.skipif(not os.access(RAM_DISK, os.W_OK), reason="there is no RAM disk")


def test_it_says_what_arrived_and_what_it_took(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--rate", "50", "--seconds", "0.2", "--mb", "0.2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["files"], found["sent"], found["received"], found["lost"]) == (10, 10, 10, {})
    assert 0 < found["python_us"] <= found["all_us"]


def test_nothing_is_left_on_the_ram_disk(capsys: pytest.CaptureFixture[str]) -> None:
    before = set(os.listdir(RAM_DISK))
    main(["--rate", "50", "--seconds", "0.1", "--mb", "0.1"])
    assert "5 of 5 files of 0.11 MB arrived" in capsys.readouterr().out
    assert not {name for name in set(os.listdir(RAM_DISK)) - before if name.startswith("penstock-bench-")}
