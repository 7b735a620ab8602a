"""Child processes are ready, or their failure is told; and they end."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest

from penstock.hosts import child
from penstock.hosts.child import PYTHON, Child, ProcessFailed, is_taken, next_free_port


def ready(line: str) -> str | None:
    return line if line.startswith("ready") else None


def python(code: str) -> list[str]:
    return [*PYTHON, "-c", code]


def test_the_ready_line_is_the_answer() -> None:
    code = "import sys; print('log', file=sys.stderr); print('ready 7', flush=True); sys.stdin.read()"
    with Child("a child", python(code), ready, lifeline=True) as child:
        assert child.answer == "ready 7"
        assert child.ended() is None
    assert child.exit_status() is not None


def test_a_child_that_ends_before_it_is_ready_is_told_with_its_last_words() -> None:
    with pytest.raises(ProcessFailed, match=r"ended with status 3 \(its last lines: no such port\), before"):
        Child("a child", python("import sys; sys.exit(print('no such port', file=sys.stderr) or 3)"), ready)


def test_a_child_that_is_never_ready_is_ended() -> None:
    pids: list[int] = []
    with pytest.raises(ProcessFailed, match=r"not ready within 0.5 s"):
        Child(
            "a child", python("import os, time; print(os.getpid(), flush=True); time.sleep(60)"), ready,
            deadline=0.5, relay=lambda line: pids.append(int(line)),
        )  # fmt: skip
    assert not Path(f"/proc/{pids[0]}").exists()


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(ProcessFailed, match="/no/such/program"):
        Child("a child", ["/no/such/program"], ready)


def test_a_child_that_ignores_sigterm_is_killed() -> None:
    code = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        "print('ready', flush=True); time.sleep(60)"
    )
    child = Child("a child", python(code), ready)
    begun = time.monotonic()
    child.stop(patience=0.3)
    assert time.monotonic() - begun < 3.0
    assert child.exit_status() == -9
    child.stop()


def test_a_talkative_child_never_blocks() -> None:
    code = "print('ready', flush=True)\nfor _ in range(20000): print('x' * 100)\n"
    with Child("a child", python(code), ready) as child:
        assert child.wait(20.0) == 0


def test_a_death_by_signal_is_told() -> None:
    with Child("a child", python("import time; print('ready', flush=True); time.sleep(60)"), ready) as child:
        os.kill(child.pid, 9)
        child.wait(5.0)
        assert child.ended() == "a child was killed by signal 9"


@pytest.mark.parametrize(("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)])
def test_a_port_is_taken_while_somebody_listens(host: str, family: socket.AddressFamily) -> None:
    with socket.create_server((host, 0), family=family) as server:
        port = server.getsockname()[1]
        assert is_taken(host, port)
        assert next_free_port(host, port) not in (0, port)
    assert not is_taken(host, port)


def test_an_address_that_is_not_ours_is_not_taken() -> None:
    assert not is_taken("192.0.2.1", 9999)


def test_a_free_port_is_given_once_and_those_that_follow_it_are_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "PORTS", range(21_000, 21_040))
    given = [child.free_port(3) for _ in range(5)]
    ports = [first + later for first in given for later in range(3)]
    assert len(set(ports)) == 15 and set(ports) <= set(range(21_000, 21_040))


def test_a_port_that_another_process_was_given_is_given_to_nobody_else_until_that_process_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = range(22_000, 22_003)
    monkeypatch.setattr(child, "PORTS", there)
    code = (
        "import sys; from penstock.hosts import child; "
        f"child.PORTS = range({there.start}, {there.stop}); "
        "print('ready', child.free_port(), child.free_port(), flush=True); sys.stdin.read()"
    )
    with Child("another process", python(code), ready, lifeline=True) as another:
        theirs = {int(port) for port in another.answer.split()[1:]}
        ours = child.free_port()
        assert {ours, *theirs} == set(there)
        with pytest.raises(ProcessFailed, match="none is free"):
            child.free_port()
    assert {child.free_port(), child.free_port()} == theirs


def test_the_last_ports_are_kept_and_those_before_are_given_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "PORTS", range(23_000, 23_003))
    monkeypatch.setattr(child, "_KEPT", 2)
    monkeypatch.setattr(child, "_kept", child._kept.copy())
    first, second, third = (child.free_port() for _ in range(3))
    assert child.free_port() == first and child.free_port() == second
    assert third not in (first, second)


def test_where_no_port_is_free_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = server.getsockname()[1]
        monkeypatch.setattr(child, "PORTS", range(taken, taken + 1))
        with pytest.raises(ProcessFailed, match=f"of the ports {taken} to {taken} none is free"):
            child.free_port()
