"""A session without its process: no frame is answered twice or forgotten, whatever comes in which order."""

from __future__ import annotations

import random
import re
import threading
import typing
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from penstock.processing import wire
from penstock.processing.pixels import Pool
from penstock.processing.processor import Frame
from penstock.processing.series import from_start
from penstock.processing.worker.chain import Chain
from penstock.processing.worker.running import Bunch, Job, Run
from penstock.processing.worker.session import TABLE, Session, State
from penstock.stins.messages import Header
from tests.processing.worker.worker_process import frame, step

SOURCE = """
    class Mine(Processor):
        BATCH
        def value(self, frame):
            found = {"index": "none" if frame.index % 7 == 3 else frame.index}
            return found | ({"sum": Sum(frame.pixels)} if frame.index % 5 else {})
        METHOD
    """
ONE = "def process(self, frame): return self.value(frame)"
SEVERAL = "def process_batch(self, frames): return [self.value(frame) for frame in frames]"


class Distributor:
    """What a session has said, and what it has to give in the end."""

    def __init__(self, source: str, **keys: Any) -> None:
        self.session = Session(self.hear, True)
        self.answered: dict[int, list[int]] = {}
        """Indices of the frames of each bunch that was answered."""
        self.failed: set[int] = set()
        self.without_answer: dict[int, list[int]] = {}
        self.held: set[int] = set()
        self.handed_over: list[int] = []
        self.sum = np.zeros((2, 2), np.uint64)
        self.n = 0
        self.say(wire.Welcome(pipeline="p", steps=(step(source),), version=1, parameters={}, **keys))
        self.say(wire.Begin(series=1, header=Header(filename="")), b"{}")

    def say(self, message: wire.MessageOfDistributor, *parts: bytes) -> None:
        self.session.take([wire.encode(message), *parts])

    def hear(self, message: wire.MessageOfWorker, arrays: Any = ()) -> None:
        values = {}
        if isinstance(message, (wire.Done, wire.HandedOver)):
            values = dict(wire.arrays(message.arrays, [array.tobytes() for array in arrays]))
        if isinstance(message, wire.Done):
            indices = self.answered[message.bunch] = self.without_answer.pop(message.bunch)
            self.failed |= {indices[place] for place in message.errors}
            done = [index for place, index in enumerate(indices) if place not in message.errors]
            assert values["index"].tolist() == done if done else not values
            assert message.held == any(index % 5 for index in done)
            self.held |= {message.bunch} if message.held else set()
        elif isinstance(message, wire.HandedOver):
            self.handed_over += message.bunches
            if values:
                self.sum += values["sum"]
                self.n += message.arrays[0].n

    def work(self, bunch: int, indices: list[int], **keys: Any) -> None:
        self.without_answer[bunch] = indices
        frames = [frame(np.full((2, 2), index, np.uint32), index) for index in indices]
        message = wire.Work(
            series=1, bunch=bunch, indices=tuple(indices), parts=tuple(map(len, frames)), **keys
        )
        self.say(message, *(part for each in frames for part in each))


@pytest.mark.parametrize("seed", range(20))
def test_every_frame_is_answered_once_and_is_in_the_sum_once(seed: int) -> None:
    chance = random.Random(seed)
    source = SOURCE.replace("METHOD", ONE).replace("BATCH", "")
    if seed % 2:
        source = SOURCE.replace("METHOD", SEVERAL).replace("BATCH", f"batch = {chance.randint(2, 9)}")
    distributor = Distributor(source, hand_over_seconds=1e9)
    first = 0
    for bunch in range(1, 60):
        n = chance.randint(1, 12)
        distributor.work(bunch, list(range(first, first + n)), alone=chance.random() < 0.1)
        first += n
        if chance.random() < 0.1:
            distributor.say(wire.HandOver(series=1))
        assert len(distributor.without_answer) < wire.CREDITS
    distributor.say(wire.End(series=1))
    assert not distributor.without_answer
    assert distributor.failed == set(range(3, first, 7))
    good = [index for index in range(first) if index % 7 != 3 and index % 5]
    assert distributor.n == len(good) and (distributor.sum == sum(good)).all()
    assert sorted(distributor.handed_over) == sorted(distributor.held)


ENDS = """
    class Mine(Processor):
        def start(self, series):
            if BROKEN:
                raise ValueError("no")
        def process(self, frame):
            return None
        def end(self):
            print("ended")
            raise ValueError("at the end")
    """


