"""Tables and page say what the results say."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

from rich.console import Console

from penstock_bench.bars import verdicts
from penstock_bench.cases import CASES, Case
from penstock_bench.plots import FIGURES, draw_all
from penstock_bench.report import as_json, bars, cell, markdown, number, table, terminal, write_page
from tests.bench.canned import MACHINE, group, results, turns

BY_NAME = {case.name: case for case in CASES}


def printed(case: Case, *groups: object) -> list[str]:
    console = Console(width=160, file=StringIO(), record=True)
    console.print(terminal(table(case, groups)))  # type: ignore[arg-type]
    return [" ".join(line.split()) for line in console.export_text().splitlines()]


def test_a_table_has_a_row_for_each_contender_and_the_ratio_to_its_rival() -> None:
    rows = printed(
        BY_NAME["contenders"], group("contenders", "20 kB", turns(["penstock", "C: receive, pwrite"]))
    )
    assert "load frames/s GB/s receiver, µs loop, µs I/O, µs sender, µs times" in rows
    assert "20 kB penstock 901 ± 1 18.0 ± 0.0 150 ± 0 100 ± 0 50.0 ± 0.0 20.0 ± 0.0 1.29" in rows


def test_an_upright_table_has_a_row_for_each_figure() -> None:
    made = table(BY_NAME["profile"], results().of("profile")[:1])
    assert made.head == ["", "20 kB, penstock", "20 kB, naive"]
    assert ["loop: kernel: copies, %", "5", "5"] in made.rows


def test_what_a_table_shows_of_rounds_is_as_its_case_wants_it() -> None:
    case = BY_NAME["loop-4"]
    assert cell(case, [1.0, 900.0, 2.0]) == "2" and cell(case, []) == "" and cell(case, [0.0]) == "0"
    assert cell(case._replace(cell="longest"), [29.0, 255.0, 28.0]) == "29 (255)"
    assert cell(case._replace(cell="mean"), [1.0, 2.0, 3.0]) == "2.00 ± 0.58"
    numbers = [number(each) for each in (21850.4, 12.62, 0.4416, 0.01234, 5.0)]
    assert numbers == ["21,850", "12.6", "0.44", "0.0123", "5"]


def test_a_bar_that_is_not_reached_stands_out() -> None:
    slow = {"penstock": [{"frames/s": 10.0}], "C: receive, pwrite": [{"frames/s": 20.0}]}
    found = verdicts([group("contenders", "20 kB", slow)])
    assert "times C: receive, pwrite | 0.50 | ≥ 1 | **not reached** |" in markdown(bars(found))
    assert as_json(results(), found)["reached"] is False


def test_the_page_has_the_machine_every_figure_every_bar_and_the_notes(tmp_path: Path) -> None:
    draw_all(results(), tmp_path)
    write_page(results(), tmp_path / "results.md")
    text = (tmp_path / "results.md").read_text()
    assert MACHINE["processor"] in text and "tmpfs" in text and "ext4" in text and "contenders: 3" in text
    assert set(re.findall(r"\((\w+)\.svg\)", text)) == set(FIGURES)
    assert (
        "| contenders | 20 kB | penstock: frames/s, times C: receive, pwrite | 1.29 | ≥ 1 | reached |" in text
    )
    assert "| contenders | 20 kB | penstock: frames/s, times naive | 17.67 | ≥ 15 | reached |" in text
    assert "|  | penstock | 901 ± 1 | 18.0 ± 0.0 |" in text
    assert "not measured: perf is missing" in text


def test_what_was_not_measured_is_left_out(tmp_path: Path) -> None:
    some = results()
    some.groups = some.of("contenders")
    drawn = draw_all(some, tmp_path)
    write_page(some, tmp_path / "results.md")
    assert {file.stem for file in drawn} == {"contenders", "cpu"}
    assert set(re.findall(r"\((\w+)\.svg\)", (tmp_path / "results.md").read_text())) == {"contenders", "cpu"}
