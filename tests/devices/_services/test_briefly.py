"""Calls that a command does not wait for."""

from __future__ import annotations

import logging
import threading

import pytest

from penstock.devices._services import configuring as module
from penstock.devices._services.configuring import briefly


def test_a_quick_call_has_returned_and_its_error_is_raised() -> None:
    seen: list[int] = []
    assert briefly(lambda: seen.append(1), "a call")
    assert seen == [1]
    with pytest.raises(ZeroDivisionError):
        briefly(lambda: 1 / 0, "a call")


class Said(logging.Handler):
    """What was logged."""

    def __init__(self) -> None:
        super().__init__()
        self.text, self.there = "", threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.text = record.getMessage()
        self.there.set()


def test_a_slow_call_goes_on_and_its_error_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAIT", 0.01)
    go, said = threading.Event(), Said()

    def slow() -> None:
        go.wait(5)
        raise ValueError("no")

    module.log.addHandler(said)
    try:
        assert not briefly(slow, "a slow call")
        go.set()
        assert said.there.wait(5)
    finally:
        module.log.removeHandler(said)
    assert said.text == "a slow call: no"
