"""The page of Metadata: fields of its own for a few keys, a table of all others, one attribute."""

from __future__ import annotations

import json
from typing import Any

import pytest
from silx.gui import qt

from penstock.gui.panel.settings.metadata_page import MetadataPage
from tests.gui.panel.conftest import OpenedPanel
from tests.gui.panel.fields.test_fields import enters

OTHERS = '{"title": "T", "sample": {"name": "CeO2 \\u03c0", "temperature": 295}, "weather": "rain"}'


@pytest.fixture
def page(opened: OpenedPanel) -> MetadataPage:
    opened.appear(Metadata=OTHERS)
    opened.panel.settings.show_tab("Metadata")
    page = opened.panel.settings.metadata
    assert page is not None
    return page


def replaces(opened: OpenedPanel, line: Any, text: str, then: Any = None) -> None:
    """Click into a line, and type another text."""
    opened.qtbot.mouseClick(line, qt.Qt.LeftButton)
    line.selectAll()
    if text.isascii():
        opened.qtbot.keyClicks(line, text)
    else:
        enters(line, text)
    if then is not None:
        opened.qtbot.keyClick(line, then)


def written(opened: OpenedPanel) -> Any:
    """The object that was written last; `None` for none."""
    return json.loads(str(opened.device.written[-1][1])) if opened.device.written else None


def rows(page: MetadataPage) -> list[tuple[str, str]]:
    return [(row.key.text(), row.value.text()) for row in page.rows]


def test_what_the_device_has_is_shown_in_fields_and_in_a_table(page: MetadataPage) -> None:
    assert {label: line.text() for label, line in page.fields.items()} == {
        "Title": "T", "Sample": "CeO2 π", "User": "", "Proposal": "",
    }  # fmt: skip
    assert rows(page) == [("sample.temperature", "295"), ("weather", "rain")]


@pytest.mark.parametrize("name", ["größe", "π", "样品"])
def test_a_sample_may_have_any_name_and_all_other_keys_are_kept(
    opened: OpenedPanel, page: MetadataPage, name: str
) -> None:
    replaces(opened, page.fields["Sample"], name)
    opened.until(lambda: page.fields["Sample"].property("look") == "edit")
    assert page.fields["Title"].property("look") == ""
    assert opened.device.written == []
    opened.until(lambda: "Typed and not written yet: Metadata." in opened.panel.actions_bar.says())
    opened.qtbot.keyClick(page.fields["Sample"], qt.Qt.Key_Return)
    opened.until(lambda: opened.device.written)
    assert str(opened.device.written[-1][1]).isascii()
    assert written(opened) == {
        "title": "T", "sample": {"name": name, "temperature": 295}, "weather": "rain",
    }  # fmt: skip
    opened.until(lambda: page.fields["Sample"].property("look") == "")
    assert page.fields["Sample"].text() == name


def test_a_key_is_added_changed_and_removed(opened: OpenedPanel, page: MetadataPage) -> None:
    opened.qtbot.mouseClick(page.add, qt.Qt.LeftButton)
    assert page.rows[-1].key.hasFocus()
    opened.qtbot.keyClicks(page.rows[-1].key, "scan_id")
    replaces(opened, page.rows[-1].value, "17")
    replaces(opened, page.rows[1].value, "sun")
    opened.qtbot.mouseClick(page.rows[0].remove, qt.Qt.LeftButton)
    opened.until(lambda: page.rows[-1].value.property("look") == "edit")
    assert opened.device.written == []
    opened.qtbot.keyClick(page.rows[-1].value, qt.Qt.Key_Return)
    opened.until(lambda: opened.device.written)
    assert written(opened) == {"title": "T", "sample": {"name": "CeO2 π"}, "weather": "sun", "scan_id": 17}
    assert rows(page) == [("weather", "sun"), ("scan_id", "17")]


