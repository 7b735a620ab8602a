"""Which connections are peers, whatever the order in which their events come."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.stins.connections import Connections, keepalive

COMES, ANSWERS, SHAKES, CLOSES, LEAVES = "comes", "answers", "shakes hands", "closes", "leaves"

Event = tuple[str, int]
"""What happens, and to which descriptor. The kernel knows that one answers or closes at once; the events of
the monitor, which the others are, come when they come."""

PEER, STRANGER = 10, 11


class Kernel:
    """What it knows of every descriptor."""

    def __init__(self) -> None:
        self.answered: set[int] = set()


def play(events: list[Event], connections: Connections, kernel: Kernel) -> Iterator[list[str]]:
    """The names of the peers after each event: their descriptors, with a number where one is used again."""
    bearers: dict[int, int] = {}
    for kind, descriptor in events:
        if kind == COMES:
            bearers[descriptor] = bearers.get(descriptor, 0) + 1
            bearer = bearers[descriptor]
            connections.accepted(descriptor, str(descriptor) if bearer == 1 else f"{descriptor}, {bearer}")
        elif kind == ANSWERS:
            kernel.answered.add(descriptor)
        elif kind == CLOSES:
            kernel.answered.discard(descriptor)
        elif kind == SHAKES:
            connections.shaken_hands()
        else:
            connections.gone(descriptor)
        yield list(connections.peers.values())


def peers_after(events: list[Event]) -> list[str]:
    kernel = Kernel()
    connections = Connections(lambda descriptor: descriptor in kernel.answered)
    *_, last = play(events, connections, kernel)
    return last


def joins(descriptor: int) -> list[Event]:
    return [(COMES, descriptor), (ANSWERS, descriptor), (SHAKES, descriptor)]


def leaves(descriptor: int) -> list[Event]:
    return [(CLOSES, descriptor), (LEAVES, descriptor)]


TABLE: list[tuple[str, list[Event], list[str]]] = [
    ("one comes", [(COMES, PEER)], []),
    ("one comes and shakes hands", joins(PEER), ["10"]),
    ("one goes", joins(PEER) + leaves(PEER), []),
    ("a stranger before it", [(COMES, STRANGER), *joins(PEER)], ["10"]),
    ("a stranger between its coming and its handshake",
     [(COMES, PEER), (COMES, STRANGER), (ANSWERS, PEER), (SHAKES, PEER)], ["10"]),
    ("… which leaves",
     [(COMES, PEER), (COMES, STRANGER), (ANSWERS, PEER), (SHAKES, PEER), *leaves(STRANGER)], ["10"]),
    ("… and stays longer than the peer",
     [(COMES, PEER), (COMES, STRANGER), (ANSWERS, PEER), (SHAKES, PEER), *leaves(PEER)], []),
    ("a stranger that has asked for a page by then",
     [(COMES, PEER), (COMES, STRANGER), (ANSWERS, STRANGER), (ANSWERS, PEER), (SHAKES, PEER),
      *leaves(STRANGER)], ["10"]),
    ("a stranger that asks for a page while nobody is there",
     [(COMES, STRANGER), (ANSWERS, STRANGER)], []),
    ("a peer beside a stranger goes and comes back", [(COMES, STRANGER), *joins(PEER), *leaves(PEER),
     *joins(PEER)], ["10, 2"]),
    ("a peer comes back before the end of its old connection is known",
     [*joins(PEER), (CLOSES, PEER), *joins(12), (LEAVES, PEER)], ["12"]),
    ("a peer's descriptor goes to a stranger before its handshake is known",
     [(COMES, PEER), (ANSWERS, PEER), (CLOSES, PEER), (SHAKES, PEER), (LEAVES, PEER), (COMES, PEER)], []),
    ("a peer's descriptor goes to the next peer before its handshake is known",
     [(COMES, PEER), (ANSWERS, PEER), (SHAKES, PEER), (LEAVES, PEER), (COMES, PEER), (SHAKES, PEER)],
     ["10, 2"]),
    ("two shake hands before either is known to", [(COMES, PEER), (COMES, 12), (ANSWERS, PEER), (ANSWERS, 12),
     (SHAKES, PEER), (SHAKES, 12)], ["10", "12"]),
    ("… and one more comes then", [(COMES, PEER), (COMES, 12), (ANSWERS, PEER), (ANSWERS, 12),
     (SHAKES, PEER), (SHAKES, 12), (COMES, STRANGER)], ["10", "12"]),
    ("a handshake is known before the coming", [(ANSWERS, PEER), (SHAKES, PEER), (COMES, PEER)], ["10"]),
    ("… beside a stranger", [(COMES, STRANGER), (ANSWERS, PEER), (SHAKES, PEER), (COMES, PEER)], ["10"]),
    ("a leaving is known before the coming",
     [(LEAVES, STRANGER), (COMES, STRANGER), (ANSWERS, STRANGER), *joins(PEER)], ["10"]),
    ("… and the descriptor is used again",
     [(LEAVES, PEER), (COMES, PEER), *joins(PEER)], ["10, 2"]),
]  # fmt: skip


@pytest.mark.parametrize(("events", "peers"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_peers_are_those_that_have_shaken_hands_and_are_there(events: list[Event], peers: list[str]) -> None:
    assert peers_after(events) == peers


def woven(*lives: list[Event]) -> Iterator[list[Event]]:
    """Every order of the events of these connections that keeps the order within each."""
    if not any(lives):
        yield []
    for place, life in enumerate(lives):
        if life:
            for rest in woven(*lives[:place], life[1:], *lives[place + 1 :]):
                yield [life[0], *rest]


def overtaken(descriptor: int, life: list[Event]) -> Iterator[list[Event]]:
    """A life whose events overtake that of its coming, which several I/O threads let them."""
    for place in range(len(life) + 1):
        yield [*life[:place], (COMES, descriptor), *life[place:]]


def can_be(events: list[Event]) -> bool:
    """Whether no other coming is known between an event that overtook its coming and that one: they are told
    by one thread, in their order."""
    ahead: set[int] = set()
    came: set[int] = set()
    for kind, descriptor in events:
        if kind == COMES:
            if ahead - {descriptor}:
                return False
            ahead.discard(descriptor)
            came.add(descriptor)
        elif kind in (SHAKES, LEAVES) and descriptor not in came:
            ahead.add(descriptor)
    return True


@pytest.mark.parametrize(
    "others",
    [
        [[(COMES, STRANGER), (CLOSES, STRANGER), (LEAVES, STRANGER)]],
        [[(COMES, STRANGER), (ANSWERS, STRANGER), (CLOSES, STRANGER), (LEAVES, STRANGER)]],
        [[(COMES, STRANGER)], [(COMES, 12), (CLOSES, 12), (LEAVES, 12)]],
        [joins(12)],
        [joins(12) + leaves(12)],
        [joins(12) + leaves(12), [(COMES, STRANGER)]],
    ],
    ids=["silent", "a page", "one that stays", "another peer", "a peer that goes", "both"],
)
def test_in_every_order_of_the_events_the_peers_are_right_in_the_end(others: list[list[Event]]) -> None:
    wanted = {"10"} | {"12" for life in others if life == joins(12)}
    orders = 0
    for events in woven(joins(PEER), *others):
        orders += 1
        assert set(peers_after(events)) == wanted, events
    assert orders >= 20


@pytest.mark.parametrize(
    "other",
    [leaves(STRANGER), [], joins(12)[1:], joins(12)[1:] + leaves(12)],
    ids=["leaves", "stays", "another peer", "a peer that goes"],
)
def test_events_that_overtake_that_of_the_coming_are_understood(other: list[Event]) -> None:
    number = 12 if (SHAKES, 12) in other else STRANGER
    wanted = {"10", "12"} if other == joins(12)[1:] else {"10"}
    for mine in overtaken(PEER, joins(PEER)[1:]):
        for its in overtaken(number, other):
            for events in filter(can_be, woven(mine, its)):
                assert set(peers_after(events)) == wanted, events


def test_a_peer_is_never_called_gone_by_a_stranger() -> None:
    stranger: list[Event] = [(COMES, STRANGER), (ANSWERS, STRANGER), (CLOSES, STRANGER), (LEAVES, STRANGER)]
    for events in woven(joins(PEER), stranger):
        kernel = Kernel()
        connections = Connections(kernel.answered.__contains__)
        seen = False
        for peers in play(events, connections, kernel):
            assert "10" in peers or not seen, events
            seen = seen or "10" in peers


def test_new_peers_and_those_that_go_are_named_once() -> None:
    answered: set[int] = set()
    connections = Connections(answered.__contains__)
    assert connections.accepted(PEER, "station:1") == []
    assert connections.accepted(STRANGER, "scanner:2") == []
    answered.add(PEER)
    assert connections.shaken_hands() == ["station:1"]
    assert connections.gone(STRANGER) is None
    assert connections.gone(PEER) == "station:1"
    assert connections.shaken_hands() == []
    assert connections.accepted(PEER, "station:3") == ["station:3"]


@pytest.mark.parametrize("seconds", [3, 4, 19, 20, 60, 3600])
def test_a_vanished_host_is_noticed_in_time_and_a_shorter_cut_is_not(seconds: int) -> None:
    idle, interval, probes = keepalive(seconds)
    assert idle + interval * probes <= seconds
    assert interval * (probes - 1) >= seconds / 3, "a cut between the first probe and the last one"
