"""One receiver on many cores: bars, limits and report, from figures."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from penstock.bench.cores import Found
from penstock.bench.cores_bars import Bar, bars, limits
from penstock.bench.cores_report import about, report, table
from penstock.bench.cores_series import Setup, Take

TWO_MB = Setup(frame_bytes=2_000_000, sockets=4)


def take(gbps: float, *, cpu: float = 2.0, loop: float = 0.5, io: float = 1.0, sender: float = 1.0) -> Take:
    """A series of one second."""
    return Take(
        frames=500, nbytes=int(gbps * 1e9), seconds=1.0, cpu_seconds=cpu, loop_seconds=loop, io_seconds=io,
        sender_seconds=sender,
    )  # fmt: skip


def found(setup: Setup, penstock: float, c: float, **busy: float) -> Found:
    return Found(setup=setup, frames=500, penstock=[take(penstock, **busy)], c=[take(c)])


def files(number: int, penstock: float, c: float, **busy: float) -> Found:
    return found(replace(TWO_MB, files=number), penstock, c, **busy)


# -- bars and limits -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gbps", "required", "c_gbps", "reached"),
    [
        (8.0, 8.0, 20.0, True),
        (7.9, 8.0, 20.0, False),
        (6.8, 8.0, 8.0, True),  # 0.85 of the C program's is less
        (6.7, 8.0, 8.0, False),
        (float("nan"), 8.0, 8.0, False),
        (6.0, float("nan"), 8.0, False),
        (7.9, 8.0, float("nan"), False),
    ],
)
def test_a_bar_is_its_rate_or_a_share_of_the_c_programs(
    gbps: float, required: float, c_gbps: float, reached: bool
) -> None:
    assert Bar(name="", gbps=gbps, required=required, c_gbps=c_gbps).reached is reached


def test_the_bars_of_what_was_measured() -> None:
    one, live = replace(TWO_MB, sockets=1, files=1), TWO_MB
    measured = [
        files(1, 3.0, 3.0), files(2, 5.0, 6.0), files(4, 8.5, 9.0), files(6, 7.0, 11.0), found(one, 3.0, 4.0),
        found(replace(one, streams=2, files=2), 5.0, 7.0), found(replace(one, streams=4, files=4), 9.0, 14.0),
        found(replace(one, streams=2, files=0), 0.0, 9.0), found(replace(live, sockets=1), 4.0, 4.0),
        found(live, 10.5, 16.0), found(replace(live, frame_bytes=200_000), 3.0, 9.0),
    ]  # fmt: skip

    assert [
        (bar.name, bar.gbps, bar.c_gbps, round(bar.required, 3), bar.reached) for bar in bars(measured)
    ] == [
        ("2 MB into 4 or 6 files", 8.5, 11.0, 8.0, True),
        ("2 modules of 2 MB", 5.0, 7.0, 4.8, True),
        ("4 modules of 2 MB", 9.0, 14.0, 9.6, False),
        ("2 MB, live, 4 sockets", 10.5, 16.0, 10.0, True),
    ]
    for each in measured:
        each.wrong = "a series was not complete"
    assert not any(bar.reached for bar in bars(measured))


@pytest.mark.parametrize(
    ("each", "sets", "wanted"),
    [
        (files(2, 5.0, 9.0), (6, 10), []),
        (files(2, 9.0, 12.0), (6, 10), ["sender"]),  # 0.9 of its ceiling
        (files(2, 5.0, 9.0, sender=5.5), (6, 10), ["sender"]),
        (files(1, 5.0, 9.0, cpu=9.5, io=3.5), (6, 10), ["cores"]),
        (files(1, 5.0, 9.0, cpu=9.0, sender=5.5, io=3.5), (None, None), ["cores"]),
        (files(2, 5.0, 9.0, loop=0.95), (6, 10), ["loop"]),
        (files(2, 5.0, 9.0, cpu=4.5, io=3.7), (6, 10), ["ZeroMQ"]),
        (files(2, 5.0, 9.0, cpu=4.0), (6, 10), ["files"]),  # less 0.5 and 1.0: two threads and more
        (files(2, 5.0, 5.2), (6, 10), ["C"]),
    ],
)  # fmt: skip
def test_what_held_the_receiver_up(
    each: Found, sets: tuple[int | None, int | None], wanted: list[str]
) -> None:
    ceiling = found(TWO_MB, 9.0, 10.0)

    assert limits(each, [each, ceiling], *sets, cores=16) == wanted


# -- the report ------------------------------------------------------------------------------------


def test_the_table_says_which_setup_has_no_figures_and_what_limits_the_others() -> None:
    bad = files(2, 5.0, 9.0)
    bad.wrong = "a series was not complete"
    console = Console(width=120, record=True, file=StringIO())
    sets = list(range(6)), list(range(6, 16))

    console.print(table([files(1, 3.0, 6.0, loop=0.95), bad, found(TWO_MB, 9.0, 10.0)], sets, 16))

    rows = [" ".join(line.split()) for line in console.export_text().splitlines()]
    assert "2 MB files: 1 3.00 6.00 0.50 10.00 4,000 1,900 loop" in rows
    assert "files: 2 no figures" in rows


@pytest.mark.parametrize(
    ("number", "sets", "load", "said", "others"),
    [
        (16, ([10, 11, 12, 15], [0, 1]), 1.0, "sender on cores 10-12, 15, receiver and C program on 0-1", []),
        (2, None, 0.0, "sender and receiver share 2 cores", ["not measured"]),
        (16, None, 2.3, "share 16 cores", ["load average of one minute: 2.3"]),
    ],
    ids=["many", "few", "other programs"],
)
def test_the_report_says_where_and_what_the_figures_do_not_say(
    number: int, sets: tuple[list[int], list[int]] | None, load: float, said: str, others: list[str]
) -> None:
    first, *rest = about(range(number), sets, "tmpfs of /dev/shm", load, [files(1, 3.0, 3.0)])

    assert said in first and "from 4 sockets" in first and "500 of 2 MB" in first
    assert [other in sentence for other, sentence in zip(others, rest, strict=True)] == [True] * len(others)


def test_without_a_compiler_it_cannot_be_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    with pytest.raises(RuntimeError, match="there is no C compiler here; to install one: apt-get"):
        report(tmp_path, 1, as_json=True)
    assert not list(tmp_path.iterdir())