def test_escape_brings_back_what_the_device_has(opened: OpenedPanel, page: MetadataPage) -> None:
    opened.qtbot.mouseClick(page.rows[0].remove, qt.Qt.LeftButton)
    replaces(opened, page.fields["User"], "somebody", qt.Qt.Key_Escape)
    opened.until(lambda: len(page.rows) == 2 and page.fields["User"].text() == "")
    assert opened.model.view().edits == {}
    assert opened.device.written == []


def test_what_is_typed_back_is_no_edit(opened: OpenedPanel, page: MetadataPage) -> None:
    replaces(opened, page.fields["Title"], "Tx")
    opened.until(lambda: "Metadata" in opened.model.view().edits)
    opened.qtbot.keyClick(page.fields["Title"], qt.Qt.Key_Backspace)
    opened.until(lambda: opened.model.view().edits == {})


def test_two_keys_of_one_name_are_said_where_they_are_and_nothing_is_written(
    opened: OpenedPanel, page: MetadataPage
) -> None:
    opened.qtbot.mouseClick(page.add, qt.Qt.LeftButton)
    replaces(opened, page.rows[-1].key, "weather")
    opened.until(lambda: page.rows[-1].key.property("look") == "problem")
    said = '▲ Metadata: the key "weather" is there twice'
    opened.until(lambda: opened.panel.settings.says() == said)
    assert page.says() == said.replace("Metadata: ", "")
    opened.qtbot.keyClick(page.rows[-1].key, qt.Qt.Key_Return)
    opened.button("Arm").click()
    opened.until(lambda: "Arm was not called: Metadata" in opened.panel.actions_bar.notice())
    assert opened.device.written == opened.device.called == []
    replaces(opened, page.rows[-1].key, "weather_2")
    opened.until(lambda: not opened.model.view().edits["Metadata"].problem)


def test_a_value_without_a_key_is_named(opened: OpenedPanel, page: MetadataPage) -> None:
    opened.qtbot.mouseClick(page.add, qt.Qt.LeftButton)
    replaces(opened, page.rows[-1].value, "5")
    opened.until(lambda: page.says() == '▲ the value "5" has no key')


def test_others_change_metadata_meanwhile(opened: OpenedPanel, page: MetadataPage) -> None:
    opened.device.say(Metadata='{"proposal": 20250001}')
    opened.until(lambda: page.fields["Proposal"].text() == "20250001")
    assert rows(page) == []
    replaces(opened, page.fields["User"], "me")
    assert page.fields["Proposal"].property("look") == ""
    opened.device.say(Metadata='{"proposal": 20250002}')
    opened.until(lambda: page.fields["Proposal"].property("look") == "edit")  # not what the device has now
    assert (page.fields["User"].text(), page.fields["Proposal"].text()) == ("me", "20250001")


def test_what_is_no_object_is_said_and_can_be_replaced(opened: OpenedPanel, page: MetadataPage) -> None:
    opened.device.say(Metadata="[1]")
    opened.until(lambda: page.says().startswith("▲ Metadata is not a JSON object"))
    replaces(opened, page.fields["Title"], "new", qt.Qt.Key_Return)
    opened.until(lambda: written(opened) == {"title": "new"})


def test_nothing_of_it_can_be_changed_while_a_series_runs(opened: OpenedPanel, page: MetadataPage) -> None:
    opened.device.say(State="RUNNING")
    opened.until(lambda: page.fields["Title"].isReadOnly())
    assert page.rows[0].value.isReadOnly()
    assert not page.rows[0].remove.isEnabled()
    assert not page.add.isEnabled()
    assert page.fields["Title"].toolTip().startswith("A series runs.")


def test_known_keys_are_offered(opened: OpenedPanel, page: MetadataPage) -> None:
    opened.qtbot.mouseClick(page.add, qt.Qt.LeftButton)
    key = page.rows[-1].key
    opened.qtbot.keyClicks(key, "temper")
    assert key.completer().currentCompletion() == "sample.temperature"
    assert "It takes: number, K." in page.rows[0].value.toolTip()
