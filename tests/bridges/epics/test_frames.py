"""Frames of a real receiver, as EPICS clients get them from a real bridge."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import urllib3
from p4p.client.thread import Context

from penstock.bridges.epics.metrics import METRICS, PREFIX
from penstock.cli.main import main
from penstock.codecs import bslz4
from penstock.gui.model.fleet.pages import read_pipelines, summary
from penstock.hosts.child import free_port
from tests.bridges.epics.bridge_process import BridgeProcess, Updates
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer, pixels

ENTRIES: list[dict[str, Any]] = [
    {"name": "epics", "endpoint": "tcp://127.0.0.1:0", "queue_mb": 64},
    {"name": "fast", "endpoint": "tcp://127.0.0.1:0", "shared": True, "queue_mb": 2},
]
IMAGES: list[dict[str, Any]] = [
    {}, {"record": "THIRD", "every": 3}, {"record": "VIEW", "rate": 0.01, "unpack": True},
]  # fmt: skip


class Stage(NamedTuple):
    """A receiver with its streamer, a bridge behind it, and a client of that."""

    receiver: ReceiverProcess
    streamer: Streamer
    bridge: BridgeProcess
    context: Context


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder, streamer = tmp_path_factory.mktemp("epics"), Streamer()
    port = free_port()
    entries = [ENTRIES[0] | {"page": f"http://127.0.0.1:{port}/"}, *ENTRIES[1:]]
    receiver = ReceiverProcess(folder, streamer.endpoint, forward=entries)
    receiver.connected()
    http = f"127.0.0.1:{port}"
    bridge = BridgeProcess(folder, http=http, receiver=receiver.client.url, consumer="epics", images=IMAGES)
    receiver.wait(lambda status: status.consumers[0].connected > 0)
    context = bridge.context()
    yield Stage(receiver, streamer, bridge, context)
    context.close()
    bridge.close()
    receiver.close()
    streamer.close()


def arrays(updates: Updates, last: int) -> list[Any]:
    """The arrays, without the empty one before the first series, once that of the last frame is there."""
    found = updates.wait(lambda values: values and values[-1].uniqueId == last + 1)
    return [each for each in found if len(each.dimension)]


def test_every_frame_comes_once_with_its_number_time_pixels_and_series(stage: Stage) -> None:
    updates = Updates(stage.context, "T:IMAGE")
    updates.wait(bool)
    series = stage.streamer.start(f"{stage.receiver.root}/a.h5", frames=40)
    for number in range(40):
        stage.streamer.frame(number, timestamp=1.7e9 + number + 0.25, trigger=number)
    stage.streamer.end(reason="complete", triggered=40, sent=40)
    found = arrays(updates, 39)
    updates.close()
    assert [each.uniqueId for each in found] == list(range(1, 41))
    for number, each in enumerate(found):
        assert [size.size for size in each.dimension] == [6, 4]
        assert np.array_equal(each.value.reshape(4, 6), pixels(number))
        assert (each.codec.name, each.compressedSize, each.uncompressedSize) == ("", 48, 48)
        stamp = each.dataTimeStamp
        assert (stamp.secondsPastEpoch, stamp.nanoseconds) == (1_700_000_000 + number, 250_000_000)
        assert each.timeStamp.userTag == number
    attributes = {each.name: each.value for each in found[7].attribute}
    assert attributes == {"ColorMode": 0, "frame": 7, "trigger": 7, "series": series, "file": "a.h5"}
    assert stage.receiver.ended(series).counts.stored == 40


def test_viewers_get_fewer_frames_the_last_one_in_any_case_and_unpacked_if_they_want(stage: Stage) -> None:
    names = ("T:IMAGE", "T:THIRD", "T:VIEW")
    updates = [Updates(stage.context, name) for name in names]
    for each in updates:
        each.wait(bool)
    blob = bslz4.compress(pixels(5))
    stage.streamer.start("", frames=10)
    for number in range(10):
        stage.streamer.frame(number, pixels(5), blobs=[blob], compression="bslz4")
    stage.streamer.end(reason="complete", triggered=10, sent=10)
    whole, third, view = (arrays(each, 9) for each in updates)
    for each in updates:
        each.close()
    this = [found[-size:] for found, size in ((whole, 10), (third, 4), (view, 2))]
    assert [[each.uniqueId - 1 for each in found] for found in this] == [
        list(range(10)), [0, 3, 6, 9], [0, 9],
    ]  # fmt: skip
    assert (this[0][0].codec.name, this[0][0].codec.parameters) == ("bslz4", 6)
    assert this[0][0].value.tobytes() == blob[12:] and this[0][0].compressedSize == len(blob) - 12
    assert this[2][0].codec.name == "" and np.array_equal(this[2][0].value.reshape(4, 6), pixels(5))


def test_a_slow_client_loses_its_own_updates_and_nobody_elses(stage: Stage) -> None:
    go = threading.Event()
    slow_context = stage.bridge.context()
    fast = Updates(stage.context, "T:IMAGE")
    slow = Updates(slow_context, "T:IMAGE", queue=2, slow=lambda _: go.wait(20))
    fast.wait(bool)
    slow.wait(bool)
    before = stage.bridge.client.status().images[0].posted
    big = np.zeros((512, 512), "u2")
    series = stage.streamer.start(f"{stage.receiver.root}/b.h5", frames=60)
    for number in range(60):
        stage.streamer.frame(number, big)
        big[0, 0] = number + 1
    stage.streamer.end(reason="complete", triggered=60, sent=60)
    status = stage.receiver.ended(series)
    found = arrays(fast, 59)[-60:]
    go.set()
    few = [each for each in arrays(slow, 59) if each.dimension[0].size == 512]
    fast.close()
    slow.close()
    slow_context.close()
    assert [each.value[0] for each in found] == list(range(60)), "the fast one has every frame"
    assert 0 < len(few) < 60 and [each.value[0] for each in few] == [each.uniqueId - 1 for each in few]
    gaps = 60 - len({each.uniqueId for each in few})
    assert gaps > 0, "what it has lost is seen in its numbers"
    assert stage.bridge.client.status().images[0].posted == before + 60
    assert (status.counts.stored, status.consumers[0].dropped) == (60, 0)


def test_what_every_service_has_is_there(stage: Stage) -> None:
    status = stage.bridge.client.status()
    assert (status.state, status.waits_for, status.prefix, status.server) == ("idle", "", "T", "p4p")
    assert status.addresses == stage.bridge.ready["pva"]
    assert [each.record for each in status.images] == ["T:IMAGE", "T:THIRD", "T:VIEW"]
    assert ["T:IMAGE", "T:THIRD", "T:VIEW"] in [each.records for each in status.clients]

    def ask(path: str) -> urllib3.BaseHTTPResponse:
        return urllib3.request("GET", f"{stage.bridge.client.url}{path}", timeout=10, retries=False)

    assert ask("/health").status == ask("/health/ready").status == 200
    metrics = ask("/metrics").data.decode()
    for each in METRICS:
        assert f"# HELP {PREFIX}{each.name}" in metrics
    assert f'{PREFIX}updates_total{{bridge="epics",record="T:IMAGE"}}' in metrics
    assert ask("/config").json()["consumer"] == "epics"
    assert "bridge.js" in ask("/").data.decode() and ask("/assets/bridge.js").status == 200
    assert ask("/nothing").json()["kind"] == "no_such_path"


def test_status_reads_a_bridge_and_the_fleet_knows_it_by_its_page(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", stage.bridge.client.url]) == 0
    said = capsys.readouterr().out
    assert said.startswith("epics: idle, records T:… at 127.0.0.1:") and "T:IMAGE: " in said
    assert main(["status", stage.bridge.client.url, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["prefix"] == "T"
    (row,) = read_pipelines([stage.receiver.client.url])
    assert (row.kind, row.name, row.state, row.ill) == ("bridge", "epics", "IDLE", False)
    assert row.workers == len(stage.bridge.client.status().clients) and summary([row]) == "1 bridge"


@pytest.mark.slow
def test_two_bridges_never_share_the_frames_of_one_entry_out(
    stage: Stage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = {"receiver": stage.receiver.client.url, "consumer": "epics", "prefix": "U"}
    second = BridgeProcess(tmp_path, **keys)
    try:
        status = second.wait(lambda status: bool(status.waits_for))
        assert "the forward entry epics of the receiver at" in status.waits_for
        assert "has another client, and two share its frames out: end that one" in status.waits_for
        assert main(["epics", str(second.file), "--check"]) == 2
        assert "has another client" in capsys.readouterr().out
        before = stage.bridge.client.status().images[0].posted
        stage.receiver.ended(stage.streamer.series_of("", 20))
        stage.bridge.wait(lambda status: status.images[0].posted == before + 20)
        assert second.client.status().images[0].posted == 0
    finally:
        second.close()


@pytest.mark.slow
def test_a_bridge_that_is_killed_costs_its_own_frames_and_the_next_one_says_what_it_waits_for(
    stage: Stage, tmp_path: Path
) -> None:
    receiver, streamer = stage.receiver, stage.streamer
    keys: dict[str, Any] = {"receiver": receiver.client.url, "consumer": "epics", "prefix": "U"}
    stage.bridge.kill()
    before = receiver.wait(lambda status: status.consumers[0].connected == 0).consumers[0]
    folder = tmp_path / "bridges"
    folder.mkdir()
    first = BridgeProcess(folder, **keys)
    receiver.wait(lambda status: status.consumers[0].connected > 0)
    series = streamer.start(f"{stage.receiver.root}/c.h5", frames=30)
    for number in range(10):
        streamer.frame(number)
    first.wait(lambda status: status.frames == 10)
    first.kill()
    receiver.wait(lambda status: status.consumers[0].connected == 0)
    second = BridgeProcess(folder, **keys)
    said = second.wait(lambda status: bool(status.waits_for)).waits_for
    assert said == (
        f"series {series} began while this bridge was not connected: frames come from the next series on."
    )
    for number in range(10, 30):
        streamer.frame(number)
    streamer.end(reason="complete", triggered=30, sent=30)
    status = receiver.ended(series)
    assert (status.counts.stored, status.counts.missing, status.series and status.series.complete) == (
        30, 0, True,
    )  # fmt: skip
    entry_now = status.consumers[0]
    news = entry_now.sent - before.sent, entry_now.dropped - before.dropped
    assert news == (11, 20), "start and ten frames; twenty are dropped"
    assert "consumer epics: it went away" in receiver.log.read_text()
    assert second.client.status().waits_for == "" or second.wait(lambda status: not status.waits_for)
    following = streamer.series_of(f"{stage.receiver.root}/d.h5", 5)
    second.wait(lambda status: status.series == following and status.frames == 5 and not status.active)
    second.close()


@pytest.mark.slow
def test_a_receiver_that_is_started_again_is_found_with_its_new_port(tmp_path: Path) -> None:
    streamer, http = Streamer(), f"127.0.0.1:{free_port()}"
    receiver = ReceiverProcess(tmp_path, streamer.endpoint, http=http, forward=ENTRIES[:1])
    bridge = BridgeProcess(tmp_path, receiver=receiver.client.url, consumer="epics")
    receiver.wait(lambda status: status.consumers[0].connected > 0)
    receiver.close()
    bridge.wait(lambda status: status.state == "waiting")
    receiver = ReceiverProcess(tmp_path, streamer.endpoint, http=http, forward=ENTRIES[:1])
    receiver.connected()
    receiver.wait(lambda status: status.consumers[0].connected > 0)
    series = streamer.series_of(f"{receiver.root}/again.h5", 5)
    status = bridge.wait(lambda status: status.series == series and not status.active)
    assert (status.frames, status.images[0].posted, status.waits_for) == (5, 5, "")
    bridge.close()
    receiver.close()
    streamer.close()
