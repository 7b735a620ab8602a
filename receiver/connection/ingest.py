"""The PULL or SUB sockets of a receiver, and their connections."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence, Set

import zmq

from penstock.hosts.zmq_sockets import keep_alive
from penstock.receiver.config import SourceConfig
from penstock.receiver.connection.connecting import REFUSED_AFTER, Connecting
from penstock.receiver.models import Connection
from penstock.receiver.sources import KINDS
from penstock.stins.addresses import is_ipv6
from penstock.stins.errors import RemoteError

REST_SECONDS = 0.0025
"""Longest rest; messages that come more rarely than this are not waited for."""
SHARE = 4
"""Share of the messages that a socket holds: at most one in so many may gather, so that the sender never
waits for room."""
LEAST = 4
"""Least messages that may gather: if there is room for fewer they are large, and it does not matter what a
wake-up takes."""


class Pace:
    """The pace of the messages on one socket.

    Args:
        holds: messages that the socket holds; 0: nothing is to gather.
    """

    def __init__(self, holds: int) -> None:
        self._most = holds // SHARE
        self._last = 0.0  # begin of the last turn with messages
        self._until = 0.0

    def turn(self, now: float, messages: int) -> None:
        """Take note of how many messages a turn has found.

        Args:
            now: monotonic seconds at its begin.
            messages: their number.
        """
        if not messages or self._most < LEAST:
            return
        since, self._last = now - self._last, now
        if since < REST_SECONDS * messages:
            self._until = now + min(REST_SECONDS, self._most * since / messages)

    def rest(self, now: float) -> float:
        """Return for how many seconds to rest before the next turn; 0 for not at all."""
        return max(0.0, self._until - now)


NETWORK_PERIOD = 0.2
"""Seconds between two questions to the kernel whether the streamers' hosts answer."""
BURST = 256
"""Most messages read from one socket before other work gets its turn."""
IN_TURN = 16
"""One message of so many is from the socket whose turn it is, whatever `likely` says."""


