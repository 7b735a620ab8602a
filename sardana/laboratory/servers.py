"""A separate Sardana: Pool, MacroServer and Door in one server process, in a Tango database."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import tango

from penstock.hosts.child import PYTHON, Child
from penstock.hosts.tango_database import wait_until_answers
from penstock.sardana import plugin

POOL, MACRO_SERVER, DOOR = "pool/penstock/1", "macroserver/penstock/1", "door/penstock/1"
"""Tango names of the three devices."""
SERVER = "Sardana/penstock"
STARTING = "Sardana starts"
ANSWERS_WITHIN = 90.0
"""Seconds; Sardana needs one or two, ten times that on a busy machine."""
START = f"""\
print("{STARTING}", flush=True)
import ast, functools
ast.parse = functools.lru_cache(maxsize=4)(ast.parse)
from sardana.tango import main
main()
"""
"""Sardana keeps the source of each macro; to find it, Python up to 3.12 parses the whole file for each one.
With the syntax trees cached, Sardana starts in a third of the time."""


def register_sardana(database: tango.Database, folder: Path, *, plugins: bool = True) -> None:
    """Register the three devices.

    Args:
        database: where to register them.
        folder: for the environment of the MacroServer.
        plugins: whether they find Penstock's controllers, macros and recorders.
    """
    for kind, name, alias in (
        ("Pool", POOL, "Pool_penstock"),
        ("MacroServer", MACRO_SERVER, "MS_penstock"),
        ("Door", DOOR, "Door_penstock"),
    ):
        info = tango.DbDevInfo()
        info.server, info._class, info.name = SERVER, kind, name
        database.add_device(info)
        database.put_device_alias(name, alias)
    database.put_device_property(DOOR, {"MacroServerName": [MACRO_SERVER]})
    macro_server: dict[str, Sequence[str]] = {
        "PoolNames": [POOL],
        "EnvironmentDb": [str(folder / "environment")],
    }
    if plugins:
        database.put_device_property(POOL, {"PoolPath": [str(plugin.CONTROLLERS)]})
        macro_server["MacroPath"] = [str(plugin.MACROS)]
        macro_server["RecorderPath"] = [str(plugin.RECORDERS)]
    database.put_device_property(MACRO_SERVER, macro_server)


def start_sardana(tango_host: str) -> Child[bool]:
    """Start the server; `wait_sardana` waits until it answers.

    Raises:
        ProcessFailed: it cannot be started.
    """
    instance = SERVER.partition("/")[2]
    return Child(
        "Sardana",
        [
            *PYTHON, "-c", START, instance, "--without-log-file=True", "-ORBendPoint", "giop:tcp:127.0.0.1:0",
        ],
        lambda line: True if line.strip() == STARTING else None,
        deadline=ANSWERS_WITHIN, environment={"TANGO_HOST": tango_host},
    )  # fmt: skip


def wait_sardana(child: Child[object], tango_host: str) -> None:
    """Wait until the Door answers; Sardana itself does not report that it is ready.

    Raises:
        ProcessFailed: it ended, or did not answer in time.
    """
    door = f"tango://{tango_host}/{DOOR}"
    wait_until_answers(child, lambda: tango.DeviceProxy(door).ping(), ANSWERS_WITHIN)
