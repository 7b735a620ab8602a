"""A camera whose file or SDK cannot be imported is a sentence, never a traceback."""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.devices._server import registry
from penstock.streamer.camera.loading import CameraFileError, load_camera_file, load_sdk
from penstock.streamer.camera.unit import CameraError
from tests.streamer.rig import DEADLINE

CAMERA = """
from penstock.stins.messages import IndexSource
from penstock.streamer.camera.contract import Camera
from penstock.streamer.camera.loading import load_sdk
from penstock.streamer.camera.settings import TriggerMode

class Yak(Camera):
    trigger_modes = (TriggerMode.INTERNAL,)
    index_source = IndexSource.ARRIVAL
    def __init__(self, properties):
        load_sdk("yak_sdk", "install Yak 2")
    limits = readout_time = prepare = acquire = None
"""


def streamer(folder: Path, camera: str) -> subprocess.CompletedProcess[str]:
    ports = ["--data", "tcp://127.0.0.1:0", "--control", "tcp://127.0.0.1:0"]
    return subprocess.run(
        [sys.executable, "-m", "penstock.streamer.remote.process", camera, *ports],
        env=os.environ | {"PYTHONPATH": str(folder)}, capture_output=True, text=True, timeout=DEADLINE,
        check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("file", "status", "words"),
    [
        (
            "import yak_sdk\n",
            2,
            "yak cannot be imported on {host}: ModuleNotFoundError: No module named",
        ),
        ("import =\n", 2, "yak cannot be imported on {host}: SyntaxError"),
        ("1 / 0\n", 2, "yak cannot be imported on {host}: ZeroDivisionError"),
        (
            CAMERA,
            1,
            "yak:Yak: the SDK's module yak_sdk cannot be imported on {host} (No module named 'yak_sdk'); "
            "install Yak 2",
        ),
    ],
)
def test_a_streamer_without_the_file_or_the_sdk_ends_with_a_sentence(
    tmp_path: Path, file: str, status: int, words: str
) -> None:
    (tmp_path / "yak.py").write_text(file)
    ended = streamer(tmp_path, "yak:Yak")
    assert words.format(host=socket.gethostname()) in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.returncode == status


def test_an_sdk_that_raises_anything_when_a_unit_is_opened_leaves_a_sentence_last(tmp_path: Path) -> None:
    (tmp_path / "yak.py").write_text(CAMERA)
    (tmp_path / "yak_sdk.py").write_text("raise ValueError('no licence')\n")
    ended = streamer(tmp_path, "yak:Yak")
    last = ended.stderr.splitlines()[-1]
    assert "yak:Yak cannot be opened: ValueError: no licence; the lines above say where" in last
    assert ended.returncode == 1


def test_a_shared_library_that_is_missing_is_said_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "emu_sdk.py").write_text("import ctypes\nctypes.CDLL('libemu-0.so')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(CameraError, match=r"emu_sdk cannot be imported .*libemu-0\.so.*; install Emu 3"):
        load_sdk("emu_sdk", "install Emu 3")


def test_a_camera_that_is_not_there_differs_from_one_that_cannot_be_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gnu.py").write_text("import gnu_sdk\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError):
        load_camera_file("absent_gnu.too")
    with pytest.raises(CameraFileError, match="gnu cannot be imported"):
        load_camera_file("gnu")


def test_a_tango_server_without_the_file_ends_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from penstock import devices
    from penstock.cli import device
    from penstock.devices._server import server
    from penstock.stins.errors import UserError

    (tmp_path / "yak.py").write_text("import yak_sdk\n")
    monkeypatch.setattr(devices, "__path__", [*devices.__path__, str(tmp_path)])
    monkeypatch.setattr(sys, "argv", ["Yak", "1"])
    assert server.main() == 2
    assert "penstock.devices.yak cannot be imported on" in capsys.readouterr().err
    assert "yak" in registry.camera_names()
    with pytest.raises(UserError, match=r"penstock\.devices\.yak cannot be imported on .*SDK"):
        device.run(argparse.Namespace(server="Yak", instance="1", options=[]))
