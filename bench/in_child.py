"""Parts that are measured in a child process: alone with its imports, or with packages of others."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.bench.reductions import NotMeasured
from penstock.hosts.version import CHECKOUT

JUDGES = CHECKOUT / ".venv-judges" / "processing"


def judges_path() -> Path | None:
    """Return the folder of the packages of others; `None` if `make judges` was not run."""
    return next(JUDGES.glob(f"lib/python3.{sys.version_info.minor}/site-packages"), None)


def packages_with(package: str) -> Path:
    """Return the folder of the packages of others, with this one.

    Raises:
        NotMeasured: the package is not here.
    """
    packages = judges_path()
    if packages is None or not (packages / package).is_dir():
        raise NotMeasured(f"beside {package}: there is no {JUDGES} with it; make judges installs it")
    return packages


def beside(package: str, module: str, rounds: int) -> dict[str, list[float]]:
    """Return what a module of the benchmark measures in a child process that may import a package of others.

    Raises:
        NotMeasured: the package is not here.
        RuntimeError: it has failed.
    """
    return told([sys.executable, "-P", "-m", module, str(packages_with(package)), str(rounds)])


def told(command: list[str], environment: Mapping[str, str] | None = None) -> dict[str, list[float]]:
    """Return what a process prints as JSON: values by contender.

    Raises:
        RuntimeError: it has failed; the last line of what it said.
    """
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"{command[3]}: {done.stderr.strip().splitlines()[-1]}")
    values: dict[str, Any] = json.loads(done.stdout)
    return values
