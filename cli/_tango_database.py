"""The Tango database that a command uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tango

    from penstock.hosts.tango_host import TangoHost


def open_database() -> tuple[TangoHost, tango.Database]:
    """Return the Tango database that this machine is configured for, and where that is configured.

    Raises:
        UserError: there is none, or it does not answer.
    """
    import tango

    from penstock.cli.main import UserError
    from penstock.hosts.tango_host import VARIABLE, files, tango_host

    host = tango_host()
    remedy = "start one with `penstock database`, then: export TANGO_HOST=127.0.0.1:10000"
    if host is None:
        places = " or ".join(map(str, files()))
        raise UserError(
            f"{VARIABLE} is not set, nor is it in {places}, so there is no Tango database to ask; {remedy}"
        )
    try:
        return host, tango.Database()
    except tango.DevFailed as error:
        raise UserError(f"no Tango database answers at {host}; {remedy}") from error
