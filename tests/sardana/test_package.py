"""The package beside Sardana itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_folder_does_not_shadow_sardana() -> None:
    """As for who starts Python in the clone."""
    script = "import sardana, sardana.pool.controller; print(sardana.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True,
        env={"PATH": "/usr/bin:/bin", "HOME": "/tmp"},
    )  # fmt: skip
    assert Path(done.stdout.strip()).is_relative_to(sys.prefix)
    assert not (ROOT / "sardana" / "__init__.py").exists()
