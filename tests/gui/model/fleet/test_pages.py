"""What is behind a receiver, read again; with real processes: tests/gui/panel/test_fleet_bridge.py."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec
import pytest

from penstock.bridges.epics.models import Client
from penstock.bridges.epics.models import Status as Bridge
from penstock.gui.model.fleet.pages import Known, PipelineRow, read_behind
from penstock.processing.models import Status as Pipeline
from penstock.receiver.models import ConsumerStatus, Status


class Host:
    """Serves the status of everything on a host; what is not in `answers` is refused."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        answers = self.answers

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                found = answers.get(self.path.split("/")[1])
                body = b"{}" if found is None else msgspec.json.encode(found)
                self.send_response(404 if found is None else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}).start()

    def url(self, name: str) -> str:
        """The address of one of them."""
        return f"http://127.0.0.1:{self.server.server_port}/{name}"

    def receiver(self, *behind: str) -> None:
        """The receiver has a forward entry for each of these."""
        entries = [
            ConsumerStatus(name=name, endpoint="tcp://*:9000", sent=0, dropped=0, page=self.url(name))
            for name in behind
        ]
        self.answers["receiver"] = Status(state="idle", detector="sim-1", consumers=entries)

    def pipeline(self, *behind: str) -> None:
        """A pipeline whose file names the pages of these."""
        pages = [self.url(name) for name in behind]
        self.answers["spots"] = Pipeline(state="idle", pipeline="spots", pages=pages)

    def bridge(self, name: str, **said: Any) -> None:
        """A bridge of this name."""
        self.answers[name] = Bridge(state="idle", bridge=name, prefix="T", server="p4p", **said)

    def read(self, known: Known) -> list[PipelineRow]:
        """What is behind the receiver."""
        return list(read_behind(self.url("receiver"), known))


@pytest.fixture
def host() -> Iterator[Host]:
    one = Host()
    yield one
    one.server.shutdown()
    one.server.server_close()


def said(rows: list[PipelineRow]) -> list[tuple[str, str]]:
    return [(row.kind, row.state) for row in rows]


def test_a_bridge_says_what_it_does_and_how_many_take_it(host: Host) -> None:
    host.receiver("epics")
    host.answers["epics"] = Bridge(
        state="running", bridge="epics-1", prefix="T", server="p4p", series="s1", file="/data/a.h5",
        frames=12, clients=[Client(address="127.0.0.1:1", records=["T:IMAGE"])],
    )  # fmt: skip
    (row,) = host.read({})
    assert (row.kind, row.name, row.state, row.series, row.frames, row.workers) == (
        "bridge", "epics-1", "RUNNING", "a.h5", "12", 1,
    )  # fmt: skip
    assert (row.url, row.receiver_url) == (host.url("epics"), host.url("receiver"))


def test_a_page_that_was_a_bridges_is_one_that_is_away_and_comes_back(host: Host) -> None:
    host.receiver("epics")
    known: Known = {}
    assert said(host.read(known)) == [("pipeline", "OFF")], "nobody has ever said what it is"
    host.bridge("epics")
    assert said(host.read(known)) == [("bridge", "IDLE")]
    del host.answers["epics"]
    for _ in range(2):
        (row,) = host.read(known)
        assert (row.kind, row.state, row.ill) == ("bridge", "AWAY", True)
        assert row.problem == f"bridge at {row.url} does not answer; is `penstock epics` running?"
    host.bridge("epics", waits_for="receiver: no")
    (row,) = host.read(known)
    assert (row.kind, row.state, row.problem) == ("bridge", "IDLE", "receiver: no")


def test_one_whose_forward_entry_is_gone_is_gone_whether_it_runs_or_not(host: Host) -> None:
    host.receiver("epics", "other")
    host.bridge("epics")
    host.bridge("other")
    known: Known = {}
    assert len(host.read(known)) == 2
    del host.answers["other"]
    host.receiver("epics")
    assert [row.name for row in host.read(known)] == ["epics"]
    assert known == {host.url("epics"): [host.url("epics")]}


def test_a_receiver_without_pages_has_nothing_behind_it(host: Host) -> None:
    entry = {"name": "epics", "endpoint": "tcp://*:9000", "sent": 0, "dropped": 0}
    host.answers["receiver"] = {"state": "idle", "detector": "sim-1", "consumers": [entry]}
    assert host.read({}) == []


def test_bridges_are_asked_on_while_their_receiver_does_not_answer(host: Host) -> None:
    host.receiver("epics", "spots")
    host.bridge("epics")
    host.pipeline("results")
    host.bridge("results")
    known: Known = {}
    assert said(host.read(known)) == [("bridge", "IDLE"), ("pipeline", "IDLE"), ("bridge", "IDLE")]
    del host.answers["receiver"]
    assert [row.name for row in host.read(known)] == ["epics", "results"]
    del host.answers["epics"]
    assert said(host.read(known)) == [("bridge", "AWAY"), ("bridge", "IDLE")]
    assert list(read_behind(host.url("receiver"), {})) == [], "its own row says that it is away"


def test_bridges_are_asked_on_while_their_pipeline_does_not_answer(host: Host) -> None:
    host.receiver("spots")
    host.pipeline("epics", "never-started")
    host.bridge("epics")
    known: Known = {}
    assert said(host.read(known)) == [("pipeline", "IDLE"), ("bridge", "IDLE"), ("bridge", "AWAY")]
    del host.answers["spots"]
    assert said(host.read(known)) == [("pipeline", "OFF"), ("bridge", "IDLE"), ("bridge", "AWAY")]
    host.pipeline("epics")
    assert said(host.read(known)) == [("pipeline", "IDLE"), ("bridge", "IDLE")]
