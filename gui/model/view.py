"""One detector as a panel shows it: a snapshot, which no widget changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from penstock.gui.model.actions import Action
from penstock.gui.model.attributes.attribute import Attribute, Value
from penstock.gui.model.files.place import Place
from penstock.gui.model.series.account import WRONG, Account, account
from penstock.gui.model.series.fate_bar import Range
from penstock.gui.model.series.losses import NOTHING_ASKED, Lost
from penstock.gui.model.series.plan import Plan, plan
from penstock.gui.model.tango.answers import Check, LastSeries


class Presence(Enum):
    """The presence of the device."""

    WAITED_FOR = auto()
    """It has not been seen yet."""
    HERE = auto()
    AWAY = auto()
    """It was here, and does not answer any more: what is shown is what it said last."""


@dataclass(frozen=True)
class Edit:
    """What the user has typed and not written yet."""

    text: str
    problem: str = ""
    """Why it cannot be written, or was refused, in a sentence."""
    lasting: bool = False
    """The problem is what was typed, and not what the device says of it: there is nothing to write."""
    writing: bool = False
    """The device has been asked, and has not answered yet."""


@dataclass(frozen=True, kw_only=True)
class DetectorView:
    """A consistent snapshot of `DetectorModel`."""

    name: str
    """Name of the device."""
    presence: Presence = Presence.WAITED_FOR
    waits_for: str = ""
    """While it is not HERE: what for, since when, and what to look at, in a sentence."""
    since: float = 0.0
    """Since when it is not HERE, s since 1970."""
    state: str = "UNKNOWN"
    status: str = ""
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    """In panel order."""
    values: Mapping[str, Value | None] = field(default_factory=dict)
    """`None`: the device knows none now."""
    edits: Mapping[str, Edit] = field(default_factory=dict)
    allowed: Mapping[Action, str] = field(default_factory=dict)
    """Why each action is not possible now; "" if it is."""
    busy: Action | None = None
    """Under way: the device has been asked, and has not answered yet."""
    notice: str = ""
    """Why the last action was refused; until the next one."""
    check: Check | None = None
    """What Arm would say now; `None` while unknown."""
    place: Place | None = None
    """What the receiver says of the path of the next file, as typed or set; `None` while unknown."""
    asks: Place | None = None
    """Arm waits for the user, who may have mistyped its folder: `DetectorModel.answer`."""
    last: LastSeries | None = None
    found_lost: Lost = NOTHING_ASKED
    """What the receiver has said of lost frames; `lost` has those of the series on show."""
    restarted: bool = False
    """RestartReceiver has succeeded since State became what it is."""
    own: bool = False
    """The running series was armed by this panel."""
    receiver_url: str = ""
    """The detector's receiver; "" while not known."""
    control_url: str = ""
    """The control of its programs on Kubernetes; "" for none, or while not known."""
    counts_up: bool = True
    """The number in the file's name goes up with each series of this panel."""

    @property
    def here(self) -> bool:
        """True if it answers."""
        return self.presence is Presence.HERE

    @property
    def running(self) -> bool:
        """True if a series runs, or is being armed."""
        return self.state in ("MOVING", "RUNNING")

    @property
    def configuring(self) -> bool:
        """True if it is MOVING without a series: a detector's own box takes settings, or is being reset."""
        return self.state == "MOVING" and not self.account.fates["pending"] and bool(self.values)

    @property
    def account(self) -> Account:
        """The running, or the last, series in figures."""
        return account(self.values)

    @property
    def lost(self) -> Sequence[Range]:
        """First and last frame of each range of lost ones of the running, or the last, series, as far as they
        are known."""
        series = self.values.get("SeriesId")
        if self.knows_all_lost or self.found_lost.series != series:
            return self.last.lost if self.last is not None and self.last.series == series else ()
        return self.found_lost.ranges

    @property
    def knows_all_lost(self) -> bool:
        """True if the device itself has said of the last series which frames are lost: its list is short."""
        last = self.last
        if last is None or last.series != self.values.get("SeriesId"):
            return False
        known = sum(end - first + 1 for first, end, fate in last.lost if fate in WRONG)
        return known >= self.account.lost

    @property
    def lacking(self) -> frozenset[str]:
        """Settings that this model of the camera lacks: they have no value, while others do."""
        own = [name for name, each in self.attributes.items() if each.group == "camera"]
        known = [name for name in own if self.values.get(name) is not None]
        return frozenset(own).difference(known) if known else frozenset()

    @property
    def plan(self) -> Plan:
        """What the settings ask for."""
        return plan(self.values)

    @property
    def armed_by(self) -> str:
        """Who armed the running, or the last, series."""
        return str(self.values.get("ArmedBy") or "")

    def with_edit(self, name: str, edit: Edit | None) -> DetectorView:
        """Return a copy with, or without, something typed for this setting."""
        edits = dict(self.edits)
        if edit is None:
            edits.pop(name, None)
        else:
            edits[name] = edit
        return replace(self, edits=edits)

    def text(self, name: str) -> str:
        """Return a setting as its field shows it: what is typed, or else what the device says."""
        edit = self.edits.get(name)
        if edit is not None:
            return edit.text
        attribute = self.attributes.get(name)
        return attribute.show(self.values.get(name)) if attribute is not None else "–"
