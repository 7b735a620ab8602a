"""The cameras of docs/how-to/add-a-camera.md on a host that has not their SDK."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.hosts.child import PENSTOCK, Child, free_port, ready_line
from penstock.streamer.remote.process import ReadyLine
from tests.pages import steps
from tests.system.beamline import FAULT, ON, Beamline, until, wait_state

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/how-to/add-a-camera.md"
FOLDERS = ("cli", "codecs", "receiver", "resources", "stins", "streamer")


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Lets processes that are started from now on have the page's cameras, with their SDKs or without."""
    shutil.copytree(ROOT / "devices", tmp_path / "devices", ignore=shutil.ignore_patterns("__pycache__"))
    for step in steps(PAGE.read_text()):
        if step.kind == "file" and step.name.startswith(("devices/", "tests/vendor/")):
            (tmp_path / step.name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / step.name).write_text(step.text)
    links = tmp_path / "links" / "penstock"
    links.mkdir(parents=True)
    (links / "devices").symlink_to(tmp_path / "devices")
    for folder in FOLDERS:
        (links / folder).symlink_to(ROOT / folder)

    def choose(sdk: bool) -> None:
        monkeypatch.setenv("PYTHONPATH", f"{tmp_path}/links" + (f":{tmp_path}/tests/vendor" if sdk else ""))

    return choose


def test_the_tango_host_of_a_remote_streamer_needs_no_sdk(
    beamline: Beamline, host: Callable[[bool], None]
) -> None:
    port = free_port()
    receiver = beamline.receiver("heron", port)
    host(True)
    data = ("--data", f"tcp://127.0.0.1:{port}", "--control", "tcp://127.0.0.1:0")
    with Child("streamer", [*PENSTOCK, "streamer", "Heron", *data], ready_line(ReadyLine)) as streamer:
        host(False)
        beamline.register(
            "Heron/remote", "Heron", "heron/det/1", ReceiverUrl=receiver.url,
            StreamerControl=streamer.answer.control,
        )  # fmt: skip
        beamline.serve("Heron/remote")
        detector = beamline.device("heron/det/1")
        wait_state(detector, ON)
        detector.TriggerMode, detector.nTriggers = "SOFTWARE", 2
        detector.DestinationFilename = str(receiver.root / "heron.h5")
        detector.Arm()
        for taken in range(2):
            until(lambda: detector.ReadyForSwTrigger, "ready for a trigger")
            detector.SoftwareTrigger()
            until(lambda taken=taken: detector.nFramesAcquired == taken + 1, "a frame")
        wait_state(detector, ON)
        assert detector.nFramesWritten == 2
        assert detector.SensorTemperature == -10.0
        beamline.end("Heron/remote")


def test_a_camera_whose_sdk_is_missing_is_in_fault_and_says_what_to_install(
    beamline: Beamline, host: Callable[[bool], None]
) -> None:
    host(False)
    beamline.register("Heron/bare", "Heron", "heron/det/2", ReceiverUrl="http://127.0.0.1:1", DataPort=0)
    beamline.serve("Heron/bare")
    detector = beamline.device("heron/det/2")
    wait_state(detector, FAULT)
    assert (
        f"Heron: the SDK's module heron_sdk cannot be imported on {socket.gethostname()} "
        "(No module named 'heron_sdk'); install the Acme SDK 4.0 with its Python package"
    ) in detector.Status()
    beamline.end("Heron/bare")
