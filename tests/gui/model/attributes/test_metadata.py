"""Metadata as entries: what is shown of a JSON object, and what becomes of what is typed."""

from __future__ import annotations

import json

import pytest

from penstock.gui.model.attributes import metadata
from penstock.gui.model.attributes.metadata import FIELDS, KNOWN_KEYS, BadMetadata, Entry, explanation
from penstock.receiver.files.contents.known import USER, Kind

OTHERS = (
    '{"title": "T", "sample": {"name": "CeO2 \\u03c0", "temperature": 295}, '
    '"user_name": "A", "a.b": [1, null]}'
)


def test_the_known_keys_are_those_of_the_receiver() -> None:
    takes = {Kind.TEXT: "text", Kind.NUMBER: "number"}
    theirs = {
        key: ", ".join(place.choices) or ", ".join(filter(None, (takes[place.kind], place.units)))
        for key, place in USER.items()
    }
    assert theirs == KNOWN_KEYS
    assert {key for keys in FIELDS.values() for key in keys} <= USER.keys()
    for keys in FIELDS.values():  # the first of them that has a value is the one that the file gets
        assert [key for key in USER if key in keys] == list(keys)


def test_fields_and_rows_show_every_key_once() -> None:
    entries = metadata.read(OTHERS)
    assert {label: metadata.field_text(each) for label, each in metadata.fields(entries).items()} == {
        "Title": "T", "Sample": "CeO2 π", "User": "A",
    }  # fmt: skip
    assert [(each.key, each.text) for each in metadata.rows(entries)] == [
        ("sample.temperature", "295"), ("a.b", "[1, null]"),
    ]  # fmt: skip


def test_what_other_clients_have_written_is_kept() -> None:
    entries = metadata.with_field(metadata.read(OTHERS), "Sample", "样品")
    entries = metadata.with_field(entries, "Proposal", "20250001")
    written = metadata.write(entries)
    assert written.isascii()
    assert json.loads(written) == {
        "title": "T", "sample": {"name": "样品", "temperature": 295}, "user_name": "A", "a.b": [1, None],
        "proposal": "20250001",
    }  # fmt: skip
    assert metadata.write(metadata.with_field(metadata.read('{"title": "T"}'), "Title", "")) == "{}"
    assert metadata.read("") == metadata.read("{}") == []


def test_a_name_becomes_part_of_an_object_that_has_more() -> None:
    entries = [Entry(("sample",), "CeO2"), Entry(("sample", "temperature"), 295)]
    assert json.loads(metadata.write(entries)) == {"sample": {"name": "CeO2", "temperature": 295}}
    lists = metadata.with_field([Entry(("sample",), ["a", "b"])], "Sample", "a")
    assert json.loads(metadata.write(lists)) == {"sample": ["a", "b"], "sample_name": "a"}


@pytest.mark.parametrize(
    ("text", "value"),
    [("295", 295), ("2.5e-3", 0.0025), ("true", True), ("[1, 2]", [1, 2]), ('"17"', "17"), ("CeO2", "CeO2"),
     ("17 K", "17 K"), ("", ""), ("{}", {}), ("null", None), ('"quoted" text', '"quoted" text')],
)  # fmt: skip
def test_what_is_typed_is_a_number_where_it_looks_like_one(text: str, value: object) -> None:
    assert metadata.value_of(text) == value
    assert metadata.value_of(metadata.value_text(value)) == value


@pytest.mark.parametrize(
    ("entries", "sentence", "key"),
    [
        ([Entry(("a",), 1), Entry(("a",), 2)], 'the key "a" is there twice', "a"),
        ([Entry(("scan",), 1), Entry(("scan", "id"), 2)], '"scan" has a value', "scan.id"),
        ([Entry(("sample", "x"), 1), Entry(("sample",), [2])], '"sample" has a value', "sample.x"),
    ],
)
def test_keys_that_contradict_each_other_are_named(entries: list[Entry], sentence: str, key: str) -> None:
    with pytest.raises(BadMetadata, match=sentence) as refused:
        metadata.write(entries)
    assert refused.value.key == key


@pytest.mark.parametrize("text", ["[1]", "{", "7", '{"a": 1'])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(BadMetadata, match="Metadata is not"):
        metadata.read(text)


def test_a_key_without_one_of_its_parts_is_refused() -> None:
    assert metadata.path_of("sample.temperature") == ("sample", "temperature")
    with pytest.raises(BadMetadata, match="nothing on one side of a point"):
        metadata.path_of("sample.")


def test_texts_that_differ_in_words_only_are_the_same() -> None:
    assert metadata.same('{"a": "\\u03c0", "b": 1}', '{ "b":1,"a":"π" }')
    assert not metadata.same('{"a": 1}', '{"a": "1"}')
    assert metadata.escaped('{"a": "π😀"}') == '{"a": "\\u03c0\\ud83d\\ude00"}'
    assert metadata.readable('{"a": "\\u03c0"}') == '{"a": "π"}'


def test_a_key_says_what_becomes_of_it() -> None:
    assert explanation("sample.temperature").endswith("It takes: number, K.")
    assert "no place of its own" in explanation("weather")
    assert "Free-Electron Laser" in explanation("source.type")
