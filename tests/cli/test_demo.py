"""`penstock demo` as a user meets it; the tutorial's test runs it without a viewer."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from glob import glob
from pathlib import Path

import h5py
import psutil
import pytest

from penstock.beamline.demonstration import Demonstration
from penstock.beamline.stage import MODELS
from penstock.cli.demo import DETECTORS
from penstock.cli.main import main
from penstock.devices._sls import virtual
from penstock.devices._sls.connection import memory_name
from penstock.hosts.child import PENSTOCK
from tests.system.beamline import until
from tests.third_party import program_of


@pytest.mark.slow
def test_a_viewer_without_a_screen_is_told_before_any_frame_is_taken(tmp_path: Path) -> None:
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    }

    ended = subprocess.run(
        [*PENSTOCK, "demo", "--view", "--out", str(tmp_path)],
        env=environment, capture_output=True, text=True, timeout=90,
    )  # fmt: skip

    assert ended.returncode == 2
    assert "there is no screen here" in ended.stderr
    assert not list(tmp_path.glob("*.h5"))


@pytest.mark.parametrize("window", ["--view", "--panel"])
def test_a_window_without_its_package_is_refused_before_anything_is_started(
    window: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "silx", None)
    monkeypatch.setattr(Demonstration, "__enter__", lambda demonstration: pytest.fail("it was started"))

    assert main(["demo", window, "--out", str(tmp_path)]) == 2

    said = capsys.readouterr().err
    assert said.startswith(
        "penstock demo: the Python package silx is not installed; install the extra with: pip"
    )


@pytest.mark.parametrize(
    ("options", "name", "command"),
    [
        (["--view"], "viewer", "view"),
        pytest.param(["--panel"], "panel", "panel", marks=pytest.mark.slow),
        pytest.param(["--panel", "--detector", "pilatus"], "panel", "panel", marks=pytest.mark.slow),
        pytest.param(["--panel", "--detector", "jungfrau"], "panel", "panel", marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_the_window_is_open_while_the_series_is_taken_and_closing_it_ends_the_demo(
    options: list[str], name: str, command: str, tmp_path: Path
) -> None:
    if "jungfrau" in options:
        program_of("slsdet", "slsReceiver")
    argv = [*PENSTOCK, "demo", *options, "--frames", "20", "--out", str(tmp_path), "--json"]
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    with subprocess.Popen(
        argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as demo:
        try:
            assert demo.stderr is not None and demo.stdout is not None
            until_it_says(demo.stderr, f"Close the {name} to end", deadline=90)
            family = psutil.Process(demo.pid).children(recursive=True)
            windows = [process for process in family if command in process.cmdline()]
            assert len(windows) == 1

            windows[0].send_signal(signal.SIGINT)

            assert demo.wait(30) == 0
            summary = json.loads(demo.stdout.read())
            assert summary["counts"]["stored"] == 20
            _, alive = psutil.wait_procs(family, timeout=5)
            assert not alive
        finally:
            demo.terminate()


@pytest.mark.slow
@pytest.mark.parametrize("stream", [None, "v2"])
def test_an_eiger_over_its_simulated_control_unit(stream: str | None, tmp_path: Path) -> None:
    options = ["--detector", "eiger", *(["--stream", stream] if stream else [])]
    argv = [*PENSTOCK, "demo", *options, "--frames", "20", "--out", str(tmp_path), "--json"]

    ended = subprocess.run(argv, capture_output=True, text=True, timeout=90)

    assert ended.returncode == 0, ended.stderr
    summary = json.loads(ended.stdout)
    with h5py.File(summary["file"]) as written:
        assert written["entry/data/data"].shape == (20, 512, 1024)
        assert "EIGER2" in written["entry/instrument/eiger/description"].asstr()[()]
    assert "the detector was just switched on" in ended.stderr
    assert f"penstock demo {' '.join(options)} --panel" in ended.stderr, "the next step keeps the detector"


@pytest.mark.slow
def test_a_pilatus_over_its_simulated_camserver_and_a_light_streamer(tmp_path: Path) -> None:
    ended, left = demonstrated("pilatus", tmp_path, ("--folder", 1), str)

    assert ended.returncode == 0, ended.stderr
    file = json.loads(ended.stdout)["file"]
    checked = subprocess.run([*PENSTOCK, "check", file], capture_output=True, text=True, timeout=60)
    assert checked.stdout.startswith(f"{file}: clean"), checked.stdout
    with h5py.File(file) as written:
        assert written["entry/data/data"].shape == (20, 619, 487)
        assert "PILATUS3" in written["entry/instrument/pilatus/description"].asstr()[()]
    assert not left, "the RAM disk is tidy"


@pytest.mark.slow
def test_a_jungfrau_over_the_virtual_one_of_psi(tmp_path: Path) -> None:
    program_of("slsdet", "slsReceiver")

    def memory(port: str) -> str:
        return f"{virtual.SHARED}/slsDetectorPackage_*_{memory_name([('127.0.0.1', int(port))])}"

    ended, left = demonstrated("jungfrau", tmp_path, (virtual.__name__, 4), memory)

    assert ended.returncode == 0, ended.stderr
    file = json.loads(ended.stdout)["file"]
    checked = subprocess.run([*PENSTOCK, "check", file], capture_output=True, text=True, timeout=60)
    assert checked.stdout.startswith(f"{file}: clean"), checked.stdout
    with h5py.File(file) as written:
        assert written["entry/data/data"].shape == (20, 512, 1024)
        assert "JUNGFRAU" in written["entry/instrument/jungfrau/description"].asstr()[()]
    assert not left, "slsdet's memory is tidy"


def demonstrated(
    detector: str, out: Path, argument: tuple[str, int], made: Callable[[str], str]
) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Run a demonstration; how it has ended, and what is left of what it has made outside its folder.

    Args:
        detector: that is shown.
        out: folder of its file.
        argument: a word in the command line of one of its processes, and how far behind it another one stands
            that no other demonstration has.
        made: returns, of the latter, the glob pattern of what there is while it runs.
    """
    word, place = argument

    def pattern() -> str:
        with contextlib.suppress(psutil.NoSuchProcess):
            for child in psutil.Process(demo.pid).children(recursive=True):
                if word in (words := child.cmdline()):
                    return made(words[words.index(word) + place])
        return ""

    argv = [*PENSTOCK, "demo", "--detector", detector, "--frames", "20", "--out", str(out), "--json"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as demo:
        try:
            until(lambda: demo.poll() is not None or pattern(), "its processes", 60.0)
            own = pattern()
            until(lambda: demo.poll() is not None or glob(own), "what it makes", 60.0)
            seen = glob(own)
            said, errors = demo.communicate(timeout=60)
        finally:
            demo.terminate()
    assert seen, f"it has made nothing: {errors}"
    return subprocess.CompletedProcess(argv, demo.returncode, said, errors), glob(own)


def test_what_a_jungfrau_needs_and_is_not_built_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(virtual, "BUILT", tmp_path / "judges")

    assert main(["demo", "--detector", "jungfrau", "--out", str(tmp_path / "files")]) == 2

    assert "run make judges first" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--stream", "v2"], "--stream v2 is for --detector eiger"),
        (
            ["--detector", "zebra"],
            "invalid choice: 'zebra' (choose from 'simulator', 'eiger', 'pilatus', 'genicam'",
        ),
    ],
)
def test_a_detector_or_stream_that_is_not_there_is_refused(
    options: list[str], said: str, tmp_path: Path
) -> None:
    ended = subprocess.run(
        [*PENSTOCK, "demo", *options, "--out", str(tmp_path)], capture_output=True, text=True, timeout=90
    )

    assert ended.returncode == 2
    assert said in ended.stderr
    assert not list(tmp_path.iterdir())


def test_every_simulated_detector_can_be_chosen() -> None:
    assert tuple(model.lower() for model in MODELS) == DETECTORS


def until_it_says(stream: object, text: str, deadline: float) -> None:
    limit = time.monotonic() + deadline
    for line in stream:  # type: ignore[attr-defined]
        if text in line:
            return
        assert time.monotonic() < limit, f"{text!r} was not said within {deadline} s"
    raise AssertionError(f"the process ended without saying {text!r}")


def test_where_the_memory_does_not_fit_the_demo_runs_without_live_processing_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    demonstration = Demonstration(tmp_path, said.append)
    (entry,) = demonstration._forward()
    assert entry["shared"] is True and entry["queue_mb"] == 32
    assert said == []
    with monkeypatch.context() as patch:
        space = os.statvfs_result((4096, 4096, 16384, 5000, 5000, 0, 0, 0, 0, 255))
        patch.setattr(os, "statvfs", lambda path: space)
        assert demonstration._forward() == []
    assert said == ["no live processing: /dev/shm has 20 MB free, 32 are needed"]
