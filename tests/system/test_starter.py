"""Servers as Tango's Starter, Astor and the wizard of Jive start them, and find them among the processes."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path

import tango

from penstock.devices._base.interface import PROPERTY
from penstock.devices._base.processes import PENSTOCK, Child
from tests.system.beamline import Beamline

SCRIPTS = Path(sysconfig.get_path("scripts"))
"""Of this environment: the folder that StartDsPath names."""


def enter(beamline: Beamline, server: str) -> None:
    """Enter a server without devices, as the wizard does."""
    info = tango.DbDevInfo()
    info.server, info._class, info.name = server, "DServer", f"dserver/{server}"
    database_of(beamline).add_device(info)


def database_of(beamline: Beamline) -> tango.Database:
    host, _, port = beamline.tango_host.partition(":")
    return tango.Database(host, int(port))


def test_a_server_that_the_database_knows_starts_without_devices_under_its_own_name(
    beamline: Beamline,
) -> None:
    enter(beamline, "Simulator/wizard")
    with Child(
        "Simulator/wizard", [*PENSTOCK, "device", "Simulator", "wizard"],
        lambda line: True if "Ready to accept request" in line else None,
        deadline=30.0, environment={"TANGO_HOST": beamline.tango_host},
    ) as child:  # fmt: skip
        words = Path(f"/proc/{child.pid}/cmdline").read_text().split("\0")
        # Starter takes the base name of a Python program's script, and the argument that follows it.
        assert Path(words[0]).name.startswith("python")
        assert [word for word in words[1:] if word] == [str(SCRIPTS / "Simulator"), "wizard"]
        admin = beamline.device("dserver/Simulator/wizard")
        assert list(admin.QueryClass()) == ["Simulator", "PenstockReceiver"]
        name, doc, value = admin.QueryWizardDevProperty("Simulator")[:3]
        assert (name, value) == ("ReceiverUrl", "")
        assert doc.startswith("Required. ")


def test_asking_for_the_usage_writes_nothing_into_the_database(beamline: Beamline) -> None:
    asked = subprocess.run(
        [SCRIPTS / "Moench", "-?"], env={**os.environ, "TANGO_HOST": beamline.tango_host},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "usage: Moench instance_name" in asked.stdout + asked.stderr
    assert list(database_of(beamline).get_class_property("Moench", PROPERTY)[PROPERTY]) == []
