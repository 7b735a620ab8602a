"""What is typed and shown: values with units, file names with numbers, plans, figures, gaps."""

from __future__ import annotations

import math

import pytest

from penstock.gui.model.attributes.attribute import Attribute, BadText
from penstock.gui.model.files.next_file import BadName, FileName, parse
from penstock.gui.model.series.account import FATES, account
from penstock.gui.model.series.plan import plan
from penstock.gui.model.tango.answers import lost_in_words, read_last_series
from penstock.gui.panel.fields.line import one_line
from penstock.gui.words import capital, date_and_clock, duration, size, when

EXPOSURE = Attribute(name="ExposureTime", kind=float, writable=True, unit="s", minimum=1e-5, maximum=10.0)
TRIGGERS = Attribute(name="nTriggers", kind=int, writable=True, minimum=1.0)


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.1", 0.1), ("20 ms", 0.02), ("1e-3", 0.001), (" 10us ", 1e-5), ("0.02 s", 0.02), (".5", 0.5)],
)
def test_a_number_may_bear_a_unit(text: str, value: float) -> None:
    assert EXPOSURE.parse(text) == value


@pytest.mark.parametrize(
    ("attribute", "text", "sentence"),
    [
        (EXPOSURE, "0,1", "the decimal mark is a point"),
        (EXPOSURE, "1,500 s", "the decimal mark is a point, and thousands need no mark"),
        (EXPOSURE, "5,000,000", "5,000,000 is outside its limits"),
        (EXPOSURE, "1 h", "is no number, in s or with ms, us, µs, min"),
        (EXPOSURE, "soon", '"soon" is no number'),
        (EXPOSURE, "", "is no number"),
        (EXPOSURE, "20", "20 is outside its limits, 1e-05 to 10 s"),
        (EXPOSURE, "1e999", "is too large"),
        (TRIGGERS, "2.5", "is a whole number"),
        (TRIGGERS, "0", "outside its limits, 1 or more"),
        (Attribute(name="Pattern", kind=str, choices=("powder", "ramp")), "rings", "not one of powder, ramp"),
        (Attribute(name="SaveRaw", kind=bool), "perhaps", "neither yes nor no"),
        (
            Attribute(name="Faults", kind=str),
            "drop=π样",
            'Western European letters only (Latin-1), and not "π样"',
        ),
    ],
)
def test_what_is_no_value_is_refused_with_a_sentence(attribute: Attribute, text: str, sentence: str) -> None:
    with pytest.raises(BadText, match=attribute.label) as refused:
        attribute.parse(text)
    assert sentence in str(refused.value)


def test_what_is_shown_is_what_is_parsed() -> None:
    for value in (0.1, 1 / 3, 1e-5, 3.3333):
        shown = EXPOSURE.show(value)
        assert EXPOSURE.parse(shown) == float(shown)
    assert EXPOSURE.show(None) == "–"
    assert EXPOSURE.with_unit(0.5) == "0.5 s"
    assert Attribute(name="SaveRaw", kind=bool).show(True) == "yes"
    assert Attribute(name="Humidity", kind=float, format="%4.1f").show(4.2) == "4.2"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (49.7512437811, "49.75"), (0.0201, "0.0201"), (0.0180001, "0.0180001"), (1 / 3, "0.3333"),
        (12398.4198, "12,398.42"), (5e6, "5,000,000"), (1.23456789e-7, "1.235e-07"), (1e12, "1e+12"),
        (-1234.5, "-1,234.5"), (0.0, "0"), (math.inf, "inf"),
    ],
)  # fmt: skip
def test_a_number_is_shown_with_the_digits_that_say_something(value: float, shown: str) -> None:
    assert EXPOSURE.brief(value) == shown


def test_whole_numbers_have_commas_between_thousands_and_take_them() -> None:
    assert TRIGGERS.brief(2147483647) == "2,147,483,647"
    assert TRIGGERS.with_unit(1000) == "1,000"
    assert (TRIGGERS.parse("2,147,483"), TRIGGERS.parse("1,000"), TRIGGERS.parse("10")) == (2147483, 1000, 10)
    energy = Attribute(name="Energy", kind=float, unit="eV")
    assert (energy.parse("12,398.5"), energy.parse("1,234,567 eV")) == (12398.5, 1234567.0)


@pytest.mark.parametrize(
    ("pasted", "line"),
    [
        ("/data/visitors\n", "/data/visitors"), ("\r\n a\r\n", "a"), ("two\nlines", "two lines"),
        ("a\tb\x00c", "a bc"), ("gro\u0308\u00dfe", "größe"), ("样品 π", "样品 π"),
    ],
)  # fmt: skip
def test_what_is_pasted_becomes_one_line(pasted: str, line: str) -> None:
    assert one_line(pasted, len(pasted))[0] == line


def test_a_line_end_that_is_pasted_into_a_line_goes_and_the_cursor_stays_behind_it() -> None:
    assert one_line("scan_new\n_0001", len("scan_new\n")) == ("scan_new_0001", len("scan_new"))


