"""A program that runs beside the data process: its start, the socket to it, what becomes of it, its end."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys

END_SECONDS = 5.0
"""For a process to end by itself once its socket is closed."""
LOOK_SECONDS = 0.5
"""Who waits for a word of the process looks so often what has become of it."""


class ChildProcess:
    """One process, started at once.

    Args:
        program: module that is run.
        descriptors: that it gets, besides its end of the socket; their numbers are its arguments.
    """

    def __init__(self, program: str, *descriptors: int) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            given = (theirs.fileno(), *descriptors)
            self._process = subprocess.Popen(
                [sys.executable, "-m", program, *map(str, given)],
                pass_fds=given, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        # Not `settimeout`, which would cost a call of poll at each of receive and send.
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _timeval(LOOK_SECONDS))
        self.channel = ours
        """Where it is heard: a receive that waits raises BlockingIOError after `LOOK_SECONDS`."""

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    @property
    def is_stopped(self) -> bool:
        """Whether somebody has stopped it (SIGSTOP, SIGTSTP) and not let it go on since."""
        try:
            return os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return False

    def fate(self) -> str:
        """How it has ended, after "the process …"; waits for that."""
        code = self._process.wait()
        if code < 0:
            return f"was killed by {signal.Signals(-code).name} ({code})"
        return f"has ended with {code}"

    def kill(self) -> None:
        """End it at once; a stopped one too."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Close the socket, upon which it ends; at once where it cannot notice that."""
        self.channel.close()
        if self.is_stopped:
            self.kill()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()


def _timeval(seconds: float) -> bytes:
    """As the kernel has it (socket(7)): whole seconds, and microseconds."""
    whole, rest = divmod(seconds, 1)
    return struct.pack("ll", int(whole), int(rest * 1e6))
