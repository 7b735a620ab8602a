"""What `penstock view` says where no window can be opened, and how it finds its receiver."""

from __future__ import annotations

import argparse
import socket
from pathlib import Path
from typing import Any

import pytest

from penstock.cli import view
from penstock.cli._arguments.targets import receiver_url
from penstock.cli.main import main
from penstock.gui.display import why_no_display
from penstock.gui.live.plot.look import COLOUR_MAPS
from penstock.stins.errors import UserError

SIM = "receivers:\n  sim-1: {source: {type: stins, endpoints: ['tcp://127.0.0.1:9999']}, data_root: /tmp"


def test_without_a_screen_it_says_how_to_get_one() -> None:
    sentence = why_no_display({})

    assert sentence is not None
    assert "neither DISPLAY nor WAYLAND_DISPLAY" in sentence
    assert "ssh -X" in sentence
    assert "QT_QPA_PLATFORM=offscreen" in sentence


def test_a_screen_that_does_not_answer_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    sentence = why_no_display({"DISPLAY": f"127.0.0.1:{port - 6000}.0"})

    assert sentence is not None
    assert f"DISPLAY=127.0.0.1:{port - 6000}.0 does not answer" in sentence


def test_a_screen_that_answers_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert why_no_display({"DISPLAY": f"127.0.0.1:{server.getsockname()[1] - 6000}"}) is None


@pytest.mark.parametrize("environment", [{"QT_QPA_PLATFORM": "offscreen"}, {"WAYLAND_DISPLAY": "wayland-0"}])
def test_who_has_chosen_a_platform_is_not_asked(environment: dict[str, str]) -> None:
    assert why_no_display(environment) is None


def test_the_command_ends_with_that_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)

    assert main(["view"]) == 2
    assert capsys.readouterr().err.startswith("penstock view: there is no screen here")


@pytest.mark.parametrize("display", ["", ":99"])
def test_the_graphics_card_needs_a_screen_that_can_do_opengl(
    qtbot: Any, display: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    monkeypatch.setenv("DISPLAY", display)

    assert main(["view", "--backend", "gl"]) == 2
    assert "the backend gl cannot draw here" in capsys.readouterr().err


def test_the_command_offers_the_colour_maps_of_the_window() -> None:
    parser = argparse.ArgumentParser()
    view.add_arguments(parser)

    for name in COLOUR_MAPS:
        assert parser.parse_args(["--colours", name]).colours == name


@pytest.mark.parametrize(
    ("given", "url"),
    [("http://detector-7:5000", "http://detector-7:5000"), ("detector-7:5000", "http://detector-7:5000")],
)
def test_a_receiver_is_found_by_its_address(given: str, url: str) -> None:
    assert receiver_url(given, None) == url


@pytest.mark.parametrize(
    ("http", "url"),
    [("127.0.0.1:5003", "http://127.0.0.1:5003"), ("0.0.0.0:5003", "http://127.0.0.1:5003")],
)
def test_a_receiver_is_found_by_its_name_in_the_configuration(tmp_path: Path, http: str, url: str) -> None:
    config = tmp_path / "receivers.yaml"
    config.write_text(f"{SIM}, http: '{http}'}}\n")

    assert receiver_url("sim-1", config) == url


def test_an_unknown_name_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    config = tmp_path / "receivers.yaml"
    config.write_text(SIM + "}\n")

    with pytest.raises(UserError, match="it has: sim-1; or give the receiver's address"):
        receiver_url("sim-2", config)


@pytest.mark.parametrize("option", [["--rate", "0"], ["--downsample", "0"], ["--after-frames", "-1"]])
def test_an_option_out_of_range_is_refused(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", *option]) == 2
    assert option[0] in capsys.readouterr().err
