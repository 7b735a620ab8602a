"""A machine where Tango is configured already: commands say which database they use, and who named it."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
from pathlib import Path

import pytest

from penstock.hosts.child import PENSTOCK, Child, free_port
from penstock.hosts.tango_host import TangoHost, tango_host
from tests.system.beamline import Beamline

pytestmark = pytest.mark.slow

HOME = Path(pwd.getpwuid(os.geteuid()).pw_dir)
"""Where Tango looks for `.tangorc`, whatever HOME says."""


class Machine:
    """Runs commands where these files lie in /etc and in the home: in a mount namespace of their own."""

    def __init__(self, folder: Path, etc: str = "", home: str = "") -> None:
        mounts = []
        for place, name, text in (("/etc", "tangorc", etc), (str(HOME), ".tangorc", home)):
            if text:
                layer = folder / name.removeprefix(".") / place.strip("/")
                layer.mkdir(parents=True)
                (layer / name).write_text(text)
                mounts.append(f"mount -t overlay overlay -o lowerdir={layer}:{place} {place}")
        self._argv = ["unshare", "--mount", "sh", "-ec", " && ".join([*mounts, 'exec "$@"']), "sh"]
        if os.geteuid():
            self._argv[1:1] = ["--map-root-user"]
        self.environment = {name: value for name, value in os.environ.items() if name != "TANGO_HOST"}
        if self.run("true").returncode:
            pytest.skip("this machine allows no mounts in a namespace")

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self._argv, *command], env=self.environment | environment, capture_output=True, text=True,
            timeout=60, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def penstock(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return self.run(*PENSTOCK, *arguments, **environment)


def test_the_database_of_a_machine_is_named_with_the_file_that_says_so(tmp_path: Path) -> None:
    port = free_port()
    machine = Machine(tmp_path, etc=f"# of the facility\nexport TANGO_HOST=127.0.0.1:{port}\n")
    done = machine.penstock("device", "Simulator", "sim")
    assert done.returncode == 2
    assert f"no Tango database answers at 127.0.0.1:{port} (from /etc/tangorc)" in done.stderr
    done = machine.penstock("device", "Simulator", "sim", TANGO_HOST="127.0.0.1:1")
    assert "no Tango database answers at 127.0.0.1:1 (from TANGO_HOST)" in done.stderr


def test_the_file_in_the_home_comes_first(tmp_path: Path) -> None:
    port = free_port()
    machine = Machine(tmp_path, etc="TANGO_HOST=127.0.0.1:1\n", home=f"TANGO_HOST=127.0.0.1:{port}\n")
    done = machine.penstock("device", "Simulator", "sim")
    assert f"no Tango database answers at 127.0.0.1:{port} (from {HOME}/.tangorc)" in done.stderr


def test_nothing_of_the_machine_reaches_a_test(tmp_path: Path) -> None:
    """As conftest.py sets it: an empty TANGO_HOST is no database, and keeps Tango from its files."""
    assert tango_host() is None
    machine = Machine(tmp_path, etc="TANGO_HOST=127.0.0.1:1\n")
    done = machine.penstock("device", "Simulator", "sim", TANGO_HOST=os.environ["TANGO_HOST"])
    assert f"TANGO_HOST is not set, nor is it in {HOME}/.tangorc or /etc/tangorc" in done.stderr


@pytest.mark.slow
def test_the_demo_leaves_the_machines_database_alone(tmp_path: Path) -> None:
    machine = Machine(tmp_path, etc="TANGO_HOST=127.0.0.1:1\n")
    done = machine.penstock("demo", "--frames", "5", "--out", str(tmp_path / "demo"), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["complete"] is True
    assert "Tango database 127.0.0.1:" in done.stderr and "(embedded)" in done.stderr


def test_the_environment_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANGO_HOST", "a:1,b:2")
    assert tango_host() == TangoHost("a:1,b:2", "TANGO_HOST")


def test_registering_says_in_which_database(beamline: Beamline) -> None:
    arguments = ("device", "Simulator", "named", "--register", "named/det/1")
    done = subprocess.run(
        [*PENSTOCK, *arguments], env={**os.environ, "TANGO_HOST": beamline.tango_host}, capture_output=True,
        text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0
    assert f"Tango database {beamline.tango_host} (from TANGO_HOST)" in done.stderr


def test_the_embedded_database_says_what_else_is_configured(tmp_path: Path) -> None:
    said: list[str] = []
    command = [*PENSTOCK, "database", "--dir", str(tmp_path), "--port", "0"]
    with Child(
        "database", command, lambda line: line if line.startswith("export") else None,
        environment={"TANGO_HOST": "tango.facility:10000"}, relay=said.append,
    ) as child:  # fmt: skip
        address = child.answer.removeprefix("export TANGO_HOST=")
    words = f"Tango database {address} (embedded, {tmp_path}/tango_database.db); without the next line "
    assert f"{words}commands use tango.facility:10000 (from TANGO_HOST)" in said
