"""`penstock camserver` as a process."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from penstock.hosts.child import PENSTOCK


def test_its_ready_line_says_where_it_is_and_a_signal_ends_it(tmp_path: Path) -> None:
    command = [*PENSTOCK, "camserver", "--folder", str(tmp_path / "ram"), "--sensor", "32x48", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as camserver:  # fmt: skip
        try:
            assert camserver.stdout is not None
            ready = json.loads(camserver.stdout.readline())
            assert set(ready) == {"camserver", "folder", "triggers", "window", "pid"}
            assert ready["pid"] == camserver.pid
            host, _, port = ready["camserver"].rpartition(":")
            with socket.create_connection((host, int(port)), 10.0) as client:
                client.sendall(b"ImgPath\0")
                assert client.recv(1000) == f"10 OK {ready['folder']}/\x18".encode()
            second = subprocess.run(
                [*PENSTOCK, "camserver", "--folder", str(tmp_path), "--tcp", ready["camserver"]],
                capture_output=True, text=True, timeout=30,
            )  # fmt: skip
            assert second.returncode == 2
            assert "in use" in second.stderr and "--tcp" in second.stderr
            camserver.send_signal(signal.SIGTERM)
            assert camserver.wait(10) == 0
        finally:
            camserver.kill()


@pytest.mark.parametrize(
    ("option", "value"),
    [("--tcp", "41234"), ("--tcp", "127.0.0.1:99999"), ("--sensor", "0x48"), ("--sensor", "48x10001")],
)
def test_a_wrong_address_or_size_is_refused_in_a_sentence(option: str, value: str, tmp_path: Path) -> None:
    refused = subprocess.run(
        [*PENSTOCK, "camserver", "--folder", str(tmp_path), option, value],
        capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    assert refused.returncode == 2 and f'"{value}"; give' in refused.stderr
