"""The window of a detector's programs on Kubernetes, with a real control."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("silx.gui.qt", reason="the panel needs the extra gui")
from silx.gui import qt

from penstock.cluster.models import Part
from penstock.gui.panel.programs import ProgramsDialog, question, why_not
from tests.cluster.conftest import DEPLOYMENTS
from tests.cluster.control_process import ControlProcess
from tests.cluster.kubernetes_stub import Kubernetes
from tests.gui.panel.conftest import OpenedPanel

DEADLINE = 20_000
"""Milliseconds."""
URL = "http://127.0.0.1:1"


@pytest.fixture
def control(tmp_path: Path) -> Iterator[tuple[Kubernetes, ControlProcess]]:
    with closing(Kubernetes(tmp_path, DEPLOYMENTS)) as kubernetes:
        made = ControlProcess(
            tmp_path, kubernetes, name="eiger", receiver={"deployment": "eiger-receiver", "url": URL},
            pipelines=[
                {"name": "spots", "deployment": "eiger-spots", "url": URL,
                 "workers": {"deployment": "eiger-spots-workers"}},
                {"name": "rings", "url": URL},
            ],
        )  # fmt: skip
        with closing(made):
            yield kubernetes, made


def part(**keys: Any) -> Part:
    return Part(
        **{"name": "x", "kind": "pipeline", "state": "running", "deployment": "d", "url": URL, **keys}
    )


def test_before_a_program_that_takes_a_series_is_stopped_it_is_asked() -> None:
    assert question(part(says="idle"), "Stop") == ""
    assert question(part(name="spots", says="running"), "Stop").startswith("A series runs. Stop spots?")
    said = question(part(name="receiver", kind="receiver", says="running"), "Restart")
    assert said.startswith("A series runs. Restart receiver? A receiver with on_terminate: resume goes on")
    assert why_not(None) and why_not(part(deployment="")) and not why_not(part())


def test_a_device_without_a_control_says_so(opened: OpenedPanel) -> None:
    opened.appear()
    assert opened.panel.show_programs() is None
    opened.until(lambda: "names no control" in opened.model.view().notice)


@pytest.mark.slow
def test_parts_are_listed_and_stopped_and_workers_are_set(
    opened: OpenedPanel, control: tuple[Kubernetes, ControlProcess]
) -> None:
    kubernetes, process = control
    opened.device.control_url = process.url
    opened.appear()
    dialog = opened.panel.show_programs()
    assert dialog is not None and opened.panel.show_programs() is dialog

    def until(holds: Callable[[], object]) -> None:
        opened.qtbot.waitUntil(lambda: bool(holds()), timeout=DEADLINE)

    def text(row: int, column: int) -> str:
        return str(dialog.table.model().index(row, column).data())

    until(lambda: text(3, 2) == "1 of 1")
    assert [text(row, 0) for row in range(4)] == ["receiver", "spots", "spots/workers", "rings"]
    assert not dialog.scale.isEnabled()
    dialog.table.selectRow(3)
    assert not dialog.stop.isEnabled() and "in the receiver's pod" in dialog.stop.toolTip()
    dialog.table.selectRow(2)
    until(lambda: text(2, 2) == "2 of 2")
    dialog.count.setValue(5)
    dialog.scale.click()
    until(lambda: text(2, 2) == "5 of 5")
    dialog.table.selectRow(1)
    dialog.stop.click()
    until(lambda: text(1, 1) == "off")
    dialog.start.click()
    until(lambda: text(1, 2) == "1 of 1")
    dialog.restart.click()
    until(lambda: len(kubernetes.patches) == 5 and text(1, 2) == "1 of 1")
    kubernetes.named.remove("eiger-spots")
    dialog.stop.click()
    until(lambda: "the Role does not name Deployment eiger-spots" in dialog.says())
    process.close()
    until(lambda: "does not answer" in dialog.says())
    dialog.close()


@pytest.mark.slow
def test_what_takes_a_series_is_stopped_only_after_a_yes(
    qtbot: Any, control: tuple[Kubernetes, ControlProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    kubernetes, process = control
    dialog = ProgramsDialog(process.url)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: dialog.current() is not None, timeout=DEADLINE)
    monkeypatch.setattr("penstock.gui.panel.programs.question", lambda part, does: f"{does} {part.name}?")
    dialog.restart.click()
    box = dialog.question()
    assert box is not None and box.text() == "Restart receiver?"
    box.button(qt.QMessageBox.No).click()
    qtbot.waitUntil(lambda: dialog.question() is None, timeout=DEADLINE)
    assert kubernetes.patches == []
    dialog.restart.click()
    dialog.question().button(qt.QMessageBox.Yes).click()  # type: ignore[union-attr]
    qtbot.waitUntil(lambda: len(kubernetes.patches) == 2, timeout=DEADLINE)
    dialog.close()
