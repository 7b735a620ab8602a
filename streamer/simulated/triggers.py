"""Hardware triggers over UDP: the source of edges, and the trigger input of a simulated detector.

Each edge is one datagram with the source's own counter and clock, as a detector with a trigger counter sees
it:
a missed edge leaves a gap in the numbers.

From the command line: `python -m penstock.streamer.simulated.triggers 127.0.0.1:41000 -n 10 --period 0.1`
"""

from __future__ import annotations

import argparse
import select
import socket
import struct
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from threading import Lock, Thread

import msgspec

from penstock.streamer.slices import SLICE

EDGE = struct.Struct("!4sQdd")
MAGIC = b"PSTE"
TOLERANCE = 1e-6
"""Tolerance in seconds, so that no edge at the minimum distance is lost to rounding."""
MOST_WAITING = 100_000
"""Most edges that wait for a busy detector."""
INPUT_BYTES = 4 * 2**20
"""Receive buffer of the socket: about 8000 edges, given the kernel's overhead per datagram."""


class Edge(msgspec.Struct, frozen=True):
    """A rising edge at the detector's trigger input."""

    counter: int
    """Number of the edge, from 0 in each train."""
    moment: float
    """Time of the source's clock, in seconds with an arbitrary origin."""
    gate: float
    """Seconds for which the signal stays high."""


class TriggerSource:
    """A source of edges for one or several simulated detectors; it counts from 0 until `reset`."""

    def __init__(self, *addresses: tuple[str, int], clock: Callable[[], float] = time.monotonic) -> None:
        """`addresses`: (host, TriggerPort) of each detector on the line."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._addresses = addresses
        self._clock = clock
        self.counter = 0

    def pulse(self, gate: float = 0.0, *, moment: float | None = None) -> None:
        """Send one edge, `gate` seconds high, at `moment` of the source's clock (default: now)."""
        edge = EDGE.pack(MAGIC, self.counter, self._clock() if moment is None else moment, gate)
        for address in self._addresses:
            self._socket.sendto(edge, address)
        self.counter += 1

    def miss(self, edges: int = 1) -> None:
        """Count edges that reach no detector, as by a glitch on the cable."""
        self.counter += edges

    def train(self, edges: int, period: float, gate: float = 0.0, missed: Iterable[int] = ()) -> None:
        """Send `edges` edges with a period in seconds; those whose number is in `missed` are not sent."""
        start, lost = self._clock(), frozenset(missed)
        for number in range(edges):
            while (left := start + number * period - self._clock()) > 0:
                time.sleep(min(SLICE, left))
            if self.counter in lost:
                self.miss()
            else:
                self.pulse(gate)

    def reset(self) -> None:
        """Count from 0 again, for the next series."""
        self.counter = 0

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class TriggerInput:
    """The trigger input of a simulated detector: a UDP port, and a thread that calls back for each edge.

    It corresponds to an SDK with callbacks.
    """

    def __init__(self, host: str, port: int) -> None:
        """Listen on `port`, 0 for any free one.

        Raises:
            OSError: the port is in use.
        """
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, INPUT_BYTES)
        try:
            self._socket.bind((host, port))
        except OSError:
            self._socket.close()
            raise
        self._socket.setblocking(False)
        self.address: tuple[str, int] = self._socket.getsockname()[:2]
        self._lock = Lock()
        self._edges: deque[Edge] = deque()
        self._on_edge: Callable[[], None] = lambda: None
        self._closing, self._close = socket.socketpair()
        self._thread = Thread(target=self._listen, name="trigger input", daemon=True)
        self._thread.start()

    def arm(self, on_edge: Callable[[], None]) -> None:
        """Discard edges that arrived while the detector was not armed; call `on_edge` for later ones."""
        with self._lock:
            self._receive()
            self._edges.clear()
            self._on_edge = on_edge

    @property
    def pending(self) -> bool:
        """True if there is an edge to `take`."""
        return bool(self._edges)

    def take(self) -> Edge:
        """Return the next edge."""
        return self._edges.popleft()

    def close(self) -> None:
        """Close the port; there are no further callbacks."""
        self._close.close()
        self._thread.join()
        self._closing.close()
        self._socket.close()

    def _listen(self) -> None:
        while self._closing not in select.select([self._socket, self._closing], [], [])[0]:
            with self._lock:
                self._receive()
                on_edge = self._on_edge
            on_edge()

    def _receive(self) -> None:
        """Receive edges; beyond `MOST_WAITING` they are missed, which their numbers show."""
        with suppress(BlockingIOError):
            while True:
                datagram = self._socket.recv(EDGE.size + 1)
                sound = len(datagram) == EDGE.size and datagram.startswith(MAGIC)
                if sound and len(self._edges) < MOST_WAITING:
                    self._edges.append(Edge(*EDGE.unpack(datagram)[1:]))


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the command-line source."""
    parser = argparse.ArgumentParser(description="Make hardware triggers for simulated detectors.")
    parser.add_argument("address", nargs="+", metavar="HOST:PORT", help="trigger input of a detector")
    parser.add_argument("-n", "--edges", type=int, default=1)
    parser.add_argument("--period", type=float, default=0.1, metavar="SECONDS")
    parser.add_argument(
        "--gate", type=float, default=0.0, metavar="SECONDS", help="time high (EXTERNAL_MULTI_GATE)"
    )
    parser.add_argument("--missed", type=int, nargs="*", default=(), help="edges that reach no detector")
    args = parser.parse_args(argv)
    pairs = (address.rpartition(":") for address in args.address)
    source = TriggerSource(*((host, int(port)) for host, _, port in pairs))
    source.train(args.edges, args.period, args.gate, args.missed)
    source.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
