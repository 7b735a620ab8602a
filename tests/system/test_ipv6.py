"""Everything over IPv6: addresses are written with brackets, taken and printed."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import zmq

from penstock.cli._arguments.targets import receiver_url
from penstock.cli.main import main
from penstock.receiver.client import ReceiverClient
from penstock.streamer.remote.client import StreamerClient
from tests.receiver.processes import DEADLINE
from tests.recordings.programs import Program, program


def _has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


pytestmark = pytest.mark.skipif(not _has_ipv6(), reason="this host has no IPv6")


@pytest.fixture
def programs() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def receiver(stack: ExitStack, folder: Path, source: str, **keys: Any) -> tuple[Program, str]:
    """A receiver that listens on [::1], and the address that it says."""
    data = folder / "data"
    data.mkdir(parents=True)
    config = folder / "receivers.yaml"
    entry = {"source": {"endpoints": [source]}, "data_root": str(data), "http": "[::1]:0", **keys}
    config.write_text(json.dumps({"receivers": {"six": entry}}))
    running = stack.enter_context(program("receiver", "six", "--config", str(config), "--json"))
    return running, running.line()["http"]


@pytest.mark.slow
def test_generator_receiver_client_and_consumer_meet_on_the_loopback_address(
    programs: ExitStack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "first" / "data" / "x.h5"
    generator = programs.enter_context(
        program("generate", "--endpoint", "tcp://[::1]:0", "--frames", "20", "--shape", "4,6", "--json",
                "--filename", str(file), "--wait", "60")
    )  # fmt: skip
    endpoint = generator.line()["data"]
    assert endpoint.startswith("tcp://[::1]:")
    consumer = {"name": "copy", "endpoint": "tcp://[::1]:*"}
    with zmq.Context() as context, context.socket(zmq.PULL) as pull:
        pull.set(zmq.IPV6, 1)
        pull.set(zmq.LINGER, 0)
        _, url = receiver(programs, tmp_path / "first", endpoint, forward=[consumer])
        assert url.startswith("http://[::1]:")
        client = ReceiverClient(url, timeout=5.0)
        status = client.status()
        pull.connect(status.consumers[0].endpoint)
        assert generator.process.wait(DEADLINE) == 0
        while status.series is None or status.series.active:
            status = client.status(seen=status.version, wait=5.0)
        assert (status.counts.stored, status.series.filename) == (20, str(file))
        assert status.connections[0].endpoint == endpoint
    assert main(["status", url]) == 0
    assert "complete: all 20 frames are there" in capsys.readouterr().out


def test_a_streamer_is_reached_at_its_data_and_control_addresses(programs: ExitStack) -> None:
    argv = ["python", "-m", "penstock.streamer.remote.process", "Simulator", "--data", "tcp://[::1]:0",
            "--control", "tcp://[::1]:0"]  # fmt: skip
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as streamer, zmq.Context() as context:
        try:
            assert streamer.stdout is not None
            ready = json.loads(streamer.stdout.readline())
            client = StreamerClient(ready["control"], timeout=DEADLINE)
            with context.socket(zmq.PULL) as pull:
                pull.set(zmq.IPV6, 1)
                pull.set(zmq.LINGER, 0)
                pull.connect(ready["data"])
                status = client.status()
                while status.peers != 1:
                    status = client.status()
                assert status.peer_addresses[0].startswith("[::1]:")
            client.shutdown()
            assert streamer.wait(DEADLINE) == 0
            client.close()
        finally:
            streamer.kill()


def test_an_ipv6_address_without_brackets_is_refused_with_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["generate", "--endpoint", "tcp://::1:9999"]) == 2
    assert "an IPv6 address has brackets, such as tcp://[::1]:9999" in capsys.readouterr().err
    config = tmp_path / "receivers.yaml"
    entry = {"source": {"endpoints": ["tcp://127.0.0.1:9"]}, "data_root": str(tmp_path), "http": "::1:5000"}
    config.write_text(json.dumps({"receivers": {"six": entry}}))
    assert main(["receiver", "six", "--config", str(config)]) == 2
    assert "an IPv6 address has brackets, such as [::1]:5000" in capsys.readouterr().err
    entry |= {"http": "[::1]:5000", "source": {"endpoints": ["tcp://::1:9999"]}}
    config.write_text(json.dumps({"receivers": {"six": entry}}))
    assert main(["receiver", "six", "--config", str(config)]) == 2
    assert "brackets around an IPv6 address" in capsys.readouterr().err


def test_a_receiver_that_listens_everywhere_is_asked_on_this_host(tmp_path: Path) -> None:
    config = tmp_path / "receivers.yaml"
    entry = {"source": {"endpoints": ["tcp://[::1]:9"]}, "data_root": str(tmp_path), "http": "[::]:5000"}
    config.write_text(json.dumps({"receivers": {"six": entry}}))
    assert receiver_url("six", config) == "http://[::1]:5000"
