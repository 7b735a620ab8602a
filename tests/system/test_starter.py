"""Tango's Starter, which Astor speaks to, starts our servers from the folder of their console scripts."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
import tango

from tests.system.beamline import Beamline, until

STARTER = Path("/usr/lib/tango/Starter")
SERVERS = ("Simulator/one", "PenstockReceiver/lab")


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
        scripts = str(Path(sys.executable).parent)
        line.register(f"Starter/{host}", "Starter", name, StartDsPath=scripts, LogFileHome=str(tmp_path))
        line.register("Simulator/one", "Simulator", "lab/det/1", ReceiverUrl="http://127.0.0.1:1", DataPort=0)
        line.register(
            "PenstockReceiver/lab", "PenstockReceiver", "lab/rec/1", ReceiverUrl="http://127.0.0.1:1"
        )
        with (tmp_path / "output").open("w") as output:
            process = subprocess.Popen([STARTER, host], stdout=output, stderr=subprocess.STDOUT)
        try:
            starter = line.device(name)
            until(lambda: _answers(starter), "Starter answers")
            for server in SERVERS:
                starter.command_inout("DevStart", server)

            def run() -> bool:
                return sorted(starter.command_inout("DevGetRunningServers", True)) == sorted(SERVERS)

            until(run, "Starter sees both run", deadline=30.0)
            assert line.device("lab/det/1").info().server_id == "Simulator/one"
            for server in SERVERS:
                starter.command_inout("DevStop", server)
            until(lambda: not _answers(line.device("lab/det/1")), "the server is stopped")
        finally:
            process.terminate()
            process.wait(10.0)


def _answers(device: tango.DeviceProxy) -> bool:
    try:
        return bool(device.ping() >= 0)
    except tango.DevFailed:
        return False
