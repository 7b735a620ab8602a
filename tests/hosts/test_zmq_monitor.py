"""Reports of a ZeroMQ socket's monitor."""

from __future__ import annotations

import subprocess
import sys

import pytest
import zmq

from penstock.hosts import zmq_sockets

EVENTS = zmq.EVENT_LISTENING | zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED


def test_they_say_what_happened_where_and_on_which_connection() -> None:
    with zmq.Context() as context, context.socket(zmq.PULL) as pull, context.socket(zmq.PUSH) as push:
        monitor = pull.get_monitor_socket(EVENTS)
        push.set(zmq.LINGER, 0)

        pull.bind("tcp://127.0.0.1:*")
        endpoint = pull.get_string(zmq.LAST_ENDPOINT)
        push.connect(endpoint)
        listening, accepted = zmq_sockets.monitor_report(monitor), zmq_sockets.monitor_report(monitor)
        push.close()
        gone = zmq_sockets.monitor_report(monitor)
        pull.disable_monitor()
        monitor.close(0)

    assert [report.event for report in (listening, accepted, gone)] == [
        zmq.EVENT_LISTENING, zmq.EVENT_ACCEPTED, zmq.EVENT_DISCONNECTED,
    ]  # fmt: skip
    assert {report.endpoint for report in (listening, accepted, gone)} == {endpoint}
    assert accepted.value == gone.value > 2


@pytest.mark.parametrize(
    "module",
    [
        "receiver.process.data_process", "processing.distributor.distributor", "processing.worker.worker",
        "streamer.remote.process", "streamer.simulated.generator.generator",
    ],
)  # fmt: skip
def test_processes_on_the_way_of_frames_start_without_asyncio(module: str) -> None:
    program = f"import sys, penstock.{module}; print('asyncio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
