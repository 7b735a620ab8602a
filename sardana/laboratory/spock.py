"""Spock, Sardana's command line, in this terminal, with a profile that is none of the user's own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from penstock.devices._base.processes import PYTHON
from penstock.sardana.laboratory.servers import DOOR, MACRO_SERVER

PROFILE = "penstock"
CONFIGURATION = """\
# The next two lines are for spock, which compares them.
# spock_creation_version = {version}
# door_name = {door}
from sardana.spock.config import Spock
import sardana.spock

config = get_config()
config.Spock.door_name = "{door}"
config.Spock.macro_server_name = "{macro_server}"
sardana.spock.load_config(config)
"""
"""As spock itself makes it, but without the question which Door it shall be."""
START = """\
import taurus
taurus.setLogLevel(taurus.Error)
import taurus.core.epics  # which warns that EPICS is not installed; nothing here needs it
taurus.setLogLevel(taurus.Warning)
from sardana.spock import main
main()
"""
PATIENCE = 5.0
"""Seconds that spock has to end."""


def run(folder: Path, tango_host: str) -> int:
    """Leave the terminal to spock until the user leaves it; returns its exit status.

    It has no windows (expconf, showscan). Ctrl-C is spock's alone meanwhile. Whatever else ends the wait
    (`SystemExit` out of a signal handler) ends spock, and the terminal is as it was before.

    Args:
        folder: for the profile and its history, so that the user's IPython stays as it is.
        tango_host: Tango database of the Door, as HOST:PORT.
    """
    profile = folder / f"profile_{PROFILE}"
    profile.mkdir(parents=True, exist_ok=True)
    database = f"tango://{tango_host}"
    text = CONFIGURATION.format(
        version=version("sardana"), door=f"{database}/{DOOR}", macro_server=f"{database}/{MACRO_SERVER}"
    )
    (profile / "ipython_config.py").write_text(text)
    command = [*PYTHON, "-c", START, f"--profile={PROFILE}"]
    environment = {**os.environ, "TANGO_HOST": tango_host, "IPYTHONDIR": str(folder)}
    # With a screen spock loads Qt, and there is a traceback at its start where Qt cannot open a window.
    environment.pop("DISPLAY", None)
    with _terminal_restored(), _interrupts_are_for_the_child():
        process = subprocess.Popen(command, env=environment)
        try:
            return process.wait()
        finally:
            if process.poll() is None:
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(PATIENCE)
                process.kill()
                process.wait()


@contextlib.contextmanager
def _terminal_restored() -> Iterator[None]:
    """For a spock that is ended while it reads a line."""
    import termios

    if not sys.stdin.isatty():
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


@contextlib.contextmanager
def _interrupts_are_for_the_child() -> Iterator[None]:
    """The terminal sends Ctrl-C to both; a handler, unlike SIG_IGN, is not handed down to the child."""
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
