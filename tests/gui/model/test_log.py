"""What a display shows of one or several logs."""

from __future__ import annotations

from penstock.gui.model.log import KINDS, Entry, Filter, Kind, Log, LogLines, as_text


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def texts(entries: list[Entry]) -> list[str]:
    return [entry.text for entry in entries]


def test_only_what_is_new_is_read() -> None:
    log = Log("sim/det/1")
    lines = LogLines([log])
    log.add(Kind.STATE, "first")
    assert [texts(new) for _, new in (lines.read(), lines.read())] == [["first"], []]
    log.add(Kind.DONE, "second")
    assert texts(lines.read()[1]) == ["second"]
    assert texts(lines.visible()) == ["first", "second"]


def test_several_logs_are_merged_by_time() -> None:
    clock = Clock()
    one, two = Log("sim/det/1", clock), Log("sim/det/2", clock)
    lines = LogLines([one, two])
    for log, text in ((two, "a"), (one, "b"), (two, "c")):
        log.add(Kind.STATE, text)
    assert texts(lines.read()[1]) == ["a", "b", "c"]


def test_the_oldest_go_and_those_that_were_shown_are_counted() -> None:
    log = Log("sim/det/1")
    lines = LogLines([log], most=4)
    lines.filter = Filter(kinds=frozenset({Kind.TROUBLE}))
    for kind in (Kind.TROUBLE, Kind.STATE, Kind.TROUBLE, Kind.STATE):
        log.add(kind, "old")
    assert (lines.read()[0], len(lines.visible())) == (0, 2)
    for text in ("new 1", "new 2"):
        log.add(Kind.TROUBLE, text)
    dropped, new = lines.read()
    assert (dropped, texts(new), texts(lines.visible())) == (1, ["new 1", "new 2"], ["old", "new 1", "new 2"])


def test_more_at_once_than_is_kept_leaves_the_newest() -> None:
    log = Log("sim/det/1")
    lines = LogLines([log], most=3)
    log.add(Kind.STATE, "0")
    lines.read()
    for number in range(1, 9):
        log.add(Kind.STATE, str(number))
    dropped, new = lines.read()
    assert (dropped, texts(new), texts(lines.visible())) == (1, ["6", "7", "8"], ["6", "7", "8"])


def test_a_filter_wants_every_word_in_whatever_case_and_one_of_the_kinds() -> None:
    entry = Entry(0, 1_700_000_000.0, Kind.TROUBLE, "sim/det/1", "Arm: refused. The file exists already.")
    assert Filter("FILE refused").fits(entry) and Filter("det/1").fits(entry) and Filter("  ").fits(entry)
    assert not Filter("file missing").fits(entry)
    assert not Filter("file", frozenset({Kind.STATE})).fits(entry)
    assert not Filter(kinds=frozenset()).fits(entry)


def test_text_has_a_line_per_entry_with_date_and_device() -> None:
    log = Log("sim/det/1", Clock())
    log.add(Kind.TROUBLE, "it\nbroke")
    log.add(Kind.DONE, "Reset")
    lines = as_text(log.since()).splitlines()
    assert [line[10:] for line in lines] == [
        f"{line[10:19]}  sim/det/1  {rest}"
        for line, rest in zip(lines, ("trouble it broke", "done    Reset"), strict=True)
    ]


def test_every_kind_has_its_words_and_trouble_a_sign() -> None:
    assert set(KINDS) == set(Kind)
    assert KINDS[Kind.TROUBLE].sign and all(words.word and words.tip for words in KINDS.values())
