"""Properties of Tango attributes that the device sets itself, such as limits, and its database does not keep.

Tango writes each property that is set, by whomever, into its database, where it would look like the
facility's. There is no way round that for one attribute alone. So the rows are put back at once. Before
anything is set, they are noted in a property of the device, which is there only meanwhile; if the server dies
meanwhile, the next one puts the rows back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import msgspec
import tango

from penstock.devices._tango.attributes import same_number

log = logging.getLogger(__name__)

UNFINISHED = "LimitsBeingSet"
"""Property of a device: rows of its attributes that must be put back, as JSON."""

Rows: TypeAlias = dict[str, dict[str, list[str]]]
"""Rows of the database: lines by property, by attribute."""
Unfinished: TypeAlias = dict[str, dict[str, tuple[list[str] | None, str]]]
"""The row before, `None` if there was none, and what is set, by property, by attribute."""
Texts: TypeAlias = Mapping[str, str]
"""Texts by property."""


class OwnConfiguration:
    """Properties of the attributes of one device.

    Args:
        device: the device; its monitor is held while its attributes are configured, so that a client who
            configures one at the same time is before or after.
    """

    def __init__(self, device: tango.server.Device) -> None:
        self._device = device
        self._unfinished: Unfinished = {}

    def begin(self) -> set[str]:
        """Put back what an earlier server of the device could not; return the attributes.

        Raises:
            tango.DevFailed: the database does not answer.
        """
        if not tango.Util._UseDb:
            return set()
        lines = _database().get_device_property(self._device.get_name(), UNFINISHED)[UNFINISHED]
        if not lines:
            return set()
        try:
            self._unfinished = msgspec.json.decode("".join(lines), type=Unfinished)
        except msgspec.MsgspecError as error:
            log.warning("%s: its property %s is ignored: %s", self._device.get_name(), UNFINISHED, error)
        names = set(self._unfinished)
        with tango.EnsureOmniThread(), tango.AutoTangoMonitor(self._device):
            self._put_back()
        return names

    def rows(self, names: Iterable[str]) -> Rows:
        """Return the rows of attributes; those of the device before those of its class.

        Raises:
            tango.DevFailed: the database does not answer.
        """
        names = list(names)
        if not names or not tango.Util._UseDb:
            return {name: {} for name in names}
        kind = self._device.get_device_class().get_name()
        of_class = _database().get_class_attribute_property(kind, names)
        of_device = self._device_rows(names)
        return {name: _lists(of_class.get(name, {})) | of_device[name] for name in names}

    def present(self, name: str, properties: Iterable[str]) -> dict[str, str] | None:
        """Return what Tango has for an attribute; `None` if there is no such attribute."""
        try:
            shown = self._device.get_device_attr().get_attr_by_name(name).get_properties()
        except tango.DevFailed:
            return None
        return {each: getattr(shown, each) for each in properties}

    def set(self, names: Iterable[str], wanted: Callable[[Rows], Mapping[str, Texts]]) -> dict[str, str]:
        """Configure attributes; return, by attribute, why Tango does not take it.

        Args:
            names: of the attributes.
            wanted: returns the properties that are to be other than they are, from the attributes' rows.

        Raises:
            tango.DevFailed: the database does not answer, or a command is running for too long.
        """
        with tango.EnsureOmniThread(), tango.AutoTangoMonitor(self._device):
            if self._unfinished:
                self._put_back()
            changes = {name: texts for name, texts in wanted(self.rows(names)).items() if texts}
            if not changes:
                return {}
            if not tango.Util._UseDb:
                return self._set_all(changes)
            before = self._device_rows(changes)
            self._unfinished = {
                name: {each: (before[name].get(each), text) for each, text in texts.items()}
                for name, texts in changes.items()
            }
            note = {UNFINISHED: [msgspec.json.encode(self._unfinished).decode()]}
            _database().put_device_property(self._device.get_name(), note)
            try:
                return self._set_all(changes)
            finally:
                self._put_back()

    def _set_all(self, changes: Mapping[str, Texts]) -> dict[str, str]:
        refused = {}
        for name, texts in changes.items():
            try:
                target = self._device.get_device_attr().get_attr_by_name(name)
                properties = target.get_properties()
                for each, text in texts.items():
                    setattr(properties, each, text)
                target.set_properties(properties)
            except tango.DevFailed as error:
                refused[name] = " ".join(error.args[0].desc.split())
        return refused

    def _put_back(self) -> None:
        device, database = self._device.get_name(), _database()
        now = self._device_rows(self._unfinished)
        put: Rows = {}
        for name, properties in self._unfinished.items():
            foreign = []
            for each, (row, ours) in properties.items():
                found = now[name].get(each)
                if found == row or (found is not None and not same_number(" ".join(found), ours)):
                    continue  # right, or the facility has written it since
                if row is None:
                    foreign.append(each)
                else:
                    put.setdefault(name, {})[each] = row
            if foreign:
                database.delete_device_attribute_property(device, {name: foreign})
        if put:
            database.put_device_attribute_property(device, put)
        database.delete_device_property(device, UNFINISHED)
        self._unfinished = {}

    def _device_rows(self, names: Iterable[str]) -> Rows:
        names = list(names)
        found = _database().get_device_attribute_property(self._device.get_name(), names)
        return {name: _lists(found.get(name, {})) for name in names}


def _database() -> Any:
    return tango.Util.instance().get_database()


def _lists(rows: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Return rows as lists, by their names in small letters: Tango and its database take them in any case."""
    return {each.lower(): [str(line) for line in lines] for each, lines in rows.items()}
