"""A control of programs on Kubernetes that does not answer, as its device says it."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest

from penstock.devices._detector.programs import Programs
from penstock.devices._series.refusals import ArmRefused
from penstock.hosts.child import free_port

DEADLINE = 10.0


def test_wake_returns_at_once_and_what_is_wrong_is_said_later() -> None:
    changed, url = threading.Event(), f"http://127.0.0.1:{free_port()}"
    with closing(Programs(url, changed.set)) as programs:
        programs.wake()
        assert changed.wait(DEADLINE)
        said = f"Workers that were taken away do not come back: control at {url} does not answer"
        assert programs.sentence.startswith(said)


def test_a_restart_without_an_answer_is_refused_and_names_the_control() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with closing(Programs(url, lambda: None, limit=DEADLINE)) as programs:
        with pytest.raises(ArmRefused, match=f"not restarted by the control at {url}: control at") as refused:
            programs.restart()
        assert refused.value.kind == "not_restarted" and programs.sentence == ""


def test_without_a_control_nothing_is_asked() -> None:
    with closing(Programs("", lambda: None)) as programs:
        programs.wake()
        assert programs.sentence == ""
