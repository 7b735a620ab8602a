"""Waits that a signal ends: also where the signal does not interrupt the system call."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import pytest

from penstock.streamer.slices import SLICE, call, sleep_until, slices

DEADLINE = 60
# The signal is handed to another thread: then the call of the main thread is not interrupted, as by a signal
# that arrives just before the call.
PROGRAM = """
import signal, sys, threading, time
from penstock.cli.replay import send, wait_for_peers
from penstock.streamer.camera.push_socket import PushSocket
from penstock.streamer.slices import call, sleep_until

threading.Thread(target=threading.Event().wait, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
push = PushSocket("tcp://127.0.0.1:0")
try:
    print("waits", flush=True)
    %s
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize(
    "wait",
    [
        "wait_for_peers(push, 1, 3600)",
        "send(push, [b'frame'], 3600)",
        "sleep_until(time.monotonic() + 3600)",
        "call(threading.Event().wait)",
    ],
)
def test_ctrl_c_ends_a_wait_that_it_does_not_interrupt(wait: str) -> None:
    program = [sys.executable, "-c", PROGRAM % wait]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "waits\n"
            process.send_signal(signal.SIGINT)
            said, _ = process.communicate(timeout=DEADLINE)
            assert said == "interrupted\n"
        finally:
            process.kill()


def test_a_wait_is_cut_into_slices() -> None:
    assert list(slices(0.0)) == [0.0]
    assert list(slices(-1.0)) == [0.0]
    parts = []
    for part in slices(3 * SLICE):
        parts.append(part)
        time.sleep(part)
    assert max(parts) <= SLICE
    assert len(parts) > 2


def test_a_wait_ends_once_it_shall() -> None:
    sleep_until(time.monotonic() + 3600, stopping=lambda: True)
    call(threading.Event().wait, stopping=lambda: True)
