"""The simulated camserver, as its clients see it: raw sockets, files read by fabio."""

from __future__ import annotations

import re
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import fabio
import pytest

from penstock.streamer.simulated.camserver.faults import Faults
from penstock.streamer.simulated.camserver.images import Images, Kind, gaps
from penstock.streamer.simulated.camserver.language import Commands, parse
from penstock.streamer.simulated.camserver.server import SimulatedCamserver
from penstock.streamer.simulated.patterns import frame_number
from penstock.streamer.simulated.triggers import TriggerSource

SENSOR = (16, 24)
DEADLINE = 20.0
NAMES = ("Exposure", "ExpTime", "ExpPeriod", "NImages", "K")


class Client:
    """A client that speaks as it is told."""

    def __init__(self, port: int, end: bytes = b"\0") -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), DEADLINE)
        self._end, self._rest = end, b""

    def ask(self, command: str) -> str:
        """A command; its answer, with the 0x18 cut off."""
        self.tell(command)
        return self.hear()

    def tell(self, command: str) -> None:
        self._socket.sendall(command.encode() + self._end)

    def hear(self) -> str:
        while b"\x18" not in self._rest:
            data = self._socket.recv(4096)
            assert data, "the connection was closed"
            self._rest += data
        answer, _, self._rest = self._rest.partition(b"\x18")
        return answer.decode()

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def simulated(tmp_path: Path) -> Iterator[SimulatedCamserver]:
    with SimulatedCamserver(tmp_path / "ram", sensor=SENSOR) as simulated:
        yield simulated


@pytest.fixture
def client(simulated: SimulatedCamserver) -> Iterator[Client]:
    client = Client(simulated.port)
    yield client
    client.close()


def files(simulated: SimulatedCamserver) -> list[Path]:
    return sorted(simulated.box.settings.folder.glob("*.cbf"))


def source(simulated: SimulatedCamserver) -> TriggerSource:
    host, _, port = simulated.trigger_address.rpartition(":")
    return TriggerSource((host, int(port)))


# Its language


@pytest.mark.parametrize("end", [b"\0", b"\n", b"\r\n", b"\x18"], ids=repr)
def test_any_control_character_ends_a_command(simulated: SimulatedCamserver, end: bytes) -> None:
    client = Client(simulated.port, end)
    assert client.ask("nimages 7") == "15 OK N images set to: 7"
    assert client.ask("NImages") == "15 OK N images set to: 7"
    client.close()


def test_commands_may_arrive_in_pieces_and_together() -> None:
    commands = Commands()
    assert commands.feed(b"nim") == []
    assert commands.feed(b"ages 3\0exptime 1\0k") == ["nimages 3", "exptime 1"]
    assert commands.feed(b"\n") == ["k"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ni 5", ("NImages", "5")), ("expt=0.5", ("ExpTime", "0.5")), ("EXPP 1", ("ExpPeriod", "1")),
        ("exposure a.cbf", ("Exposure", "a.cbf")), ("k", ("K", "")),
    ],
)  # fmt: skip
def test_names_may_be_short_and_of_any_case(line: str, expected: tuple[str, str]) -> None:
    assert parse(line, NAMES) == expected


@pytest.mark.parametrize("line", ["exp 1", "zebra", "?", ""])
def test_what_is_no_command_is_said(line: str) -> None:
    with pytest.raises(KeyError):
        parse(line, NAMES)


def test_answers_are_those_of_the_manual(client: Client, simulated: SimulatedCamserver) -> None:
    folder = simulated.box.settings.folder
    for command, answer in {
        "NImages 10": r"15 OK N images set to: 10",
        "ExpTime 0.997": r"15 OK Exposure time set to: 0\.9970000 sec\.",
        "ExpPeriod 1.2": r"15 OK Exposure period set to: 1\.2000000 sec",
        "ImgPath": rf"10 OK {folder}/",
        "ImgPath sub/folder": rf"10 OK {folder}/sub/folder/",
        "SetEnergy 12000": r"15 OK /tmp/setthreshold\.cmd",
        "SetEnergy": r"15 OK Energy setting: 12000 eV\n Settings: mid gain; threshold: 6000 eV; vcmp: .*",
        "SetThreshold midg 6300": r"15 OK /tmp/setthreshold\.cmd",
        "SetThreshold": r"15 OK Settings: mid gain; threshold: 6300 eV; vcmp: 0\.654 V\n Trim file:\n .*",
        "NImages": r"15 OK N images set to: 1",  # a new threshold has reset it
        "Tau": r"15 OK Rate correction is off, cutoff = 1048574 counts",
        "Tau 1.24e-07": r"15 OK Set up rate correction: tau = 1\.24e-07 s",
        "tau": r"15 OK Rate correction is on; tau = 1\.24e-07 s, cutoff = 1221026 counts",
        "Tau 0": r"15 OK Turn off rate correction",
        "Tau long": r"15 ERR Illegal tau: long",
        "THread": r"215 OK Channel 0: Temperature = 27\.3C, Rel\. Humidity = 12\.5%;\nChannel 1: .*-99.*",
        "Version": r"24 OK Code release:  tvx-.*",
        "Df": r"5 OK \d+",
        "ShowPID": r"16 OK PID = \d+",
        "threshold": r"1 ERR \*\*\* Unrecognized command: threshold",
        "ExpTime 0": r"15 ERR Illegal exposure time.*",
        "SetThreshold low 5000": r"15 ERR ERROR: unknown gain setting: low 5000",
    }.items():
        found = client.ask(command)
        assert re.fullmatch(answer, found, re.DOTALL), (command, found)


