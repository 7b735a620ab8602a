"""Prometheus reads what the receiver says, from one that runs; the page that describes it is complete."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3
from prometheus_client.parser import text_string_to_metric_families

from penstock.receiver.http.metrics import PREFIX, Scrape
from penstock.receiver.models import Counts, Status
from penstock.receiver.process.stage_times import LOSSES, QUEUES, STAGES, Measures
from tests.receiver.processes import DEADLINE, ReceiverProcess
from tests.streams import Streamer

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "http.md"
GOOD_OR_KNOWN = {
    "planned", "received", "stored", "delivered", "discarded", "pending", "flushed",
    "duplicate", "late", "stale",
}  # fmt: skip
"""Counts that are no loss: a duplicate and a late frame are in the file, a stale one was counted before."""


class Running:
    """A streamer and its receiver, with one consumer."""

    def __init__(self, folder: Path) -> None:
        self.streamer = Streamer()
        self.receiver = ReceiverProcess(
            folder, self.streamer.endpoint, min_free_mb=1,
            forward=[{"name": "reduction", "endpoint": "tcp://127.0.0.1:*"}],
        )  # fmt: skip
        self.receiver.connected()

    def text(self) -> str:
        answer = urllib3.request("GET", f"{self.receiver.client.url}/metrics", timeout=DEADLINE)
        assert answer.status == 200
        return answer.data.decode()

    def values(self) -> dict[tuple[str, ...], float]:
        """By name without the prefix, and further labels."""
        return {
            (
                sample.name.removeprefix(PREFIX),
                *(value for key, value in sorted(sample.labels.items()) if key != "receiver"),
            ): sample.value
            for family in text_string_to_metric_families(self.text())
            for sample in family.samples
        }

    def until(self, key: tuple[str, ...], value: float) -> dict[tuple[str, ...], float]:
        """The values once this one is reached: measures follow the status within half a second."""
        due = time.monotonic() + DEADLINE
        while (found := self.values()).get(key) != value:
            assert time.monotonic() < due, f"{key} is {found.get(key)}, not {value}"
        return found


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    made = Running(tmp_path_factory.mktemp("metrics"))
    yield made
    made.receiver.close()
    made.streamer.close()


def test_metrics_have_the_numbers_of_the_status(running: Running) -> None:
    running.streamer.send([b"no JSON"])
    running.streamer.start("", frames=9, trigger_mode="SOFTWARE")
    for number in range(3):
        running.streamer.frame(number)
    status = running.receiver.received(3)
    found = running.until(("frames_total",), 3)
    assert (found["state", "running"], found["state", "idle"], found["healthy",]) == (1, 0, 1)
    assert (found["series_frames", "delivered"], found["series_frames", "planned"]) == (3, 9)
    assert found["connections", running.streamer.endpoint] == 1
    assert found["bytes_total",] == 3 * 48
    for kind, number in status.errors.items():
        assert found["bad_messages_total", kind] == number
    assert found["drained_messages_total",] == status.drained
    assert found["consumer_lost_frames_total", "reduction"] == 3
    assert found["cpu_seconds_total",] > 0
    assert found["free_bytes",] == status.free_bytes
    running.streamer.end()
    running.receiver.ended(running.streamer.series)


def test_losses_are_counted_over_series_by_kind_once_a_series_has_ended(running: Running) -> None:
    before = running.values()
    for _ in range(2):
        running.streamer.start("", frames=5)
        running.streamer.frame(0)
        running.streamer.frame(3)
        running.streamer.frame(99_000_000)
        running.streamer.end(reason="stop", triggered=4, sent=4)
        running.receiver.ended(running.streamer.series)
    key = "lost_frames_total", "missing"
    found = running.until(key, before[key] + 4)
    assert found["lost_frames_total", "not_triggered"] - before["lost_frames_total", "not_triggered"] == 2
    assert found["lost_frames_total", "out_of_range"] - before["lost_frames_total", "out_of_range"] == 2
    assert found["series_frames", "missing"] == 2, "the last series alone"


def test_frames_of_a_series_whose_name_is_taken_are_counted_as_lost_and_so_is_its_refusal(
    running: Running,
) -> None:
    before = running.values()
    path = running.receiver.root / "taken.h5"
    running.receiver.ended(running.streamer.series_of(str(path), 1))
    running.streamer.series_of(str(path), 3)
    key = "lost_frames_total", "dropped"
    found = running.until(key, before[key] + 3)
    kind = "bad_messages_total", "file_exists"
    assert found[kind] - before.get(kind, 0) == 1
    assert (found["series_frames", "dropped"], found["series_frames", "stored"]) == (3, 0)


def test_the_stages_of_a_written_series_are_timed(running: Running) -> None:
    before = running.values()
    frames = 40
    running.streamer.start(str(running.receiver.root / "timed.h5"), frames=frames)
    for number in range(frames):
        running.streamer.frame(number, timestamp=time.time())
    running.streamer.end(reason="complete", triggered=frames, sent=frames)
    running.receiver.ended(running.streamer.series)
    key = "idle_seconds_count"
    found = running.until((key,), before[key,] + 1)
    for stage in ("receive", "decode", "check", "write", "forward", "message", "close"):
        number = found["stage_seconds_count", stage] - before["stage_seconds_count", stage]
        assert 0 < number <= frames + 3, stage
    assert 0 < found["stage_seconds_sum", "write"] < DEADLINE
    assert found["frame_latency_seconds_count",] > before["frame_latency_seconds_count",]
    assert 0 < found["idle_seconds_sum",] - before["idle_seconds_sum",] < DEADLINE
    assert found["queue_bytes", "unflushed"] == 0
    assert {key[1] for key in found if key[0] == "queue_bytes"} == set(QUEUES)


def test_after_a_death_a_series_without_further_frames_has_no_idle_time(running: Running) -> None:
    """The process that ends it has seen no frame of it."""
    series = running.streamer.start(str(running.receiver.root / "killed.h5"), frames=3)
    running.streamer.frame(0)
    running.receiver.wait(lambda status: status.series.id == series and status.counts.flushed == 1)
    os.kill(running.receiver.data_process(), signal.SIGKILL)
    running.receiver.wait(lambda status: status.series.id == series and status.series.restarts == 1)
    running.receiver.connected()
    running.streamer.end(reason="stop", triggered=1, sent=1)
    running.receiver.ended(series)
    running.receiver.ended(running.streamer.series_of("", 2))
    assert running.until(("frames_total",), 2)["idle_seconds_count",] == 1
    assert 0 < running.values()["idle_seconds_sum",] < DEADLINE


def test_every_metric_is_described_with_its_type_and_labels(running: Running) -> None:
    _, _, page = PAGE.read_text().partition("## Metrics")
    described = dict(re.findall(r"^\| `(\w+)(?:\{\w+\})?` \| (\w+) \|", page, re.MULTILINE))
    labels = dict(re.findall(r"^\| `(\w+)\{(\w+)\}`", page, re.MULTILINE))
    families = list(text_string_to_metric_families(running.text()))
    found = {
        family.name.removeprefix(PREFIX) + ("_total" if family.type == "counter" else ""): family.type
        for family in families
    }
    assert described == found
    for family in families:
        known = {key for sample in family.samples for key in sample.labels} - {"receiver", "le"}
        name = family.name.removeprefix(PREFIX) + ("_total" if family.type == "counter" else "")
        assert known <= {labels.get(name, "")}, name


@pytest.mark.parametrize("value", [*STAGES, *QUEUES, *LOSSES])
def test_every_stage_queue_and_loss_is_described(value: str) -> None:
    _, _, page = PAGE.read_text().partition("## Metrics")
    assert f"`{value}`" in page


def test_every_count_is_a_loss_or_known_to_be_none() -> None:
    assert {*LOSSES, *GOOD_OR_KNOWN} == set(Counts.__dataclass_fields__)


def test_names_follow_the_conventions_of_prometheus(running: Running) -> None:
    for family in text_string_to_metric_families(running.text()):
        assert family.name.startswith(PREFIX)
        assert not family.name.endswith(("_ms", "_us", "_mb", "_kb")), "base units: seconds, bytes"
        assert family.documentation


@pytest.mark.parametrize(
    ("status", "ratio", "free"),
    [
        (Status(state="idle", queue_bytes=30, queue_limit_bytes=40, free_bytes=5), 0.75, 5),
        (Status(state="idle", queue_bytes=0, queue_limit_bytes=0, free_bytes=None), 0, None),
    ],
    ids=["a queue and a disk", "no queue, and a disk that does not answer"],
)
def test_how_full_queue_and_disk_are(status: Status, ratio: float, free: float | None) -> None:
    scrape = Scrape("eiger-1", status, Measures(), healthy=True, processes={}, budget=0.0)
    found = {
        sample.name.removeprefix(PREFIX): sample.value
        for family in text_string_to_metric_families(scrape.text())
        for sample in family.samples
    }
    assert (found["queue_fill_ratio"], found.get("free_bytes")) == (ratio, free)


def test_the_status_carries_no_histograms() -> None:
    """It goes to every long poll; measures go beside it."""
    assert not {"stages", "queues", "latency"} & set(Status.__dataclass_fields__)
