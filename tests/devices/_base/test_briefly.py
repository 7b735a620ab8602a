"""Calls that a command does not wait for."""

from __future__ import annotations

import logging
import threading

import pytest

from penstock.devices._base import briefly as module
from penstock.devices._base.briefly import briefly


def test_a_quick_call_has_returned_and_its_error_is_raised() -> None:
    seen: list[int] = []
    assert briefly(lambda: seen.append(1), "a call")
    assert seen == [1]
    with pytest.raises(ZeroDivisionError):
        briefly(lambda: 1 / 0, "a call")


def test_a_slow_call_goes_on_and_its_error_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "WAIT", 0.01)
    go, gone = threading.Event(), threading.Event()

    class Seen(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            gone.set()

    handler = Seen()
    module.log.addHandler(handler)

    def slow() -> None:
        go.wait(5)
        raise ValueError("no")

    try:
        assert not briefly(slow, "a slow call")
        go.set()
        assert gone.wait(5)
    finally:
        module.log.removeHandler(handler)
    assert "a slow call: no" in caplog.text