def test_what_maxivs_client_asks_is_answered_as_it_expects(
    client: Client, simulated: SimulatedCamserver
) -> None:
    """The commands and patterns of maxiv-science/pilatus-streamer, `pilatus/Pilatus.py`."""
    for command, pattern in {
        f"imgpath {simulated.box.settings.folder}": "10 OK",
        "nimages 3": "15 OK",
        "exptime 0.010000": "15 OK",
        "expperiod 0.020000": "15 OK",
        "setenergy 10000.000000": "15 OK",
        "nimages": r"15 OK N images set to: (\d+)",
        "imgpath": "10 OK (.*)$",
        "exptime": "15 OK Exposure time set to: (.*) sec.$",
        "expperiod": "15 OK Exposure period set to: (.*) sec$",
        "setenergy": "15 OK Energy setting: (.*) eV",
        "exposure test.cbf": "15 OK(?!.*ERR)",
    }.items():
        assert re.match(pattern, client.ask(command)), command
    assert client.hear().startswith("7 OK")
    client.ask("exptime 3600")
    client.ask("exposure kill.cbf")
    client.tell("camcmd k")
    assert "OK" in client.hear() + client.hear()


def test_the_first_connection_has_control_until_it_is_closed(
    client: Client, simulated: SimulatedCamserver
) -> None:
    client.ask("NImages 3")
    second = Client(simulated.port)
    assert second.ask("NImages") == "15 OK N images set to: 3"
    for command in ("NImages 4", "Exposure a.cbf", "K"):
        assert second.ask(command) == "1 ERR access denied"
    assert second.ask("thread 0").startswith("215 OK")
    client.close()
    second.close()
    for _ in range(1000):  # until it has noticed
        third = Client(simulated.port)
        answer = third.ask("NImages 5")
        third.close()
        if answer != "1 ERR access denied":
            break
    assert answer == "15 OK N images set to: 5"


def test_whoever_types_at_its_window_has_control_at_all_times(
    client: Client, simulated: SimulatedCamserver
) -> None:
    window = Client(simulated.window_port, b"\n")
    assert window.ask("NImages 9") == "15 OK N images set to: 9"
    assert client.ask("NImages") == "15 OK N images set to: 9"
    window.close()


# Exposures


def test_every_image_is_a_cbf_with_its_number_at_its_place(
    client: Client, simulated: SimulatedCamserver
) -> None:
    for command in ("NImages 100", "ExpTime 0.001", "ExpPeriod 0.002"):
        client.ask(command)
    assert client.ask("Exposure penstock-a_000000.cbf").startswith(
        "15 OK  Starting 0.0010000 second background: "
    )
    assert client.hear() == f"7 OK {simulated.box.settings.folder}/penstock-a_000099.cbf"
    assert [path.name for path in files(simulated)] == [f"penstock-a_{n:06d}.cbf" for n in range(100)]
    for number, path in enumerate(files(simulated)):
        image = fabio.open(str(path))
        assert image.data.shape == SENSOR and image.data.dtype == "int32"
        assert frame_number(image.data) == number