@pytest.mark.parametrize(
    ("before", "given", "now", "said"),
    [
        (0.1, 0.02, 0.02, "Exposure time: 0.1 s → 0.02 s"),
        (0.1, 0.1, 0.1, "Exposure time: 0.1 s → 0.1 s"),
        (0.1, 0.02, 0.1, "Exposure time: 0.02 s written; still 0.1 s"),
        (None, 0.02, 0.02, "Exposure time: – → 0.02 s"),
    ],
)
def test_what_came_of_a_write(before: float | None, given: float, now: float, said: str) -> None:
    assert EXPOSURE.change(before, given, now) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("the box is off.", "The box is off."),
        ("http://dcu cannot be reached.", "http://dcu cannot be reached."),
        ("", ""),
    ],
)
def test_a_sentence_begins_with_a_capital_and_an_address_does_not(text: str, said: str) -> None:
    assert capital(text) == said


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/data/v/scan_0012.h5", FileName("/data/v", "scan_####.h5", 12)),
        ("/data/ceo2.h5", FileName("/data", "ceo2.h5", 1)),
        ("/data/20250001_raw_007.nxs", FileName("/data", "20250001_raw_###.nxs", 7)),
        ("/data/scan_0012_dark.h5", FileName("/data", "scan_####_dark.h5", 12)),
        ("", FileName()),
    ],
)
def test_a_file_name_is_taken_apart_and_put_together(path: str, name: FileName) -> None:
    assert parse(path) == name
    assert name.path() == path


def test_a_number_that_grows_keeps_its_digits() -> None:
    assert FileName("/data", "scan_###", 999).next().path() == "/data/scan_1000.h5"
    assert FileName("/data", "scan.nxs", 4).numbered is False


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (FileName("/data", "a/b.h5"), 'without "/"'),
        (FileName("", "a.h5"), "the folder is not known yet"),
        (FileName("/data", "a#_#.h5"), "two places"),
    ],
)
def test_what_is_no_file_name_is_refused_with_a_sentence(name: FileName, sentence: str) -> None:
    with pytest.raises(BadName, match=sentence):
        name.path()


def test_the_plan_in_a_line() -> None:
    values = {
        "nTriggers": 1000, "nFramesPerTrigger": 1, "FrameTime": 0.02, "FrameBytes": 2_000_000,
        "TriggerMode": "INTERNAL",
    }  # fmt: skip
    assert plan(values).sentence() == "1,000 frames, 20 s, 2 GB"
    assert plan({**values, "TriggerMode": "SOFTWARE"}).sentence() == "1,000 frames, at least 20 s, 2 GB"
    assert plan({"nTriggers": 1, "nFramesPerTrigger": 1}).sentence() == "1 frame"


def test_the_account_sums_to_what_was_planned() -> None:
    values = {
        "nFramesPlanned": 100, "nFramesWritten": 50, "nFramesMissing": 2, "nFramesCorrupt": 1,
        "nFramesNotTriggered": 7, "nFramesPending": 40, "FrameRateMeasured": 10.0,
    }  # fmt: skip
    found = account(values)
    assert sum(found.fates.values()) == found.planned
    assert (found.done, found.lost) == (53, 3)
    assert found.seconds_left(0.1) == pytest.approx(4.7)
    assert set(found.fates) == set(FATES)
    assert account({"nFramesPlanned": -1}).seconds_left(0.1) is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"), (2e-5, "20 µs"), (0.08, "80 ms"), (12.5, "12.5 s"), (59.96, "60 s"), (185, "3 min 5 s"),
        (7200, "2 h 0 min"), (97200, "1 d 3 h"),
    ],
)  # fmt: skip
def test_a_duration_in_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_a_size_in_words() -> None:
    assert [size(count) for count in (12, 812_000, 1.25e9, 3e12)] == ["12 B", "812 kB", "1.25 GB", "3 TB"]


def test_gaps_in_words() -> None:
    assert lost_in_words([(12, 15, "missing"), (40, 40, "missing"), (7, 7, "corrupt")]) == (
        "missing 12–15, 40; corrupt 7"
    )
    many = [(n, n, "not_triggered") for n in range(0, 40, 2)]
    assert lost_in_words(many).endswith("; and more")


def test_the_last_series_is_read() -> None:
    text = '{"series": "s1", "file": "/d/x.h5", "complete": false, "lost": [[1, 2, "missing"]], "new_key": 1}'
    last = read_last_series(text)
    assert last is not None
    assert last.lost == [(1, 2, "missing")]
    assert read_last_series("") is None


def test_a_whole_number_keeps_all_its_digits() -> None:
    mask = Attribute(name="Mask", kind=int, maximum=2147483647.0)
    assert Attribute(name="Mask", kind=int).parse(" 1234567890123456789 ") == 1234567890123456789
    with pytest.raises(BadText, match="2147483648 is outside its limits, 2,147,483,647 at most"):
        mask.parse("2147483648")


@pytest.mark.parametrize(
    ("style", "value", "shown"),
    [("scientific", 0.25, "0.25"), ("%d", math.nan, "nan"), ("%d", 2.0, "2"), ("%x", 2.5, "2.5")],
)
def test_a_format_that_python_does_not_know_hides_no_value(style: str, value: float, shown: str) -> None:
    assert Attribute(name="Current", kind=float, format=style).show(value) == shown


def test_times_that_cannot_be_are_said_as_such() -> None:
    assert plan(
        {"nTriggers": 1, "nFramesPerTrigger": 1, "FrameTime": math.inf, "TriggerMode": "INTERNAL"}
    ).sentence() == ("1 frame, more than 100 years")
    assert duration(math.nan) == "more than 100 years"
    assert "1970" in when(1e300, 1.7e9)
    assert "1970" in date_and_clock(-math.inf)
