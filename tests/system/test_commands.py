"""The commands around Tango: their errors name the remedy, and they leave nothing running."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import tango

from penstock.hosts.child import PENSTOCK, Child
from tests.system.accounts import file_counts
from tests.system.beamline import ON, Beamline, until, wait_state


def penstock(
    *arguments: str, tango_host: str | None = None, timeout: float = 60.0
) -> subprocess.CompletedProcess[str]:
    environment = {} if tango_host is None else {"TANGO_HOST": tango_host}
    return subprocess.run(
        [*PENSTOCK, *arguments], env=os.environ | environment, capture_output=True, text=True,
        timeout=timeout, stdin=subprocess.DEVNULL,
    )  # fmt: skip


@contextlib.contextmanager
def closed_port() -> Iterator[int]:
    """A port that is taken by somebody who does not speak Tango."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def processes_with(text: str) -> list[str]:
    """Command lines that contain `text`, of all processes."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with contextlib.suppress(OSError):
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if text in command:
                    found.append(command)
    return found


def test_device_names_the_known_cameras() -> None:
    done = penstock("device", "Zebra", "sim")
    assert done.returncode == 2
    assert (
        'no camera "Zebra"' in done.stderr
        and "Simulator" in done.stderr
        and "PenstockReceiver" in done.stderr
    )


def test_device_without_a_database_names_tango_host_and_the_remedy() -> None:
    done = penstock("device", "Simulator", "sim")
    assert done.returncode == 2
    assert "TANGO_HOST is not set" in done.stderr and "penstock database" in done.stderr
    with closed_port() as port:
        server = socket.create_server(("127.0.0.1", 0))
        free = server.getsockname()[1]
        server.close()
        assert port != free
        done = penstock("device", "Simulator", "sim", tango_host=f"127.0.0.1:{free}")
    assert done.returncode == 2
    assert f"no Tango database answers at 127.0.0.1:{free} (from TANGO_HOST)" in done.stderr
    assert "penstock database" in done.stderr


@pytest.mark.slow
def test_device_that_is_not_registered_gets_the_command_that_does_it(beamline: Beamline) -> None:
    done = penstock("device", "simulator", "cli", tango_host=beamline.tango_host)
    assert done.returncode == 2
    _, _, command = done.stderr.partition("register one with: penstock ")
    # The port of its data is by default one that another program on this machine may have.
    done = penstock(*command.split(), "--property", "DataPort=0", tango_host=beamline.tango_host)
    assert done.returncode == 0, done.stderr
    assert "penstock device Simulator cli" in done.stdout
    start = [*PENSTOCK, "device", "Simulator", "cli"]
    with Child(
        "the server", start, lambda line: True if "Ready to accept" in line else None,
        environment={"TANGO_HOST": beamline.tango_host},
    ):  # fmt: skip
        detector = beamline.device("sim/det/1")
        wait_state(detector, ON)
        assert detector.info().server_id == "Simulator/cli"
        changed = ("device", "Simulator", "cli", "--register", "SIM/det/1", "--property", "LiveImageSize=64")
        done = penstock(*changed, tango_host=beamline.tango_host)
        assert (
            "Simulator/cli is running on " in done.stdout
            and "changed properties are read by the device's command Init" in done.stdout
        )
        database = tango.Database(*beamline.tango_host.split(":"))
        assert database.get_device_info("sim/det/1").exported  # clients still find it
        assert beamline.device("sim/det/1").State() == ON
        taken = ("device", "Simulator", "other", "--register", "sim/det/1")
        done = penstock(*taken, tango_host=beamline.tango_host)
        assert done.returncode == 2
        assert "is registered in Simulator/cli, class Simulator; nothing was changed" in done.stderr
        assert database.get_device_info("sim/det/1").exported
    done = penstock(*taken, "--move", tango_host=beamline.tango_host)
    assert done.returncode == 0, done.stderr
    assert database.get_device_info("sim/det/1").ds_full_name == "Simulator/other"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--register", "det"), "three parts"),
        pytest.param(
            ("--register", "a/b/c", "--property", "NoSuch=1"), "no property NoSuch", marks=pytest.mark.slow
        ),
        pytest.param(
            ("--register", "a/b/c", "--property", "ReceiverUrl"), "NAME=VALUE", marks=pytest.mark.slow
        ),
        pytest.param(("--register", "a/b/c", "--class", "Zebra"), "PenstockReceiver", marks=pytest.mark.slow),
        pytest.param(("--property", "ReceiverUrl=x"), "--register", marks=pytest.mark.slow),
        (("--register", "a/b/c", "--property", "DataPort=abc"), 'DataPort is "abc"; give a whole number'),
    ],
)
def test_device_refuses_a_wrong_registration(
    beamline: Beamline, arguments: tuple[str, ...], words: str
) -> None:
    done = penstock("device", "Simulator", "wrong", *arguments, tango_host=beamline.tango_host)
    assert done.returncode == 2
    assert words in done.stderr


def test_the_servers_own_commands_know_their_name(beamline: Beamline) -> None:
    """As Tango's Starter calls them: the program's name is the server's."""
    beamline.register(
        "PenstockReceiver/own", "PenstockReceiver", "own/receiver/1", ReceiverUrl="http://127.0.0.1:1"
    )
    said: list[str] = []
    with Child(
        "the server", ["PenstockReceiver", "own"], lambda line: True if "Ready to accept" in line else None,
        environment={"TANGO_HOST": beamline.tango_host}, relay=said.append,
    ):  # fmt: skip
        database = f"Tango database {beamline.tango_host} (from TANGO_HOST)"
        until(lambda: any(database in line for line in said), "which database it uses")
        device = beamline.device("own/receiver/1")
        wait_state(device, tango.DevState.UNKNOWN)
        until(lambda: "does not answer" in device.Status(), "sentence")
        again = penstock("device", "PenstockReceiver/own", tango_host=beamline.tango_host)
    assert again.returncode == 2
    assert "PenstockReceiver/own is already running on " in again.stderr
    assert "; stop it first, or register and start another instance" in again.stderr