@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize("how", ["end", "leave", "forget"])
def test_user_code_ends_once_however_its_series_does(
    how: str, broken: bool, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    distributor = Distributor(ENDS.replace("BROKEN", str(broken)))
    if how == "end":
        distributor.say(wire.End(series=1))
    elif how == "leave":
        distributor.session.leave()
    distributor.session.forget()
    assert capsys.readouterr().out == "ended\n"
    assert "Mine.end: ValueError: at the end (mine.py, line 11, in end)" in caplog.text


def test_each_message_of_a_distributor_is_taken_in_some_state() -> None:
    every = set(typing.get_args(wire.MessageOfDistributor))
    assert {kind for _, kind in TABLE} == every
    assert {kind for state, kind in TABLE if state is State.WORKING} == every - {wire.Welcome}
    assert not [kind for state, kind in TABLE if state is State.LEFT]


def test_the_class_in_the_documentation_runs() -> None:
    page = Path(__file__).parents[3].joinpath("docs/reference/processor.md").read_text()
    source = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert source is not None
    chain = Chain([step(source.group(1), "Spots", "spots.py")])
    chain.prepare(1, {"threshold": 5})
    chain.use(1)
    run = Run(
        1, chain, chain.begin(1, from_start(Header(filename=""), [b'{"pixel_mask": [[0, 0], [0, 1]]}']))
    )
    header, blob = frame(np.array([[4, 6], [9, 9]], np.uint16))
    bunch = Bunch(1, 1, lambda: True)

    run.process([Job(Frame(0, (header, [blob]), Pool()), bunch, 0)])

    done, arrays = run.done(bunch)
    assert not done.errors and arrays[0].tolist() == [2] and done.held


DESCRIBES = """
    from penstock.processing import Axis, Plot
    class Mine(Processor):
        def start(self, series): self.q = np.arange(3)
        def describe(self): return [Plot("I", axes=(Axis("q", self.q, "1/nm"),))] WRONG
        def process(self, frame): return {"I": self.q}
    """


@pytest.mark.parametrize(
    ("wrong", "says"),
    [("", ""), ("+ [Plot('I')]", r"Mine\.describe: ValueError: result I is described twice")],
)
def test_what_results_mean_is_said_once_the_steps_have_started(wrong: str, says: str) -> None:
    said: list[Any] = []
    session = Session(lambda message, arrays=(): said.append((message, arrays)), True)
    welcome = wire.Welcome(
        pipeline="p", steps=(step(DESCRIBES.replace("WRONG", wrong)),), version=1, parameters={}
    )
    for message in (welcome, wire.Begin(series=1, header=Header(filename=""))):
        session.take([wire.encode(message), *([b"{}"] if isinstance(message, wire.Begin) else [])])

    message, arrays = said[-1]
    if says:
        assert isinstance(message, wire.Refused) and re.match(says, message.why)
    else:
        assert isinstance(message, wire.Started) and message.plots[0].axes[0].unit == "1/nm"
        assert arrays[0].tolist() == [0, 1, 2]


SLOW = """
    from threading import Event
    class Mine(Processor):
        go: ClassVar = Event()
        value: int = 1
        def configure(self):
            if self.value > 1:
                assert self.go.wait(20)
            assert self.value != 3, "no three"
        def process(self, frame): return {"value": self.value}
    """


def test_frames_are_processed_while_parameters_are_prepared() -> None:
    said: list[Any] = []
    woken = threading.Semaphore(0)
    source = "from typing import ClassVar\n" + dedent(SLOW)
    session = Session(lambda message, arrays=(): said.append((message, arrays)), True, woken.release)
    session.take([wire.encode(wire.Welcome(pipeline="p", steps=(step(source),), version=1, parameters={}))])
    session.take([wire.encode(wire.Begin(series=1, header=Header(filename=""))), b"{}"])

    def value(bunch: int) -> int:
        given = frame(np.zeros((2, 2), np.uint16), bunch)
        work = wire.Work(series=1, bunch=bunch, indices=(bunch,), parts=(len(given),))
        session.take([wire.encode(work), *given])
        return int(said[-1][1][0][0])

    for version, number in ((2, 2), (3, 3)):
        session.take([wire.encode(wire.Configure(version=version, parameters={"value": number}))])
    assert value(1) == 1  # and nobody has waited for `configure`
    session._known_chain.kinds[0].go.set()  # type: ignore[attr-defined]
    answers = []
    for _ in range(2):
        assert woken.acquire(timeout=20)
        session.take_prepared()
        answers.append(said[-1][0])
    session.take([wire.encode(wire.Use(version=2))])

    assert [type(answer) for answer in answers] == [wire.Ready, wire.Refused]
    assert "no three" in answers[1].why and value(2) == 2