class Ingest:
    """The sockets of one receiver: created, read and closed here, by the loop of the data process alone.

    Args:
        config: endpoints, number of sockets, limits.
    """

    def __init__(self, config: SourceConfig) -> None:
        self._config = config
        self._context = zmq.Context(io_threads=config.io_threads)
        self._poller = zmq.Poller()
        self._all = [self._open(endpoint) for endpoint in config.endpoints for _ in range(config.sockets)]
        self._sockets = [each.socket for each in self._all]
        self._monitors = {each.monitor: each for each in self._all}
        for each in self._all:
            self._poller.register(each.socket, zmq.POLLIN)
            self._poller.register(each.monitor, zmq.POLLIN)
        self._by_endpoint = [
            [each for each in self._all if each.endpoint == endpoint] for endpoint in config.endpoints
        ]
        # A publisher drops what a socket has no room for, and of several sockets none may get ahead.
        gathers = len(self._all) == 1 and not KINDS[config.type].published
        self._pace = Pace(config.high_water_mark if gathers else 0)
        self._watched = -1
        self.is_called = False
        """True if the descriptor that is watched could be read when `wait` returned last."""
        self.number = 0
        """Number of the socket whose message was read last; with joined modules, number of the module."""
        self.idle = [False] * len(self._sockets)
        """True for each socket that was empty when last looked at in the last round of `messages`; false for
        one that is held back."""
        self._turn = 0  # number of the next socket to read
        self.likely = -1
        """Number of the socket that should be read next, out of its turn; -1 for none. Set by whoever takes
        the messages of several sockets, between two of them."""
        self.held_back: frozenset[int] = frozenset()
        """Numbers of the sockets that are not read at present."""
        self._paused = False
        self.is_behind = False
        """True if the last round of `messages` ended before all sockets of a streamer were found empty."""
        self.is_interrupted = False
        """True if messages that were sent may be delayed by an interrupted network: on a socket of several,
        or on those of all modules."""
        self._network_due = 0.0
        self._is_gone = False  # whether there was a connection, and is none now
        self._has_reconnected = False

    def watch(self, descriptor: int) -> None:
        """Let `wait` return when this file descriptor can be read."""
        self._watched = descriptor
        self._poller.register(descriptor, zmq.POLLIN)

    def wait(
        self, seconds: float, *, writable: Sequence[zmq.Socket[bytes]] = (), paused: bool = False
    ) -> None:
        """Wait until something has arrived, for this time at most; let small messages gather before.

        Args:
            seconds: maximum waiting time.
            writable: other sockets; return also when one of them can be written.
            paused: whether to ignore messages that have arrived.
        """
        if paused != self._paused:
            self._paused = paused
            self._poll_sockets()
        if seconds and not paused and (rest := self._pace.rest(time.monotonic())):
            time.sleep(min(rest, seconds))
        for socket in writable:
            self._poller.register(socket, zmq.POLLOUT)
        self.is_called = False
        for ready, _ in self._poller.poll(math.ceil(seconds * 1000)):
            if ready in self._monitors:
                self._monitors[ready].observe()
            elif ready == self._watched:
                self.is_called = True
        for socket in writable:
            self._poller.unregister(socket)

    def hold_back(self, numbers: Set[int]) -> None:
        """Do not read these sockets, which are ahead of the others; read all others."""
        if numbers != self.held_back:
            self.held_back = frozenset(numbers)
            self._poll_sockets()

    def _poll_sockets(self) -> None:
        for number, socket in enumerate(self._sockets):
            is_quiet = self._paused or number in self.held_back
            self._poller.modify(socket, 0 if is_quiet else zmq.POLLIN)

    def messages(self) -> Iterator[list[memoryview]]:
        """Yield the messages that have arrived: multi-part, their parts not copied; at most `BURST` per
        socket.

        Several sockets give one message each in turn, so that none gets ahead because another was read first,
        or in the order of `likely`.
        """
        if len(self._sockets) > 1:
            yield from self._in_turn()
            return
        receive, at_once, now = self._sockets[0].recv, int(zmq.NOBLOCK), time.monotonic()
        for number in range(BURST):
            try:
                part = receive(at_once, False)
            except zmq.Again:
                self._pace.turn(now, number)
                return
            parts = [part.buffer]
            # Like `recv_multipart`, without asking the socket after each part, which would take a
            # microsecond.
            while part.more:
                part = receive(0, False)
                parts.append(part.buffer)
            yield parts

    def _in_turn(self) -> Iterator[list[memoryview]]:
        sockets = self._sockets
        idle = self.idle = [False] * len(sockets)
        done = [False] * len(sockets)  # idle, or held back
        # Until this round is read to its end. For modules `idle` tells more: one may flood, another be dead.
        self.is_behind = self._config.sockets > 1
        for place in range(BURST * len(sockets)):
            number, self.likely = self.likely, -1
            if number < 0 or done[number] or place % IN_TURN == 0:
                number = self._turn  # where the last round ended, so that no socket starves
            self._turn = (number + 1) % len(sockets)
            is_held_back = number in self.held_back
            parts = None if is_held_back else _received(sockets[number])
            done[number] = parts is None
            idle[number] = parts is None and not is_held_back
            if parts is not None:
                self.number = number
                yield parts
            elif all(done):
                self.is_behind = False
                return

    @property
    def connected(self) -> int:
        """Number of sockets that are connected."""
        return sum(each.is_connected for each in self._all)

    def comes_within(self, seconds: float) -> bool:
        """Wait for messages, for this time at most; return whether there are some."""
        return bool(zmq.select(self._sockets, [], [], seconds)[0])

    def connections(self) -> list[Connection]:
        """Return the connected sockets per endpoint, and how long its host has not answered."""
        return [
            Connection(
                endpoint=sockets[0].endpoint,
                connections=sum(each.is_connected for each in sockets),
                silent_seconds=max(int(each.interruption.seconds) for each in sockets),
            )
            for sockets in self._by_endpoint
        ]

    def observe_network(self, now: float) -> None:
        """Notice an interrupted network, `NETWORK_PERIOD` after the last look at the earliest."""
        if now < self._network_due:
            return
        self._network_due = now + NETWORK_PERIOD
        for each in self._all:
            each.observe_network(now)
        lasting = [each.interruption.lasts(now) for each in self._all]
        self.is_interrupted = all(lasting) if self._config.join else any(lasting)

    def has_reconnected(self) -> bool:
        """Return whether, since the last call, all connections were lost, read to the end, and made again:
        later messages may be from another streamer."""
        has_reconnected, self._has_reconnected = self._has_reconnected, False
        return has_reconnected

    def reconnect(self) -> list[RemoteError]:
        """Reconnect sockets whose connection was lost and has been read to the end.

        Returns:
            Errors for connections that libzmq closed itself.
        """
        if not any(each.down for each in self._all):
            return []
        for each in self._all:  # reading may have taken long: there may be new reports
            each.observe()
        errors: list[RemoteError] = []
        for siblings in self._by_endpoint:
            errors += self._reconnect(siblings)
        return errors

    def _reconnect(self, sockets: Sequence[Connecting]) -> Iterator[RemoteError]:
        """Reconnect the sockets of one endpoint.

        A streamer that has died has lost all its connections. If some are still there `REFUSED_AFTER` seconds
        after one was lost, it is alive; if none is, all are read to the end before the first is made again.
        """
        if any(each.has_messages for each in sockets if not each.is_connected):
            return
        due = [each for each in sockets if each.is_due]
        if any(each.is_connected for each in sockets):
            due = [each for each in due if not each.was_lost or each.down > REFUSED_AFTER]
        elif due:
            due = [each for each in sockets if each.down]
        if not due:
            return
        if any(each.is_connected or each.has_messages for each in self._all):
            self._is_gone = False
        else:
            self._is_gone |= any(each.was_lost for each in due)
            self._has_reconnected |= self._is_gone
        for each in due:
            if each.was_refused:
                yield self._refusal(each.endpoint)
            each.again()

    def _refusal(self, endpoint: str) -> RemoteError:
        return RemoteError(
            "message_refused",
            f"the connection to {endpoint} was closed: either a message was larger than "
            f"source.max_message_mb ({self._config.max_message_mb:g} MB), or no streamer is there, "
            "or its socket is of another kind than source.type; raise the limit if its frames are "
            "that large. The receiver keeps trying to connect",
        )

    def part(self) -> None:
        """Disconnect from the streamers, where messages wait from then on; unread ones are dropped."""
        for each in self._all:
            each.part()

    def connect(self) -> None:
        """Connect to the streamers: at first, and again after `part`."""
        for each in self._all:
            each.again()

    def close(self) -> None:
        """Close all sockets, unless they are; unread messages are dropped."""
        if self._context.closed:
            return
        for each in self._all:
            each.close()
        self._context.term()

    def _open(self, endpoint: str) -> Connecting:
        config = self._config
        published = KINDS[config.type].published
        socket: zmq.Socket[bytes] = self._context.socket(zmq.SUB if published else zmq.PULL)
        if published:
            socket.subscribe(b"")
        socket.set(zmq.RCVHWM, config.high_water_mark)
        socket.set(zmq.MAXMSGSIZE, int(config.max_message_mb * 1e6))
        socket.set(zmq.LINGER, 0)
        socket.set(zmq.IPV6, is_ipv6(endpoint))
        keep_alive(socket, config.keepalive_seconds)
        return Connecting(socket, endpoint)


def _received(socket: zmq.Socket[bytes]) -> list[memoryview] | None:
    try:
        part = socket.recv(zmq.NOBLOCK, False)
    except zmq.Again:
        return None
    parts = [part.buffer]
    while part.more:
        part = socket.recv(0, False)
        parts.append(part.buffer)
    return parts
