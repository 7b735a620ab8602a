"""What every test needs: this environment's programs first on the path, and no Tango database by accident."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.hosts import child
from tests import distribution
from tests.shared import Shared

# Also for whoever calls .venv/bin/pytest without the Makefile: tests start PyDatabaseds, device
# servers and `penstock` by name.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
# Child processes must not find `streamer` in the checkout, a second copy of `penstock.streamer`.
os.environ["PYTHONSAFEPATH"] = "1"
# A test must never reach a facility's database by accident. Empty, for without it Tango looks into ~/.tangorc
# and /etc/tangorc.
os.environ["TANGO_HOST"] = ""
# Of Tango's clients: milliseconds in which a connection has to be made, 100 by default. On a busy machine a
# client may itself not run for so long.
os.environ["TANGOconnectTimeout"] = "5000"  # noqa: SIM112
# As the commands do for themselves; and hundreds of processes import NumPy without them.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
# Output that nobody flushes must show up here, not at a user's.
os.environ.pop("PYTHONUNBUFFERED", None)
# A shell that runs the tests in the background has them ignore Ctrl-C, and so would all that they start; from
# a process that handles it, children get the default.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.setdefault("QT_API", "pyqt5")
os.environ.setdefault("PYTEST_QT_API", "pyqt5")
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

# Each process of `pytest -n` has ports of its own: a test may take one seconds before it uses it.
if worker := os.environ.get("PYTEST_XDIST_WORKER"):
    share = len(child.PORTS) // 8
    child.PORTS = child.PORTS[share * (int(worker.removeprefix("gw")) % 8) :][:share]

# The contract suites are not in files named test_….py, and what fails there has to say why, too.
SUITES = (
    "camera_hooks", "camera_mondays", "camera_series", "streaming_contract", "streaming_hooks",
    "streaming_mondays", "unit_contract",
)  # fmt: skip
pytest.register_assert_rewrite(*(f"tests.contract.{name}" for name in SUITES))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> distribution.Distribution | None:
    """Replace that of `--dist loadfile`."""
    if config.getvalue("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False
    return distribution.Distribution(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what takes long, if several processes share the tests."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=distribution.place)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    """Behind the last test of a folder, end what its tests have shared."""
    yield
    for each in Shared.every:
        each.end_before("" if nextitem is None else nextitem.nodeid)


def pytest_collection_finish() -> None:
    """From now on the garbage collector leaves alone what there is.

    To go through the thousands of tests and all that they import takes a third of a second, and pyFAI asks
    for that whenever it loads a geometry.
    """
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Let the interpreter end as it would have: Qt's objects go before their modules."""
    gc.unfreeze()
