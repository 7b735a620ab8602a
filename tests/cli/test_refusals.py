"""What the command line says to arguments that it cannot take, and while it waits."""

from __future__ import annotations

import pytest

from penstock.cli import generate
from penstock.cli.main import main


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What stands on standard error after a refusal."""
    assert main(arguments) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--frames", "abc"], 'argument --frames: "abc"; give a whole number from 1 on'),
        (["--seed", "-1"], "argument --seed: -1 is below 0"),
        (["--delay-seconds", "x"], 'argument --delay-seconds: "x"; give seconds from 0 to 3600'),
        (["--endpoint", "127.0.0.1:9999"], '"127.0.0.1:9999"; give tcp://HOST:PORT, such as tcp://'),
        (["--endpoint", "tcp://127.0.0.1:65536"], "has the port 65536; ports end at 65535"),
        (["--endpoint", "tcp://127.0.0.1:65535", "--streams", "2"], "2 streams need the ports after it too"),
    ],
)
def test_generate_refuses_in_its_users_words(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said(capsys, "generate", *arguments)
    assert words in text
    assert "_positive" not in text


def test_generate_asks_about_the_endpoint_when_nobody_comes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generate, "HINT_SECONDS", 0.1)
    text = said(capsys, "generate", "--endpoint", "tcp://127.0.0.1:0", "--wait", "0.5")
    assert text.count("still nobody after 0.1 s; does a receiver that runs have tcp://127.0.0.1:") == 1


def test_device_needs_no_options_for_tango(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "device", "Simulator")
    assert "required: INSTANCE" in text
    assert "OPTIONS" not in text.partition("required:")[2]
