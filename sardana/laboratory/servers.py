"""A Sardana of its own: Pool, MacroServer and Door in one server process, on a Tango database."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import tango

from penstock.devices._base.processes import PYTHON, Child, ProcessFailed
from penstock.sardana import plugin

POOL, MACRO_SERVER, DOOR = "pool/penstock/1", "macroserver/penstock/1", "door/penstock/1"
"""Tango names of the three devices."""
SERVER = "Sardana/penstock"
STARTING = "Sardana starts"


def register_sardana(database: tango.Database, folder: Path, *, plugins: bool = True) -> None:
    """Register the three devices.

    Args:
        database: into which.
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


def start_sardana(tango_host: str, deadline: float = 90.0) -> Child[bool]:
    """Start the server; the Door answers when it returns.

    Raises:
        ProcessFailed: it ended, or did not answer within `deadline` seconds. It computes for three seconds,
            and takes ten times that on a machine that has much else to do.
    """
    instance = SERVER.partition("/")[2]
    child = Child(
        "Sardana",
        [
            *PYTHON, "-c", f"print('{STARTING}', flush=True); from sardana.tango import main; main()",
            instance, "--without-log-file=True", "-ORBendPoint", "giop:tcp:127.0.0.1:0",
        ],
        lambda line: True if line.strip() == STARTING else None,
        deadline=deadline, environment={"TANGO_HOST": tango_host},
    )  # fmt: skip
    try:
        _wait_answer(child, f"tango://{tango_host}/{DOOR}", deadline)
    except BaseException:
        child.stop()
        raise
    return child


def _wait_answer(child: Child[bool], door: str, deadline: float) -> None:
    """It says nothing when it is ready."""
    limit = time.monotonic() + deadline
    while True:
        try:
            tango.DeviceProxy(door).ping()
            return
        except tango.DevFailed as error:
            ended = child.ended()
            if ended is not None:
                raise ProcessFailed(ended) from error
            if time.monotonic() > limit:
                raise ProcessFailed(f"{child.name} does not answer within {deadline:g} s") from error
            time.sleep(0.2)  # each try costs the database of a busy machine something
