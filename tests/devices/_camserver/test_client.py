"""The client of camserver against the simulated one: control, settings, exposures, kills, losses."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.devices._camserver import client as module
from penstock.devices._camserver import connection
from penstock.devices._camserver.client import Camserver
from penstock.devices._camserver.connection import NoControl
from penstock.devices._camserver.exposure import State
from penstock.streamer.camera.own_stream import BoxLost
from penstock.streamer.camera.unit import CameraError
from penstock.streamer.simulated.camserver import box
from penstock.streamer.simulated.camserver.faults import Faults
from penstock.streamer.simulated.camserver.language import answer
from penstock.streamer.simulated.camserver.server import SimulatedCamserver

DEADLINE = 20.0
LONG = 3600.0


@pytest.fixture
def simulated(tmp_path: Path) -> Iterator[SimulatedCamserver]:
    with SimulatedCamserver(tmp_path / "images", sensor=(16, 24)) as simulated:
        yield simulated


@pytest.fixture
def camserver(simulated: SimulatedCamserver) -> Iterator[Camserver]:
    client = Camserver("127.0.0.1", simulated.port)
    client.connect()
    yield client
    client.close()


def start(camserver: Camserver, images: int, exposure: float = LONG, name: str = "a_00000.cbf") -> None:
    camserver.set("NImages", images)
    camserver.set("ExpTime", exposure)
    camserver.set("ExpPeriod", exposure + 0.002)
    camserver.expose("Exposure", name)


def test_what_it_says_of_itself(camserver: Camserver, simulated: SimulatedCamserver) -> None:
    setup = camserver.setup()
    assert (setup.name, setup.state) == ("PILATUS3 300K", "idle")
    assert camserver.image_format() == (16, 24)
    assert (camserver.energy(), camserver.threshold()) == (12400.0, 6200.0)
    assert camserver.version().startswith("tvx-")
    assert camserver.channels()[0].temperature == 27.3
    assert camserver.channels()[2].temperature is None
    assert camserver.free_bytes() > 0


def test_who_comes_second_is_told_that_another_client_has_control(
    camserver: Camserver, simulated: SimulatedCamserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CONTROL_WITHIN", 0.2)
    second = Camserver("127.0.0.1", simulated.port)
    with pytest.raises(NoControl, match=r"another client has control of camserver at .*end it.*call Reset"):
        second.connect()
    camserver.close()
    second.connect()
    second.set("NImages", 2)
    second.close()


def test_control_is_waited_for_where_the_last_client_has_just_gone(simulated: SimulatedCamserver) -> None:
    first, second = (Camserver("127.0.0.1", simulated.port) for _ in range(2))
    first.connect()
    threading.Timer(0.3, first.close).start()
    second.connect()
    second.set("NImages", 2)
    second.close()


def test_an_energy_moves_the_threshold_and_a_threshold_leaves_the_energy(camserver: Camserver) -> None:
    camserver.trim(10000.0, None)
    assert (camserver.energy(), camserver.threshold()) == (10000.0, 5000.0)
    camserver.trim(None, 4000.0)
    assert (camserver.energy(), camserver.threshold()) == (10000.0, 4000.0)
    camserver.trim(12000.0, 5500.0)
    assert (camserver.energy(), camserver.threshold()) == (12000.0, 5500.0)


@pytest.mark.parametrize(
    ("version", "first"), [("tvx-7.4.3-140317", ["SetThreshold 0"]), ("tvx-7.4.4-1", [])]
)
def test_older_versions_take_a_new_threshold_only_after_0(
    camserver: Camserver, simulated: SimulatedCamserver, version: str, first: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(box, "VERSION", version)
    simulated.box.heard.clear()
    camserver.trim(10000.0, None)
    assert [line for line in simulated.box.heard if line.startswith("SetT")] == first
    assert camserver.threshold() == 5000.0


@pytest.mark.parametrize(
    ("command", "value", "words"),
    [
        ("NImages", 65536, "refuses NImages 65536: 15 ERR Illegal number of images"),
        ("ExpPeriod", 0.001, "15 ERR Illegal exposure period"),
        ("Nonsense", 1, r"does not know Nonsense \(\*\*\* Unrecognized command: Nonsense\)"),
    ],
)
def test_refusals_are_camservers_own_words(
    camserver: Camserver, command: str, value: float, words: str
) -> None:
    with pytest.raises(CameraError, match=words):
        camserver.set(command, value)


def test_a_threshold_out_of_range_is_refused(camserver: Camserver) -> None:
    with pytest.raises(CameraError, match=r"Requested threshold \(90000 eV\) is out of range"):
        camserver.trim(None, 90000.0)


def test_a_setting_that_an_older_version_lacks_is_left_out(camserver: Camserver) -> None:
    assert not camserver.set_if_known("SetSomethingNew", 1)
    assert camserver.set_if_known("SetAckInt", 0)


def test_an_exposure_ends_with_the_path_of_its_last_image(
    camserver: Camserver, simulated: SimulatedCamserver
) -> None:
    start(camserver, 3, 0.01)
    assert camserver.exposure.wait(DEADLINE)
    assert camserver.exposure.state is State.DONE
    assert camserver.exposure.words.endswith("images/a_00002.cbf")


@pytest.mark.parametrize("images", [1, 100])
@pytest.mark.parametrize("both", [False, True], ids=["7 OK", "7 ERR and 7 OK"])
def test_a_kill_is_one_end_whatever_is_answered(
    camserver: Camserver, simulated: SimulatedCamserver, images: int, both: bool
) -> None:
    simulated.faults = Faults(both_ends=both)
    start(camserver, images)
    camserver.kill()
    assert camserver.exposure.state is State.DONE
    for _ in range(3):  # and the next exposures are not ended by an answer that was left over
        start(camserver, 1, 0.05)
        assert camserver.exposure.under_way
        assert camserver.exposure.wait(DEADLINE)
        assert camserver.exposure.state is State.DONE


def test_of_two_answers_to_a_kill_the_first_is_not_taken_for_the_end(
    camserver: Camserver, simulated: SimulatedCamserver
) -> None:
    simulated.faults = Faults(both_ends=True, slow_kill=0.5)
    start(camserver, 100)
    camserver.kill()
    assert not simulated.box.exposing
    start(camserver, 1)
    assert camserver.exposure.under_way, "the second answer was that of the first exposure"


def test_a_kill_that_comes_after_the_end_leaves_the_next_exposure_alone(
    camserver: Camserver, simulated: SimulatedCamserver
) -> None:
    start(camserver, 1, 0.01)
    ended = camserver.exposure.number
    assert camserver.exposure.wait(DEADLINE)
    start(camserver, 1)
    camserver.kill(ended)
    assert camserver.exposure.under_way and simulated.box.exposing
    assert "K" not in simulated.box.heard


def test_a_kill_that_crosses_the_end_leaves_no_answer_for_what_comes_next(
    camserver: Camserver, simulated: SimulatedCamserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(camserver, 1, 0.01)
    kill = camserver.exposure.kill

    def late() -> bool:
        assert camserver.exposure.wait(DEADLINE)
        return kill()

    monkeypatch.setattr(camserver.exposure, "kill", late)
    camserver.kill(camserver.exposure.number)
    assert "K" not in simulated.box.heard
    assert camserver.set("NImages", 7).text == "N images set to: 7"


def test_the_late_end_of_another_exposure_does_not_end_this_one(
    camserver: Camserver, simulated: SimulatedCamserver
) -> None:
    start(camserver, 2, name="b_00000.cbf")
    assert simulated.box.controlling is not None
    for last, under_way in (("a_00001", True), ("b_00001", False)):
        simulated.box.controlling.send(answer(box.EXPOSURE, True, f"/ram/{last}.cbf"))
        camserver.setup()  # is answered after it
        assert camserver.exposure.under_way is under_way


def test_a_kill_that_is_not_taken_is_repeated(
    camserver: Camserver, simulated: SimulatedCamserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "KILLED_WITHIN", 0.2)
    simulated.faults = Faults(ignore_kills=2)
    start(camserver, 100)
    camserver.kill()
    assert not camserver.exposure.under_way
    assert simulated.faults.ignore_kills == 0


def test_an_exposure_that_no_kill_ends_is_said_with_what_to_do(
    camserver: Camserver, simulated: SimulatedCamserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "KILLED_WITHIN", 0.05)
    simulated.faults = Faults(ignore_kills=100)
    start(camserver, 100)
    with pytest.raises(CameraError, match="after 5 kills; type K or ResetCam at its window"):
        camserver.kill()


def test_a_disk_that_becomes_full_fails_the_exposure_with_camservers_words(
    camserver: Camserver, simulated: SimulatedCamserver
) -> None:
    simulated.faults = Faults(disk_full=True)
    start(camserver, 5, 0.01)
    assert camserver.exposure.wait(DEADLINE)
    assert camserver.exposure.state is State.FAILED
    assert "Cannot write a_00000.cbf: No space left on device" in camserver.exposure.words


def test_who_arms_while_somebody_else_exposes_is_told_and_does_not_wait(
    camserver: Camserver, simulated: SimulatedCamserver
) -> None:
    simulated.type_at_window("ExpTime 3600")
    simulated.type_at_window("Exposure theirs.cbf")
    with pytest.raises(CameraError, match=r"is exposing .*theirs.cbf: somebody has armed it at its window"):
        camserver.expose("Exposure", "ours.cbf")
    camserver.kill()
    assert camserver.setup().state == "idle"


def test_a_command_that_is_refused_starts_no_exposure(
    camserver: Camserver, simulated: SimulatedCamserver
) -> None:
    simulated.faults = Faults(refuse={"Exposure": "no high voltage"})
    with pytest.raises(CameraError, match="15 ERR no high voltage"):
        start(camserver, 1)
    assert not camserver.exposure.under_way


def test_an_exposure_that_is_refused_as_one_that_has_failed_is_a_refusal_at_once(
    camserver: Camserver, simulated: SimulatedCamserver
) -> None:
    with pytest.raises(CameraError, match=r"refuses Exposure a: 7 ERR \*\*\* No image file"):
        camserver.expose("Exposure", "a")
    assert camserver.exposure.state is State.NONE
    start(camserver, 1, 0.01)
    assert camserver.exposure.wait(DEADLINE)


def test_a_kill_overtakes_a_command_that_waits_for_its_answer(
    camserver: Camserver, simulated: SimulatedCamserver
) -> None:
    told = threading.Event()
    camserver._connected()._asking.acquire()
    thread = threading.Thread(target=lambda: (camserver._connected().tell("K"), told.set()))
    thread.start()
    assert told.wait(DEADLINE)
    camserver._connected()._asking.release()
    thread.join()


@pytest.mark.parametrize("exposing", [False, True])
def test_a_control_unit_that_is_switched_off_is_lost_and_found_again(
    camserver: Camserver, simulated: SimulatedCamserver, exposing: bool
) -> None:
    if exposing:
        start(camserver, 100)
    simulated.power(False)
    assert camserver.exposure.wait(DEADLINE), "nobody waits for its end any more"
    with pytest.raises(BoxLost, match=r"broke off .*then call Reset"):
        camserver.setup()
    with pytest.raises(BoxLost, match="cannot be reached"):
        camserver.connect()
    simulated.power(True)
    camserver.connect()
    assert camserver.setup().state == "idle"


def test_a_camserver_that_hangs_is_lost_after_its_time(
    camserver: Camserver, simulated: SimulatedCamserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulated.faults = Faults(hang=True)
    with pytest.raises(BoxLost, match="did not answer NImages 3 within 0.2 s"):
        camserver._connected().ask("NImages", 3, seconds=0.2)
    with pytest.raises(BoxLost, match="did not answer NImages 3"):
        camserver.setup()


def test_a_lost_network_is_found_while_nothing_is_asked(camserver: Camserver) -> None:
    connected = camserver._connected()._socket
    idle, interval, count = (
        connected.getsockopt(socket.IPPROTO_TCP, option)
        for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
    )
    assert connected.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    assert idle + interval * count <= 10
    assert connection.ANSWER < 10


def test_another_program_at_its_port_is_no_camserver() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = Camserver("127.0.0.1", server.getsockname()[1])

        def serve() -> None:
            accepted, _ = server.accept()
            with accepted:
                accepted.recv(100)
                accepted.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n\x18")

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(BoxLost, match="it is no camserver"):
            client.connect()
        client.close()
        thread.join(DEADLINE)


def test_before_it_connects_everything_is_lost() -> None:
    with pytest.raises(BoxLost, match="is not connected"):
        Camserver("192.0.2.1", 41234).setup()
