"""Servers as Tango's Starter, Astor and the wizard of Jive start them, and find them among the processes."""

from __future__ import annotations

import os
import socket
import subprocess
import sysconfig
from pathlib import Path

import pytest
import tango

from penstock.devices._server.interface import PROPERTY
from penstock.hosts.child import PENSTOCK, Child
from tests.system.beamline import Beamline, until

SCRIPTS = Path(sysconfig.get_path("scripts"))
"""Of this environment: the folder that StartDsPath names."""
STARTER = Path("/usr/lib/tango/Starter")
SERVERS = ("Simulator/one", "PenstockReceiver/lab")


def enter(beamline: Beamline, server: str) -> None:
    """Enter a server without devices, as the wizard does."""
    info = tango.DbDevInfo()
    info.server, info._class, info.name = server, "DServer", f"dserver/{server}"
    database_of(beamline).add_device(info)


def database_of(beamline: Beamline) -> tango.Database:
    host, _, port = beamline.tango_host.partition(":")
    return tango.Database(host, int(port))


def started(beamline: Beamline, server: str, instance: str) -> Child[bool]:
    """A server that `penstock device` has started."""
    return Child(
        f"{server}/{instance}", [*PENSTOCK, "device", server, instance],
        lambda line: True if "Ready to accept request" in line else None,
        deadline=30.0, environment={"TANGO_HOST": beamline.tango_host},
    )  # fmt: skip


def test_a_server_that_the_database_knows_starts_without_devices_under_its_own_name(
    beamline: Beamline,
) -> None:
    enter(beamline, "Simulator/wizard")
    with started(beamline, "Simulator", "wizard") as child:
        words = Path(f"/proc/{child.pid}/cmdline").read_text().split("\0")
        # Starter takes the base name of a Python program's script, and the argument that follows it.
        assert Path(words[0]).name.startswith("python")
        assert [word for word in words[1:] if word] == [str(SCRIPTS / "Simulator"), "wizard"]
        admin = beamline.device("dserver/Simulator/wizard")
        assert list(admin.QueryClass()) == ["Simulator", "PenstockReceiver"]
        name, doc, value = admin.QueryWizardDevProperty("Simulator")[:3]
        assert (name, value) == ("ReceiverUrl", "")
        assert doc.startswith("Required. ")


@pytest.mark.slow
@pytest.mark.skipif(
    not STARTER.exists(), reason="Starter is not installed: it is Debian's package tango-starter"
)
def test_starter_starts_our_servers_sees_them_run_and_stops_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = socket.gethostname().partition(".")[0]
    name = f"tango/admin/{host}"
    with Beamline(tmp_path) as line:
        monkeypatch.setenv("TANGO_HOST", line.tango_host)
        line.register(f"Starter/{host}", "Starter", name, StartDsPath=str(SCRIPTS), LogFileHome=str(tmp_path))
        line.register("Simulator/one", "Simulator", "lab/det/1", ReceiverUrl="http://127.0.0.1:1", DataPort=0)
        line.register(
            "PenstockReceiver/lab", "PenstockReceiver", "lab/rec/1", ReceiverUrl="http://127.0.0.1:1"
        )
        with (tmp_path / "output").open("w") as output:
            process = subprocess.Popen([STARTER, host], stdout=output, stderr=subprocess.STDOUT)
        try:
            starter = line.device(name)
            until(lambda: answers(starter), "Starter answers")
            for server in SERVERS:
                starter.command_inout("DevStart", server)

            def run(*servers: str) -> bool:
                return sorted(starter.command_inout("DevGetRunningServers", True)) == sorted(servers)

            until(lambda: run(*SERVERS), "Starter sees both run", deadline=30.0)
            assert line.device("lab/det/1").info().server_id == "Simulator/one"
            for server in SERVERS:
                starter.command_inout("DevStop", server)
            until(lambda: not answers(line.device("lab/det/1")), "the server is stopped")
            with started(line, "Simulator", "one"):
                until(lambda: run("Simulator/one"), "Starter sees it run", deadline=30.0)
        finally:
            process.terminate()
            process.wait(10.0)


def answers(device: tango.DeviceProxy) -> bool:
    try:
        return bool(device.ping() >= 0)
    except tango.DevFailed:
        return False


def test_asking_for_the_usage_writes_nothing_into_the_database(beamline: Beamline) -> None:
    asked = subprocess.run(
        [SCRIPTS / "Moench", "-?"], env={**os.environ, "TANGO_HOST": beamline.tango_host},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "usage: Moench instance_name" in asked.stdout + asked.stderr
    assert list(database_of(beamline).get_class_property("Moench", PROPERTY)[PROPERTY]) == []
