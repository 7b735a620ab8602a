"""The programs of PSI that stand in for a detector: one that ends before it listens is named at once."""

from __future__ import annotations

import subprocess
from pathlib import Path

from penstock.devices._sls.connection import memory_name
from penstock.devices._sls.virtual import RECEIVER, SHARED, START
from penstock.hosts.child import PYTHON, free_port


def test_a_program_that_ends_before_it_listens_is_named_with_its_last_words(tmp_path: Path) -> None:
    # given
    for name, words in (("detector", "exec sleep 600"), (RECEIVER, "echo cannot map memory; exit 3")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{words}\n")
        (tmp_path / name).chmod(0o755)
    ports = (str(free_port()), str(free_port()))
    # when
    argv = [*PYTHON, "-m", "penstock.devices._sls.virtual", str(tmp_path), "detector", "1", *ports]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=START - 5.0)
    # then
    assert done.returncode == 1 and not done.stdout
    assert f"{tmp_path}/{RECEIVER} ended with status 3 before it listened" in done.stderr
    assert "make judges" in done.stderr and "cannot map memory" in done.stderr


def test_what_slsdet_has_kept_of_modules_that_were_killed_is_gone_before_the_next_ones_start(
    tmp_path: Path,
) -> None:
    # given
    port = free_port()
    stale = SHARED / f"slsDetectorPackage_detector_0_{memory_name([('127.0.0.1', port)])}"
    stale.touch()
    for name, words in (
        ("detector", "exec sleep 600"),
        (RECEIVER, f"[ -e {stale} ] && echo still there || echo gone; exit 3"),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{words}\n")
        (tmp_path / name).chmod(0o755)
    # when
    module = "penstock.devices._sls.virtual"
    argv = [*PYTHON, "-m", module, str(tmp_path), "detector", "1", str(port), str(free_port())]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=START - 5.0)
    # then
    assert done.stderr.endswith("gone\n"), done.stderr
    assert not stale.exists()