@pytest.mark.parametrize(
    ("name", "images", "names"),
    [
        ("a.cbf", 2, ["a_00000.cbf", "a_00001.cbf"]),
        ("a_0007.cbf", 2, ["a_0007.cbf", "a_0008.cbf"]),
        ("a_12.cbf", 2, ["a_12_00000.cbf", "a_12_00001.cbf"]),
        ("a_00007.cbf", 1, ["a_00007.cbf"]),
        ("a.cbf", 1, ["a.cbf"]),
    ],
)
def test_names_of_files_are_camservers(
    client: Client, simulated: SimulatedCamserver, name: str, images: int, names: list[str]
) -> None:
    for command in (f"NImages {images}", "ExpTime 0.001", "ExpPeriod 0.002", f"Exposure {name}"):
        client.ask(command)
    client.hear()
    assert [path.name for path in files(simulated)] == names


def test_a_kill_ends_it_at_once_and_the_next_one_is_whole(
    client: Client, simulated: SimulatedCamserver
) -> None:
    for command in ("NImages 100", "ExpTime 3600", "ExpPeriod 3601", "Exposure a_000.cbf", "K"):
        answer = client.ask(command)
    assert answer == "13 ERR kill"
    assert client.hear().startswith("7 OK ")
    for command in ("NImages 2", "ExpTime 0.001", "ExpPeriod 0.002", "Exposure b_000.cbf"):
        client.ask(command)
    assert client.hear().endswith("b_001.cbf")
    assert len(files(simulated)) == 2


def test_each_so_manieth_image_is_acknowledged_where_asked_for(client: Client) -> None:
    for command in ("NImages 4", "ExpTime 0.001", "ExpPeriod 0.002", "SetAckInt 2", "Exposure a_000.cbf"):
        client.ask(command)
    assert [client.hear().rpartition("/")[2] for _ in range(2)] == ["a_001.cbf", "a_003.cbf"]


@pytest.mark.parametrize(
    ("command", "edges"), [("ExtTrigger", 1), ("ExtMTrigger", 3), ("ExtEnable", 3)]
)  # fmt: skip
def test_edges_at_the_trigger_input_start_what_the_manual_says(
    client: Client, simulated: SimulatedCamserver, command: str, edges: int
) -> None:
    for line in ("NImages 3", "ExpTime 0.01", "ExpPeriod 0.02", f"{command} a_000.cbf"):
        assert client.ask(line).startswith("15 OK")
    assert client.ask("CamSetup").partition("Camera state: ")[2].startswith("exposing")
    line = source(simulated)
    for edge in range(edges):
        assert files(simulated) == [] or edge
        line.pulse(0.005, moment=float(edge))
    line.close()
    assert client.hear().endswith("a_002.cbf")
    assert len(files(simulated)) == 3


def test_gates_are_added_up_where_asked_for(client: Client, simulated: SimulatedCamserver) -> None:
    for line in ("NImages 2", "NExpFrame 3", "ExtEnable a_000.cbf"):
        client.ask(line)
    line = source(simulated)
    for edge in range(6):
        line.pulse(0.001, moment=float(edge))
    line.close()
    assert client.hear().endswith("a_001.cbf")


def test_an_edge_within_an_exposure_is_missed(client: Client, simulated: SimulatedCamserver) -> None:
    for line in ("NImages 2", "ExpTime 0.5", "ExtMTrigger a_000.cbf"):
        client.ask(line)
    line = source(simulated)
    for moment in (0.0, 0.4, 1.0):
        line.pulse(0.0, moment=moment)
    line.close()
    assert client.hear().endswith("a_001.cbf")


def test_a_header_string_holds_for_one_exposure(client: Client, simulated: SimulatedCamserver) -> None:
    client.ask("ExpTime 0.001")
    client.ask('HeaderString "sample 5"')
    for name in ("a.cbf", "b.cbf"):
        client.ask(f"Exposure {name}")
        client.hear()
    first, second = (path.read_bytes() for path in files(simulated))
    assert b"# sample 5" in first and b"sample 5" not in second


def test_the_header_of_an_image_says_how_it_was_counted(
    client: Client, simulated: SimulatedCamserver
) -> None:
    """As fabio reads it, and in the words of real ones."""
    for line in ("ExpTime 0.001", "ExpPeriod 0.0025", "Tau 1.24e-07", "SetThreshold energy 12000 6300"):
        client.ask(line)
    client.ask("Exposure a.cbf")
    client.hear()
    (path,) = files(simulated)
    found = fabio.open(str(path)).pilatus_headers
    for name, value in {
        "Exposure_time": 0.001, "Exposure_period": 0.0025, "Tau": 1.24e-07, "Count_cutoff": 1221026,
        "Threshold_setting": 6300, "N_excluded_pixels": 0, "Trim_file": "simulated_T6300.bin",
        "sensor": ("Silicon", 0.00045),
    }.items():  # fmt: skip
        assert found[name] == value, name
    assert b"\r\n# Ratecorr_lut_directory: (nil)\r\n# Retrigger_mode: 1\r\n;" in path.read_bytes()


