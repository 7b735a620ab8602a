"""The words for a client: from what omniORB and Tango say of it."""

from __future__ import annotations

import socket
import threading
import time

import pytest
import tango

from penstock.devices._detector import clients
from penstock.devices._detector.clients import Clients


class Device:
    """Answers as a device that executes a command of this client."""

    def __init__(self, **said: object) -> None:
        self._said = said

    def get_client_ident(self) -> object:
        return type("ClientAddr", (), self._said)()


@pytest.mark.parametrize(
    ("endpoint", "address"),
    [
        ("giop:tcp:10.0.0.5:40112", "10.0.0.5"),
        ("giop:tcp:[fe80::1]:40112", "fe80::1"),
        ("giop:ssl:10.0.0.5:40112", "10.0.0.5"),
        ("giop:unix:/tmp/omni-root/000000042", ""),
        ("", ""),
    ],
)
def test_the_address_is_found_in_the_name_of_the_connection(endpoint: str, address: str) -> None:
    assert clients.address_in(endpoint) == address


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            {"client_lang": tango.LockerLanguage.CPP_6, "client_pid": 4321},
            "Python or C++ client, PID 4321 on {}",
        ),
        (
            {"client_lang": tango.LockerLanguage.JAVA_6, "java_main_class": "fr.esrf.Jive, PID=77"},
            "Java client, PID 77 on {}",
        ),
        ({"client_lang": tango.LockerLanguage.JAVA, "java_main_class": "fr.esrf.Jive"}, "Java client on {}"),
        ({"client_ident": False}, "Tango client on {}"),
    ],
)
def test_a_client_is_named_by_language_process_and_host(said: dict[str, object], words: str) -> None:
    with tango.EnsureOmniThread():
        caller = Clients().caller(
            Device(**{"client_ident": True, "client_ip": "giop:tcp:127.0.0.1:9"} | said)
        )  # type: ignore[arg-type]
    assert caller == words.format(socket.gethostname())


def test_nobody_is_named_where_no_client_calls() -> None:
    """Asked in a thread that is none of omniORB's, Tango would crash the process."""
    said: list[str] = []
    thread = threading.Thread(target=lambda: said.append(Clients().caller(Device())))  # type: ignore[arg-type]
    thread.start()
    thread.join(10.0)
    assert said == [""]


def test_a_name_server_that_does_not_answer_costs_one_command_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:

    answers = threading.Event()

    def slow(address: str) -> str:
        assert answers.wait(10.0)
        return "daq-1.lab"

    monkeypatch.setattr(socket, "getfqdn", slow)
    device = Device(
        client_ident=True,
        client_ip="giop:tcp:10.0.0.5:9",
        client_lang=tango.LockerLanguage.CPP_6,
        client_pid=7,
    )
    known = Clients()
    with tango.EnsureOmniThread():
        begun = time.monotonic()
        assert known.caller(device) == "Python or C++ client, PID 7 on 10.0.0.5"  # type: ignore[arg-type]
        assert known.caller(device) == "Python or C++ client, PID 7 on 10.0.0.5"  # type: ignore[arg-type]
        assert time.monotonic() - begun < 2.0
        answers.set()
        for thread in threading.enumerate():
            if thread.name == "host name":
                thread.join(10.0)
        assert known.caller(device) == "Python or C++ client, PID 7 on daq-1.lab"  # type: ignore[arg-type]
