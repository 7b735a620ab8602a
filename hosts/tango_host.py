"""The Tango database for which this machine is configured, and where it is configured.

Tango reads the environment, then `.tangorc` in the user's home, then `/etc/tangorc`; the first entry counts,
in the environment even an empty one (cppTango, `Connection::get_env_var`).
"""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

import tango

VARIABLE = "TANGO_HOST"


@dataclass(frozen=True)
class TangoHost:
    """A database, and where it is named."""

    address: str
    """HOST:PORT, or several of these, separated by commas."""
    source: str
    """The variable, or the file."""

    def __str__(self) -> str:
        """Address and source, for messages."""
        return f"{self.address} (from {self.source})"


def files() -> tuple[Path, ...]:
    """Return the files that Tango reads if TANGO_HOST is not set; the home is from the password database."""
    return Path(pwd.getpwuid(os.geteuid()).pw_dir, ".tangorc"), Path("/etc/tangorc")


def tango_host() -> TangoHost | None:
    """Return the database that Tango itself would use; `None` if none is configured."""
    address = tango.ApiUtil.get_env_var(VARIABLE)
    if not address:
        return None
    if VARIABLE in os.environ:
        return TangoHost(address, VARIABLE)
    named = [str(file) for file in files() if _names(file)]
    return TangoHost(address, named[0] if named else VARIABLE)


def _names(file: Path) -> bool:
    try:
        lines = file.read_text(errors="replace").splitlines()
    except OSError:
        return False
    # As loosely as Tango reads it: `export TANGO_HOST=…` counts too.
    settings = (line.partition("=") for line in lines if not line.lstrip().startswith("#"))
    return any(sign and VARIABLE in name for name, sign, _ in settings)
