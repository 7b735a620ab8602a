"""An address at which no receiver can ever be is refused at once, by every command that asks one."""

from __future__ import annotations

import pytest

from penstock.cli._address import receiver_url
from penstock.cli.main import UserError, main

COMMANDS = ("view", "status", "stop", "reset")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("ftp://127.0.0.1:5000", "a receiver is asked over HTTP, such as http://127.0.0.1:5000"),
        ("http://127.0.0.1:99999", "ports are numbers from 1 to 65535; give an address, such as http://"),
        ("http://", "there is no host in it; give an address, such as http://"),
    ],
)
def test_it_ends_with_2_and_what_is_wrong_with_it(
    command: str, address: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, address]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f'penstock {command}: "{address}": {words}')


def test_a_password_is_refused_and_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", "http://me:secret@127.0.0.1:5000"]) == 2
    said = capsys.readouterr().err
    assert '"http://127.0.0.1:5000": a receiver asks for no user and no password' in said
    assert "secret" not in said


@pytest.mark.parametrize(
    "address",
    ["tcp://127.0.0.1:9999", "://127.0.0.1", "http:///status", "http://:5000", ":5000", "http://a b:5000",
     "http://[::1", "http://a..b", "http://h:0", "http://h:-1", "http://h:http", "h:65536", "http://h:5000x"],
)  # fmt: skip
def test_no_other_that_cannot_be_is_asked(address: str) -> None:
    with pytest.raises(UserError, match="such as http://127.0.0.1:5000"):
        receiver_url(address, None)


@pytest.mark.parametrize(
    "address",
    ["http://h", "https://h:65535", "HTTP://h:1", "http://[::1]:5000", "http://h:5000/behind/a/proxy/",
     "http://messgerät:5000"],
)  # fmt: skip
def test_what_may_be_one_is_taken_as_it_is(address: str) -> None:
    assert receiver_url(address, None) == address
