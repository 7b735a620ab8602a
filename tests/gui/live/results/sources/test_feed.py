"""The feed of results, over a result file that is written meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("silx.gui.plot", reason="the viewer needs the extra gui")

from penstock.gui.live.results.sources.feed import ResultsFeed
from penstock.gui.live.results.sources.file_source import ResultFileSource
from penstock.gui.live.results.sources.snapshot import Curves, Page, Wish
from penstock.processing.client import States
from penstock.processing.results.layout import DONE
from tests.gui.live.result_files import Written

DEADLINE = 60_000
"""Milliseconds."""


class Gate(ResultFileSource):
    """While it is shut, the question for the states waits."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.is_open, self.waits = threading.Event(), threading.Event()
        self.is_open.set()
        self.asked = 0

    def states(self, first: int, end: int | None = None) -> States:
        self.asked += 1
        if not self.is_open.is_set():
            self.waits.set()
            assert self.is_open.wait(DEADLINE / 1000)
        return super().states(first, end)


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Written]:
    made = Written(tmp_path / "x.azim.h5")
    made.done([0])
    yield made
    made.results.close()


def test_from_a_pause_on_no_values_are_asked_for_not_even_by_the_question_under_way(
    qtbot: Any, written: Written
) -> None:
    gate = Gate(written.path)
    feed = ResultsFeed(gate, rate=50.0)
    feed.wish(Wish(name="I", page=Page.CURVE))
    feed.start()
    try:
        qtbot.waitUntil(lambda: isinstance(feed.take().shown, Curves), timeout=DEADLINE)
        feed.drawn()
        asked = gate.asked
        qtbot.waitUntil(lambda: gate.asked > asked + 1, timeout=DEADLINE)  # the last one after it was drawn
        gate.is_open.clear()
        assert gate.waits.wait(DEADLINE / 1000)
        feed.set_wanted(False)
        written.done([1])
        gate.is_open.set()
        qtbot.waitUntil(lambda: feed.take().codes.tolist().count(DONE) == 2, timeout=DEADLINE)
        assert feed.take().shown.frame == 0
        feed.set_wanted(True)
        qtbot.waitUntil(lambda: feed.take().shown.frame == 1, timeout=DEADLINE)
    finally:
        feed.stop()
