"""The trigger line of simulated detectors, and a fly scan that it synchronises."""

from __future__ import annotations

import json
import runpy
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import tango
from sardana.pool.pooldefs import SynchDomain, SynchParam

from penstock.sardana import plugin
from penstock.sardana.laboratory.laboratory import FLY_GROUP, TRIGGERS, Laboratory
from penstock.sardana.trigger_train import Group, TriggerLine, TriggerTrainError, check
from penstock.streamer.simulated.triggers import EDGE


class Receiver:
    """A detector's trigger input."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(5.0)

    @property
    def address(self) -> tuple[str, int]:
        host, port = self.socket.getsockname()
        return host, port

    def take(self, edges: int) -> list[tuple[float, int, float, float]]:
        """(when it came, number, when it was due, gate) of each."""
        taken = []
        for _ in range(edges):
            datagram = self.socket.recv(EDGE.size + 1)
            taken.append((time.monotonic(), *EDGE.unpack(datagram)[1:]))
        return taken


@contextmanager
def _line() -> Iterator[tuple[TriggerLine, Receiver]]:
    line, receiver = TriggerLine(), Receiver()
    try:
        line.reset([receiver.address])
        yield line, receiver
    finally:
        line.close()
        receiver.socket.close()


@pytest.mark.parametrize(("period", "edges"), [(0.01, 50), (0.001, 500)])
def test_a_train_keeps_time(period: float, edges: int) -> None:
    with _line() as (line, receiver):
        line.start([Group(0.02, period / 2, period, edges)])
        taken = receiver.take(edges)
    first = taken[0][2]
    assert [edge[1] for edge in taken] == list(range(edges))
    assert [edge[2] - first for edge in taken] == pytest.approx([n * period for n in range(edges)])
    assert {edge[3] for edge in taken} == {period / 2}
    late = [came - due for came, _, due, _ in taken]
    assert min(late) >= 0
    assert min(late[-edges // 5 :]) < 0.02, "lateness does not add up, whatever else the machine has to do"


def test_groups_count_on_and_missed_edges_leave_their_number_empty() -> None:
    with _line() as (line, receiver):
        line.start([Group(0.0, 0.0, 0.01, 3), Group(0.05, 0.001, 0.0, 1)], missed=[1])
        taken = receiver.take(3)
        line.start([Group(0.0, 0.0, 0.0, 1)])
        taken += receiver.take(1)
    assert [edge[1] for edge in taken] == [0, 2, 3, 4]
    assert taken[2][2] - taken[0][2] == pytest.approx(0.05)


def test_a_stopped_train_ends_at_once_and_the_next_series_counts_from_0() -> None:
    with _line() as (line, receiver):
        line.start([Group(0.0, 0.0, 30.0, 2)])
        receiver.take(1)
        begin = time.monotonic()
        line.stop()
        assert time.monotonic() - begin < 1.0
        assert not line.running
        line.reset([receiver.address])
        line.start([Group(0.0, 0.0, 0.0, 1)])
        assert receiver.take(1)[0][1] == 0


@pytest.mark.parametrize(
    "groups",
    [
        [Group(-1.0, 0.0, 1.0, 2)],
        [Group(0.0, 0.0, float("nan"), 2)],
        [Group(0.0, 0.0, 0.0, 2)],
        [Group(0.0, 0.0, 1.0, 2), Group(0.5, 0.0, 1.0, 2)],
    ],
)
def test_a_train_that_no_generator_can_make_is_refused(groups: list[Group]) -> None:
    with pytest.raises(TriggerTrainError, match="trigger group"):
        check(groups)


@pytest.fixture
def fly(laboratory: Laboratory) -> Iterator[Laboratory]:
    laboratory.define("senv", "ActiveMntGrp", FLY_GROUP)
    motor = laboratory.device("mot01")
    motor.Acceleration = motor.Deceleration = 0.1
    yield laboratory
    laboratory.device(TRIGGERS).Missed = "[]"
    laboratory.define("senv", "ActiveMntGrp", "mntgrp")


def test_a_fly_scan_gets_a_frame_for_each_point(fly: Laboratory) -> None:
    run = fly.run("ascanct", "mot01", "0", "1", "20", "0.01", "0.002")
    assert run.ending == "finish", (run.error, run.said())
    detector = fly.detector()
    assert detector.TriggerMode == "EXTERNAL_MULTI"
    assert detector.nFramesAcquired == 21
    assert fly.device(TRIGGERS).GateTime == pytest.approx(0.01)


def test_a_step_scan_counts_its_triggers_through(fly: Laboratory) -> None:
    """A series over all points: the edge of point n has the number n."""
    run = fly.run("ascan", "mot01", "0", "1", "4", "0.01")
    assert run.ending == "finish", (run.error, run.said())
    assert fly.detector().nFramesAcquired == 5


def test_after_a_restart_the_detector_is_found_at_its_new_address(fly: Laboratory) -> None:
    before = fly.detector().TriggerAddress
    fly.restart("Simulator/sim")
    fly.wait_idle()
    assert fly.detector().TriggerAddress != before
    run = fly.run("ct", "0.01")
    assert run.ending == "finish", (run.error, run.said())
    assert fly.detector().nFramesAcquired == 1


@pytest.mark.parametrize("text", ["[-1]", "3", "[1.5]", "[true]", "none"])
def test_missed_is_a_list_of_edge_numbers(fly: Laboratory, text: str) -> None:
    triggers = fly.device(TRIGGERS)
    with pytest.raises(tango.DevFailed, match="JSON list of edge numbers"):
        triggers.Missed = text
    triggers.Missed = "[3, 7]"
    assert json.loads(triggers.Missed) == [3, 7]


def test_a_description_in_positions_alone_is_refused() -> None:
    """Sardana 3.7 refuses it before, with a KeyError."""
    path = plugin.CONTROLLERS / "penstock_triggers.py"
    controller = runpy.run_path(str(path))["PenstockTriggers"]("tgctrl", {"Detectors": ""})
    position = {SynchDomain.Position: 0.1}
    description = {SynchParam.Delay: position, SynchParam.Active: position, SynchParam.Total: position}
    with pytest.raises(TriggerTrainError, match="delay in positions only; PenstockTriggers emits at times"):
        controller.SynchOne(1, [description])
    controller.DeleteDevice(1)
