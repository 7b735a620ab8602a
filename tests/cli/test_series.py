"""`penstock series`: yesterday's series and its file, from a terminal."""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from penstock.cli.main import main
from penstock.cli.series import MOST, moment
from penstock.receiver.models import Counts, PastSeries, Series
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer

DAY, HOUR = 86_400.0, 3_600.0


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReceiverProcess]:
    """One that has a past: a complete series, one with a gap, one that was not taken, all days ago, and a
    live view of just now."""
    folder = tmp_path_factory.mktemp("series")
    now = time.time()

    def past(
        id: str, ago: float, file: str | None, complete: bool, reason: str, **keys: object
    ) -> PastSeries:
        started = now - ago
        series = Series(
            id=id, filename=file, active=False, complete=complete, reason=reason,
            started=started, ended=started + 4, taken=id != "c",
        )  # fmt: skip
        return PastSeries(series=series, counts=Counts(**keys))  # type: ignore[arg-type]

    kept = [
        past("a", 3 * DAY, "/data/a.h5", True, "all 5 frames are there", planned=5, stored=5),
        past(
            "b",
            2 * DAY - HOUR,
            "/data/b b.h5",
            False,
            "3 of 5 frames: 2 missing",
            planned=5,
            stored=3,
            missing=2,
        ),
        past("c", 1.9 * DAY, None, False, "not taken: the disk is full", planned=5),
    ]
    journal = folder / "data" / ".penstock"
    journal.mkdir(parents=True)
    (journal / "sim-1.series.jsonl").write_bytes(b"".join(msgspec.json.encode(item) + b"\n" for item in kept))
    streamer = Streamer()
    running = ReceiverProcess(folder, streamer.endpoint)
    running.ended(streamer.series_of("", 2))
    yield running
    running.close()
    streamer.close()


@pytest.fixture
def series(receiver: ReceiverProcess, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def say(*options: str) -> str:
        assert main(["series", receiver.client.url, *options]) == 0
        return capsys.readouterr().out

    return say


def test_each_series_has_a_line_newest_first_and_what_is_wrong_with_it_below(
    series: Callable[..., str],
) -> None:
    heading, *lines = series().splitlines()
    assert re.split(r"  +", heading) == ["started", "ended", "frames", "verdict", "file"]
    assert [re.split(r"  +", line)[2:] for line in lines if not line.startswith(" ")] == [
        ["2 of 2", "complete", "no file"],
        ["0 of 5", "NOT taken", "no file"],
        ["3 of 5", "NOT complete", "/data/b b.h5"],
        ["5 of 5", "complete", "/data/a.h5"],
    ]
    assert [line for line in lines if line.startswith(" ")] == [
        "  the disk is full", "  3 of 5 frames: 2 missing",
    ]  # fmt: skip


def test_times_are_local_and_the_day_is_said_once(series: Callable[..., str]) -> None:
    started = re.split(r"  +", series().splitlines()[1])[0]
    assert abs(datetime.fromisoformat(started) - datetime.now()) < timedelta(minutes=5)


def test_only_so_many_and_only_since_a_moment(series: Callable[..., str]) -> None:
    assert series("--limit", "1").count(" of ") == 1
    since = series("--since", "2d")
    assert "NOT taken" in since and "/data/a.h5" not in since and "/data/b b.h5" in since
    assert series("--since", "7d", "--limit", "2").count("\n20") == 2


def test_none_since_then_says_when_the_last_one_was(series: Callable[..., str]) -> None:
    later = (datetime.now() + timedelta(days=2)).isoformat(timespec="minutes")
    assert re.fullmatch(r"no series since .*; the last one ended \d{4}-.*\n", series("--since", later))


def test_json_is_one_series_per_line(receiver: ReceiverProcess, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["series", "--json", receiver.client.url]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [item["series"]["id"] for item in found][1:] == ["c", "b", "a"]
    assert found[2]["counts"]["missing"] == 2


def test_a_receiver_that_has_had_none_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    running = ReceiverProcess(tmp_path, "tcp://127.0.0.1:1")
    try:
        assert main(["series", running.client.url]) == 0
        assert capsys.readouterr().out == "no series yet\n"
        assert main(["series", running.client.url, "--json"]) == 0
        assert capsys.readouterr() == ("", "no series yet\n")
    finally:
        running.close()


def test_moments_are_days_times_and_times_ago() -> None:
    now = datetime.now()
    midnight = datetime(now.year, now.month, now.day)
    assert moment("today") == midnight.timestamp()
    assert moment("yesterday") == (midnight - timedelta(days=1)).timestamp()
    assert moment("90m") == pytest.approx(time.time() - 5400, abs=5)
    assert moment("12h") == pytest.approx(time.time() - 12 * 3600, abs=5)
    assert moment("2026-03-01") == datetime(2026, 3, 1).timestamp()
    assert moment("2026-03-01T18:00") == datetime(2026, 3, 1, 18).timestamp()


@pytest.mark.parametrize(
    "text", ["", "tomorrow", "12", "h", "12w", "2026-13-01", "-3d", "999999d", "0001-01-01"]
)
def test_what_is_no_moment_is_refused_with_those_that_are(text: str) -> None:
    with pytest.raises((argparse.ArgumentTypeError, SystemExit), match="give today, yesterday"):
        moment(text)


def test_more_than_is_kept_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["series", "--limit", str(MOST + 1)]) == 2
    assert f"{MOST + 1} is above {MOST}" in capsys.readouterr().err
