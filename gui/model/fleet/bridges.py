"""Bridges of the fleet: they have no Tango device, so their pages are asked over HTTP, every few seconds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from penstock.gui.model.fleet.pages import Known, PipelineRow
from penstock.gui.model.fleet.row import AWAY, Row, address, away
from penstock.stins.texts import plural

ASK_EVERY = 3.0
"""Seconds from the answers behind a receiver to the next question."""
PROGRAM = "penstock epics"

ReadBehind = Callable[[str, Known], Iterable[PipelineRow]]
"""How what is behind a receiver is read; see `pages.read_behind`."""


@dataclass(frozen=True, kw_only=True)
class BridgeRow(Row):
    """What the table says of one bridge."""

    url: str

    @property
    def key(self) -> str:
        """Its address: bridges of several receivers may have one name."""
        return address(self.url)

    @property
    def page(self) -> str:
        """Address of its page."""
        return self.url


def bridge_row(found: PipelineRow, last: Row | None, now: float) -> Row:
    """Return the row of a bridge.

    Args:
        found: what its page has said.
        last: row of the reading before; `None` if it is new.
        now: seconds since 1970.
    """
    if found.state == AWAY and last is not None:
        return last if last.state == AWAY else away(last, found.problem, now)
    return BridgeRow(
        name=found.name, kind="bridge", tango_class="", server=PROGRAM, state=found.state,
        status=f"{plural(found.workers, 'client') if found.workers else 'no client'} connected.",
        problem=found.problem, running=found.state == "RUNNING", file=found.file, done=found.done,
        planned=found.planned, receiver_url=found.receiver_url, url=found.url,
    )  # fmt: skip


class Bridges:
    """The bridges behind receivers. One thread per receiver, so that one that is away holds up no other.

    Args:
        read: how what is behind a receiver is read.
        notify: called from any thread, after rows have changed.
        now: seconds since 1970.
    """

    def __init__(self, read: ReadBehind, notify: Callable[[], None], now: Callable[[], float]) -> None:
        self._read = read
        self._notify = notify
        self._now = now
        self._waiting = threading.Condition()
        self._stopped = False
        self._behind: dict[str, _Behind] = {}
        """What is behind each receiver, by its address."""
        self._rows: dict[str, Row] = {}
        """Rows by the bridge's address."""

    def follow(self, receivers: Iterable[str]) -> None:
        """Follow what is behind these receivers, and behind no others; "" is none."""
        wanted = {address(url): url.strip().rstrip("/") for url in receivers if url}
        with self._waiting:
            if self._stopped:
                return
            new = {key: _Behind(url) for key, url in wanted.items() if key not in self._behind}
            self._behind = {key: new.get(key) or self._behind[key] for key in wanted}
            changed = self._merge()
        if changed:
            self._notify()
        for each in new.values():
            threading.Thread(
                target=self._follow, args=(each,), name=f"penstock-behind {each.receiver}", daemon=True
            ).start()

    def stop(self) -> None:
        """Follow nothing any more. A thread that waits for an answer ends once that has come."""
        with self._waiting:
            self._stopped = True
            self._behind = {}
            self._waiting.notify_all()

    def look(self) -> None:
        """Ask now."""
        with self._waiting:
            self._waiting.notify_all()

    def rows(self) -> list[Row]:
        """Return the bridges as they last answered."""
        with self._waiting:
            return list(self._rows.values())

    def _follow(self, behind: _Behind) -> None:
        while self._take(behind, self._read(behind.receiver, behind.known)):
            with self._waiting:
                if not self._stopped:
                    self._waiting.wait(ASK_EVERY)

    def _take(self, behind: _Behind, found: Iterable[PipelineRow]) -> bool:
        """Keep what has been read; return whether the receiver is still followed."""
        bridges = [each for each in found if each.kind == "bridge"]
        with self._waiting:
            if self._behind.get(address(behind.receiver)) is not behind:
                return False
            behind.found = bridges
            changed = self._merge()
        if changed:
            self._notify()
        return True

    def _merge(self) -> bool:
        """Make the rows, of which a bridge that several receivers or pipelines name has one; return whether
        they have changed."""
        found: dict[str, PipelineRow] = {}
        for behind in self._behind.values():
            for each in behind.found:
                found.setdefault(address(each.url), each)
        before, now = self._rows, self._now()
        self._rows = {key: bridge_row(each, before.get(key), now) for key, each in found.items()}
        return self._rows != before


class _Behind:
    """A receiver, and what was behind it when it was last asked.

    Args:
        receiver: its address.
    """

    def __init__(self, receiver: str) -> None:
        self.receiver = receiver
        self.known: Known = {}
        self.found: list[PipelineRow] = []