def test_a_server_that_cannot_start_says_so_and_exits_with_a_status(beamline: Beamline) -> None:
    beamline.register("PenstockReceiver/no", "PenstockReceiver", "no/receiver/1")
    with closed_port() as port:
        endpoint = ("-ORBendPoint", f"giop:tcp:127.0.0.1:{port}")
        for name in (("PenstockReceiver", "no"), ("PenstockReceiver/no",)):
            done = penstock("device", *name, "--", *endpoint, tango_host=beamline.tango_host)
            assert done.returncode == 1
            assert "PenstockReceiver did not start" in done.stderr
            assert "Traceback" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_database_ends_cleanly_and_keeps_what_was_registered(tmp_path: Path, number: signal.Signals) -> None:
    folder = tmp_path / "deep" / "folder"
    command = [*PENSTOCK, "database", "--dir", str(folder), "--port", "0"]
    for round_ in (1, 2):
        with Child("database", command, lambda line: line if line.startswith("export") else None) as child:
            host = child.answer.removeprefix("export TANGO_HOST=")
            database = tango.Database(*host.split(":"))
            if round_ == 1:
                database.put_property("penstock", {"kept": "yes"})
            assert list(database.get_property("penstock", "kept")["kept"]) == ["yes"]
            os.kill(child.pid, number)
            assert child.wait(10.0) == 0
    assert not processes_with(str(folder))


def test_database_says_that_its_port_is_taken(tmp_path: Path) -> None:
    with closed_port() as port:
        done = penstock("database", "--dir", str(tmp_path), "--port", str(port))
    assert done.returncode == 2
    assert f"127.0.0.1:{port}: Address already in use; is a database there already?" in done.stderr


def test_database_says_that_its_folder_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("no folder")
    done = penstock("database", "--dir", str(tmp_path / "plain" / "x"), "--port", "0")
    assert done.returncode == 2
    assert str(tmp_path / "plain" / "x") in done.stderr


@pytest.mark.slow  # a demo with a window takes a series, too, and the next test sees that nothing is left
def test_demo_writes_a_file_each_time_and_leaves_nothing_running(tmp_path: Path) -> None:
    for number in (1, 2):
        done = penstock("demo", "--frames", "12", "--out", str(tmp_path), "--json")
        assert done.returncode == 0, done.stderr
        summary = json.loads(done.stdout.splitlines()[-1])
        file = tmp_path / f"demo-{number:04d}.h5"
        assert summary["file"] == str(file)
        assert summary["complete"] is True and summary["frames"] == 12
        assert summary["counts"] == file_counts(file, 12)
        assert sum(summary["counts"].values()) == 12
        for words in ("penstock check", "penstock view", "silx view", "h5py"):
            assert words in done.stderr
    assert not processes_with(str(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_demo_ends_everything_when_it_is_interrupted(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    command = [*PENSTOCK, "demo", "--frames", "100000", "--out", str(tmp_path)]
    with Child("demo", command, lambda line: True if "series of" in line else None, deadline=40.0) as child:
        os.kill(child.pid, number)
        assert child.wait(20.0) == status
    until(lambda: not processes_with(str(tmp_path)), "everything ended")


def test_demo_says_that_its_folder_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("no folder")
    done = penstock("demo", "--out", str(tmp_path / "plain"))
    assert done.returncode == 2
    assert str(tmp_path / "plain") in done.stderr and "--out" in done.stderr
