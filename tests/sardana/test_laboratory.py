"""A laboratory comes up and takes a scan."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import h5py

from penstock.sardana.laboratory.laboratory import Laboratory

ROOT = Path(__file__).resolve().parents[2]


def test_a_step_scan_into_one_file(laboratory: Laboratory) -> None:
    run = laboratory.run("ascan", "mot01", "0", "1", "4", "0.01")
    assert run.ending == "finish", (run.error, run.said())
    files = sorted(laboratory.data.glob("*.h5"))
    with h5py.File(laboratory.data / "scan.h5", locking=False) as scan:
        assert scan["entry1/measurement/mot01"].shape == (5,)
    assert files


def test_the_folder_does_not_shadow_sardana() -> None:
    """As for who starts Python in the clone."""
    script = "import sardana, sardana.pool.controller; print(sardana.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True,
        env={"PATH": "/usr/bin:/bin", "HOME": "/tmp"},
    )  # fmt: skip
    assert Path(done.stdout.strip()).is_relative_to(sys.prefix)
    assert not (ROOT / "sardana" / "__init__.py").exists()
