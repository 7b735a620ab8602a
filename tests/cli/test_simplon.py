"""`penstock simplon` as a process."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.request
from pathlib import Path

import pytest

from penstock.cli._recordings import recording
from penstock.hosts.child import PENSTOCK


def test_its_ready_line_says_where_it_is_and_a_signal_ends_it() -> None:
    command = [*PENSTOCK, "simplon", "--json", "--sensor", "32x48", "--stream", "v2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as box:
        try:
            assert box.stdout is not None
            ready = json.loads(box.stdout.readline())
            assert (
                set(ready) == {"http", "stream", "triggers", "simulator", "pid"} and ready["pid"] == box.pid
            )
            api = f"{ready['http']}/detector/api/1.8.0"
            initialize = urllib.request.Request(f"{api}/command/initialize", method="PUT")
            urllib.request.urlopen(initialize, timeout=10).close()
            for url, value in {
                f"{api}/config/x_pixels_in_detector": 48,
                f"{ready['http']}/stream/api/1.8.0/config/mode": "enabled",
                f"{ready['http']}/stream/api/1.8.0/config/format": "cbor",
            }.items():
                with urllib.request.urlopen(url, timeout=10) as answer:
                    assert json.load(answer)["value"] == value
            second = subprocess.run(
                [*PENSTOCK, "simplon", "--http", ready["http"].removeprefix("http://")],
                capture_output=True, text=True, timeout=30,
            )  # fmt: skip
            assert second.returncode == 2
            assert "in use" in second.stderr and "--http" in second.stderr
            box.send_signal(signal.SIGTERM)
            assert box.wait(10) == 0
        finally:
            box.kill()


@pytest.mark.parametrize(
    ("option", "value"),
    [("--http", "8081"), ("--http", "127.0.0.1:99999"), ("--sensor", "0x48"), ("--sensor", "48x10001")],
)
def test_a_wrong_address_or_size_is_refused_in_a_sentence(option: str, value: str) -> None:
    refused = subprocess.run(
        [*PENSTOCK, "simplon", option, value], capture_output=True, text=True, timeout=30
    )
    assert refused.returncode == 2 and f'"{value}"; give' in refused.stderr


def test_a_stream_that_the_version_lacks_is_refused_in_a_sentence() -> None:
    command = [*PENSTOCK, "simplon", "--api", "1.6.0", "--stream", "v2"]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert refused.returncode == 2 and "--stream v2 needs --api 1.8.0" in refused.stderr


def test_what_is_no_recording_of_a_dectris_stream_is_refused_in_a_sentence(tmp_path: Path) -> None:
    other = tmp_path / "stins.cborseq"
    recording.write(other, [[b'{"htype": "header"}']])
    for file, sentence in {
        other: "not a recording of a DECTRIS stream",
        tmp_path / "none": "not exist",
    }.items():
        refused = subprocess.run(
            [*PENSTOCK, "simplon", "--recording", str(file)], capture_output=True, text=True, timeout=30
        )
        assert refused.returncode == 2 and sentence in refused.stderr
