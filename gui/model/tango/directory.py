"""The directory of all devices of Penstock in a Tango database, whatever the classes of their cameras.

A device server writes the class property `PenstockInterface` ("detector", "receiver" or "pipeline") when it
starts. A facility may have a class of the same name of others, such as Eiger of LImA: the devices of a server
that is not named as one of our classes are not ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast, get_args

import tango

from penstock.stins.errors import UserError

Kind = Literal["detector", "receiver", "pipeline"]

PROPERTY = "PenstockInterface"

# One call, however many classes and devices a facility has. Taurus and Jive ask by this command too; the
# database answers it to those as well who may only read.
QUERY = (
    "SELECT device.name, property_class.value, device.class, device.server, device.exported"
    " FROM device, property_class"
    f" WHERE property_class.class = device.class AND property_class.name = '{PROPERTY}'"
    # and the classes, which name the servers; the first may have no device, only its receiver's
    f" UNION SELECT '', value, class, '', '' FROM property_class WHERE name = '{PROPERTY}'"
    " ORDER BY 1"
)
COLUMNS = 5

NO_HOST = (
    "TANGO_HOST is not set, so there is no Tango database to ask; set it to the database's address, such as: "
    "export TANGO_HOST=127.0.0.1:10000"
)


class DirectoryError(UserError):
    """The database cannot be asked; the sentence says which it is and what to do."""


@dataclass(frozen=True)
class DirectoryEntry:
    """One device of the database."""

    name: str
    """Three parts, as the database spells it."""
    kind: Kind
    cls: str
    """Tango class: name of the camera, PenstockReceiver or PenstockPipeline."""
    server: str
    """Server and instance, such as "Simulator/lab"."""
    exported: bool
    """Its server runs, as far as the database knows; one that was killed may still be called exported."""


def open_database() -> tango.Database:
    """Return the database of TANGO_HOST, `~/.tangorc` or `/etc/tangorc`.

    Raises:
        DirectoryError: none is named there, or it does not answer.
    """
    address = tango.ApiUtil.get_env_var("TANGO_HOST")
    if not address:
        raise DirectoryError(NO_HOST)
    try:
        return tango.Database()
    except tango.DevFailed as error:
        raise DirectoryError(_silent(address)) from error


def find_devices(database: tango.Database) -> list[DirectoryEntry]:
    """Return every detector, receiver and pipeline that is registered, by name; one call to the database.

    Raises:
        DirectoryError: the database does not answer, or does not take the question.
    """
    try:
        numbers, texts = database.command_inout("DbMySqlSelect", QUERY)
    except tango.DevFailed as error:
        address = f"{database.get_db_host()}:{database.get_db_port_num()}"
        lost = isinstance(error, (tango.ConnectionFailed, tango.CommunicationFailed))
        # "Delayed": within a second of the last attempt Tango does not try again.
        if lost or error.args[0].reason == "API_CantConnectToDevice":
            raise DirectoryError(_silent(address)) from error
        raise DirectoryError(
            f"the Tango database at {address} does not say which devices are Penstock's: "
            f"{error.args[0].desc.strip()}; name the device instead"
        ) from error
    rows = [texts[first : first + COLUMNS] for first in range(0, int(numbers[-2]) * COLUMNS, COLUMNS)]
    servers = {cls.lower() for name, kind, cls, *_ in rows if not name and kind in get_args(Kind)}
    return [
        DirectoryEntry(name=name, kind=cast(Kind, kind), cls=cls, server=server, exported=exported == "1")
        for name, kind, cls, server, exported in rows
        if name and kind in get_args(Kind) and server.partition("/")[0].lower() in servers
    ]


def _silent(address: str) -> str:
    return (
        f"no Tango database answers at {address} (TANGO_HOST); is it started, and is that its address? "
        "`penstock database` starts an embedded one"
    )
