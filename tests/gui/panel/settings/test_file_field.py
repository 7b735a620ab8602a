"""Where the next series goes."""

from __future__ import annotations

from typing import Any

import pytest
from silx.gui import qt

from penstock.gui.panel.settings.file_field import FileField
from penstock.gui.panel.settings.folders import FolderDialog
from penstock.receiver.client import ReceiverRefused
from penstock.receiver.models import Folders
from tests.gui.panel.conftest import DEADLINE, OpenedPanel


@pytest.fixture
def file(opened: OpenedPanel) -> FileField:
    opened.appear()
    field = opened.panel.settings.file
    assert field is not None
    return field


def type_into(opened: OpenedPanel, line: Any, text: str, then: Any = None) -> None:
    line.selectAll()
    opened.qtbot.keyClicks(line, text)
    if then is not None:
        opened.qtbot.keyClick(line, then)


def test_the_devices_name_is_shown_in_its_parts(opened: OpenedPanel, file: FileField) -> None:
    assert (file.folder.text(), file.template.text(), file.number.value()) == ("/data", "scan_####.h5", 1)
    opened.until(lambda: "New" in file.says())
    assert file.says() == "New, 20 kB of 1 TB free."
    assert file.path.whole() == "/data/scan_0001.h5"


def test_a_template_is_written_with_enter(opened: OpenedPanel, file: FileField) -> None:
    type_into(opened, file.template, "ceo2_##")
    opened.until(lambda: file.template.property("look") == "edit")
    assert file.path.whole() == "/data/ceo2_01.h5"
    assert opened.device.written == []
    file.number.setValue(7)
    opened.qtbot.keyClick(file.number, qt.Qt.Key_Return)
    opened.until(lambda: opened.device.written == [("DestinationFilename", "/data/ceo2_07.h5")])
    opened.until(lambda: file.template.property("look") == "")
    # What the user meant is kept, which the path alone does not say.
    assert (file.template.text(), file.number.value()) == ("ceo2_##", 7)


def test_a_name_that_is_none_cannot_be_armed(opened: OpenedPanel, file: FileField) -> None:
    type_into(opened, file.template, "a_#_b_#", qt.Qt.Key_Return)
    opened.until(lambda: file.template.property("look") == "problem")
    assert "two places for a number" in file.says()
    opened.button("Arm").click()
    opened.until(lambda: "two places for a number" in opened.panel.actions_bar.notice())
    assert opened.device.written == opened.device.called == []
    opened.qtbot.keyClick(file.template, qt.Qt.Key_Escape)
    opened.until(lambda: file.template.text() == "scan_####.h5")


def test_without_a_name_it_is_live_view_only(opened: OpenedPanel, file: FileField) -> None:
    file.template.selectAll()
    opened.qtbot.keyClick(file.template, qt.Qt.Key_Delete)
    opened.qtbot.keyClick(file.template, qt.Qt.Key_Return)
    opened.until(lambda: opened.device.written == [("DestinationFilename", "")])
    opened.until(lambda: file.says() == "Live view only: nothing is written.")
    assert file.template.placeholderText() == "live view only, nothing is written"
    assert file.folder.text() == "/data"  # for the next name


def test_a_name_that_is_taken_offers_the_next_free_number(opened: OpenedPanel, file: FileField) -> None:
    assert not file.next_free.isEnabled()
    opened.device.check.update(ok=False, kind="file_exists", sentence="/data/scan_0002.h5 exists")
    opened.device.say(DestinationFilename="/data/scan_0002.h5")
    opened.until(file.next_free.isEnabled)
    assert file.says() == "▲ This file exists already."


def test_a_disk_that_is_too_small_is_said(opened: OpenedPanel, file: FileField) -> None:
    opened.device.check.update(bytes=2 * 10**12)
    opened.device.say(nTriggers=10**9)
    opened.until(lambda: file.says() == "▲ 2 TB are planned, and 1 TB free.")


def test_of_a_device_that_is_away_nothing_is_said_that_may_not_hold(
    opened: OpenedPanel, file: FileField
) -> None:
    opened.until(lambda: file.says().startswith("New"))
    opened.device.vanish()
    opened.until(lambda: not file.says())


def test_a_fixed_name_does_not_count_and_says_why(opened: OpenedPanel, file: FileField) -> None:
    type_into(opened, file.template, "ceo2_100.h5", qt.Qt.Key_Return)
    opened.until(lambda: ("DestinationFilename", "/data/ceo2_100.h5") in opened.device.written)
    opened.until(lambda: not file.counts_up.isEnabled())
    assert "write #### where it belongs" in file.number.toolTip()


# -- the dialog ------------------------------------------------------------------------------------

TREE = {"": ["visitors", "staff"], "visitors": ["2025"], "visitors/2025": ["raw"], "visitors/2025/raw": []}


class Receiver:
    def folders(self, under: str = "") -> Folders:
        if under not in TREE:
            raise ReceiverRefused("not_a_folder", f"{under} is not there")
        parent = under.rpartition("/")[0] if under else None
        return Folders(root="/gpfs", under=under, parent=parent, folders=sorted(TREE[under]), more=0)


def dialog(qtbot: Any, folder: str) -> FolderDialog:
    opened = FolderDialog(Receiver(), folder, lambda root: "/mxn")
    qtbot.addWidget(opened)
    opened.show()
    return opened


def names(opened: FolderDialog) -> list[str]:
    return [opened.list.item(row).text() for row in range(opened.list.count())]


def test_folders_are_walked_through_with_the_keyboard(qtbot: Any) -> None:
    opened = dialog(qtbot, "/elsewhere")
    qtbot.waitUntil(lambda: names(opened) == ["staff", "visitors"], timeout=DEADLINE)
    opened.list.setFocus()
    opened.list.setCurrentRow(1)
    assert opened.result_folder() == "/mxn/visitors"
    qtbot.keyClick(opened.list, qt.Qt.Key_Return)
    qtbot.waitUntil(lambda: names(opened) == ["..", "2025"], timeout=DEADLINE)
    qtbot.keyClick(opened.list, qt.Qt.Key_Backspace)
    qtbot.waitUntil(lambda: names(opened) == ["staff", "visitors"], timeout=DEADLINE)
    qtbot.keyClicks(opened.new, "tests/today")
    with qtbot.waitSignal(opened.chosen) as chosen:
        qtbot.keyClick(opened.new, qt.Qt.Key_Return, qt.Qt.ControlModifier)
    assert chosen.args == ["/mxn/tests/today"]


def test_it_begins_where_the_file_is(qtbot: Any) -> None:
    opened = dialog(qtbot, "/mxn/visitors/2025")
    qtbot.waitUntil(lambda: names(opened) == ["..", "raw"], timeout=DEADLINE)
    assert opened.result_folder() == "/mxn/visitors/2025"


def test_a_receiver_that_does_not_answer_is_said(qtbot: Any) -> None:
    class Silent:
        def folders(self, under: str = "") -> Folders:
            raise ReceiverRefused("hung", "the disk does not answer")

    opened = FolderDialog(Silent(), "/data", lambda root: root)
    qtbot.addWidget(opened)
    qtbot.waitUntil(lambda: opened.says() == "▲ the disk does not answer", timeout=DEADLINE)
    assert not opened.use.isEnabled()