# Pixels and the disk


def test_an_image_folder_that_is_removed_is_said_and_the_connection_stays(
    client: Client, simulated: SimulatedCamserver
) -> None:
    folder = simulated.box.settings.folder / "sub"
    for line in (f"ImgPath {folder}", "ExpTime 0.001", "Exposure a.cbf"):
        client.ask(line)
    client.hear()
    shutil.rmtree(folder)
    assert client.ask("Df") == f"5 ERR *** {folder}/: No such file or directory"
    assert client.ask("Exposure a.cbf").startswith("15 OK")
    assert client.hear() == "7 ERR *** Cannot write a.cbf: No such file or directory"
    assert client.ask(f"ImgPath {folder}") == f"10 OK {folder}/"
    assert client.ask("Df").startswith("5 OK ")
    client.ask("Exposure a.cbf")
    assert client.hear() == f"7 OK {folder}/a.cbf"
    assert len(files(simulated)) == 1


def test_gaps_between_modules_are_filled_as_asked_for(tmp_path: Path) -> None:
    shape = (407, 487)
    images = Images("powder", shape)
    images.prepare(Kind(tmp_path, -1))
    images.write(tmp_path / "a.cbf", 0)
    data = fabio.open(str(tmp_path / "a.cbf")).data
    assert (data[195:212] == -1).all() and (data[:195] >= 0).all() and (data[212:] >= 0).all()
    assert gaps(shape).sum() == 17 * 487
    images.forget()
    assert [path.name for path in tmp_path.iterdir()] == ["a.cbf"]


def test_a_file_that_is_there_is_overwritten_and_appears_again(tmp_path: Path) -> None:
    images = Images("powder", SENSOR)
    images.prepare(Kind(tmp_path, 0))
    target = tmp_path / "a.cbf"
    images.write(target, 0)
    before = target.stat().st_ino
    pool = images._pool.shape[0]
    images.write(target, pool)  # the same image, of which it is a link already
    assert target.stat().st_ino == before
    assert not list((tmp_path / ".camserver").glob("*.link"))


def test_the_space_of_the_ram_disk_is_counted_as_if_links_were_files(tmp_path: Path) -> None:
    with SimulatedCamserver(tmp_path / "ram", sensor=SENSOR, capacity=30_000) as simulated:
        client = Client(simulated.port)
        free = int(client.ask("Df").split()[2])
        assert free == 30_000 // 1024
        for command in ("NImages 50", "ExpTime 0.001", "ExpPeriod 0.002", "Exposure a_000.cbf"):
            client.ask(command)
        answer = client.hear()
        assert answer.startswith("7 ERR *** Cannot write a_0") and answer.endswith("No space left on device")
        assert 0 < len(files(simulated)) < 50
        assert int(client.ask("Df").split()[2]) < free
        client.close()


def test_a_file_can_be_lost(client: Client, simulated: SimulatedCamserver) -> None:
    simulated.faults = Faults(lost_files=(1,))
    for command in ("NImages 3", "ExpTime 0.001", "ExpPeriod 0.002", "Exposure a_000.cbf"):
        client.ask(command)
    client.hear()
    assert [path.name for path in files(simulated)] == ["a_000.cbf", "a_002.cbf"]


# Its window


def test_faults_power_and_edges_are_asked_for_at_its_window(simulated: SimulatedCamserver) -> None:
    with socket.create_connection(("127.0.0.1", simulated.window_port), DEADLINE) as window:
        lines = window.makefile("rw", newline="\n")
        for asked, said in {
            'faults {"disk_full": true}': '"disk_full":true',
            'faults {"zebra": 1}': "*** faults: Object contains unknown field `zebra`",
            "edge 0.1": "not taken",
            "power sideways": "*** power: 'sideways'",
            "power off": "power off",
            "power on": "power on",
        }.items():
            lines.write(f"{asked}\n")
            lines.flush()
            assert said in lines.readline()
    assert simulated.faults.disk_full


def test_without_power_nobody_is_connected_and_settings_are_lost(
    client: Client, simulated: SimulatedCamserver
) -> None:
    client.ask("NImages 7")
    simulated.power(False)
    with pytest.raises(OSError):
        Client(simulated.port)
    simulated.power(True)
    again = Client(simulated.port)
    assert again.ask("NImages") == "15 OK N images set to: 1"
    again.close()
