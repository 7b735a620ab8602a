"""Waiting until the window has nothing else to do."""

from __future__ import annotations

from typing import Any

from penstock.gui.live.plot.screen import Idle


def test_what_has_come_since_is_waited_for_and_not_the_frame_before_it(qtbot: Any) -> None:
    called: list[str] = []
    replaced, later = Idle(lambda: called.append("replaced")), Idle(lambda: called.append("later"))
    replaced.wait(0.02)
    replaced.forget()

    later.wait(0.1)

    qtbot.waitUntil(lambda: bool(called))
    assert called == ["later"]


def test_work_is_followed_by_one_call(qtbot: Any) -> None:
    called: list[str] = []
    idle, last = Idle(lambda: called.append("idle")), Idle(lambda: called.append("last"))
    idle.wait(0.02)
    idle.wait(0.01)

    last.wait(0.2)

    qtbot.waitUntil(lambda: "last" in called)
    assert called == ["idle", "last"]
