"""Spock, Sardana's command line, in this terminal, with a profile apart from the user's own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from threading import TIMEOUT_MAX

from penstock.hosts.child import PYTHON
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
"""Configuration as spock itself writes it, but without asking for the Door."""
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
    """Hand the terminal to spock until the user exits; return its exit status.

    It has no windows (expconf, showscan). Meanwhile, only spock reacts to Ctrl-C. Whatever else ends the wait
    (`SystemExit` from a signal handler) ends spock and restores the terminal.

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
    # With a display, spock loads Qt, and starts with a traceback where Qt cannot open a window.
    environment.pop("DISPLAY", None)
    with _terminal_restored(), _interrupts_are_for_the_child():
        process = subprocess.Popen(command, env=environment)
        try:
            return process.wait(TIMEOUT_MAX)  # looks again and again, so that no signal is missed
        finally:
            if process.poll() is None:
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(PATIENCE)
                process.kill()
                process.wait()


@contextlib.contextmanager
def _terminal_restored() -> Iterator[None]:
    """Restore the terminal's settings, should spock be ended while it reads a line."""
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
    """Ignore Ctrl-C, which the terminal sends to both; a handler, unlike SIG_IGN, is not inherited."""
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
