"""The machine alone: facts and an event make new facts and actions, and nothing else."""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import fields, replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from penstock.devices._series import machine as room
from penstock.devices._series.machine import events
from penstock.devices._series.machine.actions import Answer, Log, RunStep, Show, StopStreamer, Undo
from penstock.devices._series.machine.draft import Moment
from penstock.devices._series.machine.facts import Facts
from penstock.devices._series.machine.limits import WatchdogLimits
from penstock.devices._series.machine.machine import ROWS, handle
from penstock.devices._series.machine.procedures import BOX, QUIET_BOX, STREAMER, Step
from penstock.devices._series.machine.states import SeriesState
from penstock.devices._series.machine.view import SeriesView
from penstock.receiver.client import ReceiverUnavailable
from penstock.stins.messages import IndexSource
from penstock.stins.table import IllegalEvent
from penstock.streamer.remote.client import Description, StreamerRefused, StreamerStatus
from tests.devices._series.beamside import HeldClock, StandInReceiver
from tests.devices._series.test_control import settings

NOW = Moment(1000.0, 1.8e9)
IDLE = StreamerStatus(state="idle", peers=1)
STATUS = StandInReceiver(HeldClock()).snapshot()
DESCRIPTION = Description(
    camera="StandIn", parameters=(), trigger_modes=(), limits={}, values={}, readout_time=0.0,
    index_source=IndexSource.HARDWARE_COUNTER, data_endpoint="", streamer_pid=1,
)  # fmt: skip
ONE_OF_EACH: list[events.Event] = [
    events.StreamerTold(IDLE), events.StreamerTold(None), events.ReceiverTold(STATUS),
    events.ReceiverTold(ReceiverUnavailable("away")), events.Withdrawn(STATUS),
    events.FormatFound(8, (2, 2), "uint16"),
    events.Connecting(), events.Connected(DESCRIPTION, IDLE), events.NotConnected("no such port"),
    events.Tick(), events.Arm(settings(3), "ascan"), events.CallerGone(), events.Trigger(1),
    events.TriggerRefused(0), events.Stop(), events.Abort(), events.ProcessEnds("its end"),
    events.SetBox("Energy"), events.ResetBox(), events.StreamerReset(), events.Reconnect("It is started."),
    events.Remember("", ""), events.StepDone(1, Step.START), events.StepFailed(1, ValueError("no")),
    events.Undone(1, "no"), events.ArmOver(), events.CallLong(1), events.CallOver(1), events.BoxRead(0, IDLE),
]  # fmt: skip


def facts(state: SeriesState, **more: Any) -> Facts:
    return Facts(
        limits=WatchdogLimits(), view=SeriesView(state=state), settings=settings(3), number=1, **more
    )


@pytest.mark.parametrize(
    ("state", "event"), list(product(SeriesState, ONE_OF_EACH)), ids=lambda each: str(each)[:30]
)
def test_an_event_has_a_row_or_raises_and_changes_nothing(state: SeriesState, event: events.Event) -> None:
    before = facts(state)
    same = facts(state)
    if (state, type(event)) not in ROWS:
        with pytest.raises(IllegalEvent, match=f"^{type(event).__name__} while {state.value}$"):
            handle(before, event, NOW)
    else:
        assert handle(before, event, NOW) == handle(same, event, NOW), "it depends on nothing else"
    assert before == same, "facts are never changed, only followed by others"


def test_each_kind_of_event_is_in_the_table() -> None:
    kinds = {kind for _, kind in ROWS}
    assert kinds == set(events.Event.__subclasses__()) == {type(each) for each in ONE_OF_EACH}


def run(before: Facts, *happened: events.Event) -> tuple[Facts, list[Any]]:
    """Let events happen; return the facts, and the actions but for what is only shown."""
    actions: list[Any] = []
    for event in happened:
        before, wanted = handle(before, event, NOW)
        actions += [action for action in wanted if not isinstance(action, Show | Log)]
    return before, actions


@pytest.mark.parametrize("procedure", [STREAMER, BOX, QUIET_BOX])
def test_each_step_of_arm_wants_the_next_one(procedure: Any) -> None:
    quiet = procedure is QUIET_BOX
    after = facts(SeriesState.IDLE, connected=True, own_stream=procedure is not STREAMER)
    after, wanted = run(after, events.Arm(settings(3), ""))
    after = replace(after, expects=quiet)  # which the box tells with its second step
    for step, following in zip(procedure.steps, [*procedure.steps[1:], None], strict=True):
        assert wanted[-1] == RunStep(2, step)
        after, wanted = run(after, events.StepDone(2, step))
        assert (wanted[-1] == Answer(2)) is (following is None)
    assert after.view.state is SeriesState.TAKING


def test_a_refused_step_is_undone_and_answered() -> None:
    after, _ = run(facts(SeriesState.IDLE, connected=True), events.Arm(settings(3), ""))
    error = StreamerRefused("camera", "the hardware says no")
    after, wanted = run(after, events.StepFailed(2, error))
    assert wanted == [Undo(2, "the hardware says no", STREAMER.undo, error)]
    after, wanted = run(after, events.Undone(2, "the hardware says no", error))
    assert wanted == [Answer(2)] and after.refusal is error
    assert after.view.status == "Ready. The last Arm was refused: the hardware says no"


def test_a_result_of_an_arm_that_was_given_up_changes_nothing_of_the_next() -> None:
    running = facts(SeriesState.TAKING, connected=True)
    for late in (
        events.StepDone(0, Step.START),
        events.StepFailed(0, ValueError("late")),
        events.Undone(0, ""),
    ):
        after, wanted = run(running, late)
        assert wanted == [Answer(0)]
        assert after == running


def test_stop_is_told_to_a_streamer_that_is_connected() -> None:
    _, wanted = run(facts(SeriesState.TAKING, connected=True), events.Stop("it was time"))
    assert wanted == [StopStreamer("it was time", "Stop")]
    assert run(facts(SeriesState.TAKING), events.Stop("it was time"))[1] == []


def test_nothing_of_a_series_is_assigned_but_by_a_draft() -> None:
    """The facts are frozen; `replace` makes new ones, and only a draft calls it with a name of theirs."""
    names = {each.name for each in (*fields(Facts), *fields(SeriesView))}
    folder = Path(room.__path__[0])
    for path in (*folder.glob("*.py"), *folder.parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            targets = node.targets if isinstance(node, ast.Assign) else []
            if isinstance(node, ast.AugAssign | ast.AnnAssign):
                targets = [node.target]
            of_facts = [
                each.attr for each in targets
                if isinstance(each, ast.Attribute) and each.attr in names
                and ast.unparse(each.value) != "self"
            ]  # fmt: skip
            assert not of_facts, f"{path.name}:{node.lineno}"
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "replace" and path.name != "draft.py":
                changed = ast.unparse(node.args[0])
                assert changed in ("self", "view", "call", "counts"), f"{path.name}:{node.lineno}: {changed}"


def test_it_loads_no_library_that_talks_to_anybody() -> None:
    look = (
        "import sys; import penstock.devices._series.machine.machine; "
        "print({'http.client', 'socket', 'subprocess', 'tango', 'urllib3', 'zmq'} & set(sys.modules))"
    )
    said = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert said.stdout == "set()\n"
