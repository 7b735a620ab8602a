"""The limits of a device's attributes: the narrower of those of its unit and those of the facility.

The facility sets limits in Tango: in its database, or with the configuration of an attribute while the device
runs. Whatever Tango's database has is the facility's, since the limits of the unit are not kept there
(`own_configuration.py`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping

import tango

from penstock.devices._tango.attributes import LIMIT_OPTION, limit_texts, same_number
from penstock.devices._tango.limits_in_words import (
    Facility,
    Usable,
    facility_of,
    has_limits,
    narrower,
    number_of,
    refuse_outside,
    usable,
)
from penstock.devices._tango.own_configuration import OwnConfiguration, Rows
from penstock.streamer.camera.settings import Limits, Parameter, Value

log = logging.getLogger(__name__)

PERIOD = 0.5
"""Seconds between two looks for limits that a client has changed."""
RETRY = 10.0
"""Seconds until Tango's database is asked again that has not answered."""


class FacilityLimits:
    """The limits of one device's attributes. After `begin`, its methods may be called from any thread.

    Args:
        device: the device.
        parameters: its attributes that can be written.
        clock: monotonic seconds.
    """

    def __init__(
        self, device: tango.server.Device, parameters: Iterable[Parameter],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        parameters = list(parameters)
        self._device = device
        self._clock = clock
        self._own = OwnConfiguration(device)
        self._names = [each.name for each in parameters]
        # Replaced as a whole, since several threads use them.
        self._parameters = {each.name: each for each in parameters if has_limits(each)}
        self._unit = {name: each.limits for name, each in self._parameters.items()}
        self._facility: dict[str, Facility] = {}
        self._left: dict[str, Mapping[str, str]] = {}
        """Limits that Tango had after they were last set here, by attribute."""
        self._said: dict[str, str] = {}
        self._behind = False
        """True if something could not be shown, since the database had not answered."""
        self._next_look = self._retry_at = 0.0
        self.rows: Rows = {}
        """Rows of the attributes in the database as the device has found them."""

    def begin(self) -> None:
        """Read the facility's limits; correct what an interrupted server has left, and what contradicts."""
        try:
            left_over = self._own.begin()
            self.rows = self._own.rows(self._names)
        except tango.DevFailed as error:
            self._silent(error)
            return
        self._read(self.rows)
        self._show(name for name in self._parameters if name in left_over or self._is_empty(name))

    def take(self, limits: Mapping[str, Limits]) -> None:
        """Show the limits of the unit; attributes that are not named keep theirs."""
        named = limits.keys() & self._parameters.keys()
        self._unit = self._unit | {name: limits[name].within(self._parameters[name].limits) for name in named}
        self._show(self._parameters)

    def add(self, parameter: Parameter) -> None:
        """Show description, unit and limits of an attribute that only this device has."""
        name = parameter.name
        texts = {"description": parameter.doc, "unit": parameter.unit}
        if has_limits(parameter):
            self._parameters = self._parameters | {name: parameter}
            self._unit = self._unit | {name: parameter.limits}

        def wanted(rows: Rows) -> dict[str, dict[str, str]]:
            self._read(rows)
            present = self._own.present(name, texts) or {}
            changes = {
                each: text for each, text in texts.items() if each not in rows[name] and text != present[each]
            }
            return {name: changes | (self._changes(name) if name in self._parameters else {})}

        self._configure([name], wanted)

    def forget(self, name: str) -> None:
        """The attribute is removed."""
        self._parameters = {each: one for each, one in self._parameters.items() if each != name}
        self._left = {each: one for each, one in self._left.items() if each != name}

    def step(self) -> None:
        """Show the right limits where a client has changed them; call it often, from one thread."""
        now = self._clock()
        if now < max(self._next_look, self._retry_at) or not tango.Util._UseDb:
            return
        self._next_look = now + PERIOD
        if self._behind:
            self._behind = False
            self._configure(list(self._parameters), self._read_and_change)
        self._show(name for name, left in self._left.items() if self._present(name) != left)

    def check(self, parameter: Parameter, value: Value, *, rounded: bool = False) -> None:
        """Refuse a value outside the limits. Tango does so before, but not for limits that it does not show.

        Args:
            parameter: the attribute.
            value: the value.
            rounded: accept what a detector has made of a limit.

        Raises:
            ValueRefused: the sentence names the limit, and whose it is.
        """
        if isinstance(value, bool | str):
            return
        name = parameter.name
        if name in self._left and self._present(name) != self._left[name]:
            self._show([name])  # a client has just changed them
        refuse_outside(parameter, value, parameter.limits, "", rounded)
        refuse_outside(
            parameter, value, self._usable(name).limits, ", as the attribute's {} in Tango says", rounded
        )

    def check_all(self, values: Mapping[str, Value]) -> None:
        """Refuse present values outside the facility's limits, which may be newer.

        Raises:
            ValueRefused: as `check`.
        """
        for name, parameter in self._parameters.items():
            if name in values and name in self._facility and self._facility[name].texts:
                self.check(parameter, values[name], rounded=True)

    def check_shown(self, parameter: Parameter, value: Value) -> None:
        """Refuse a value that Tango would not let pass.

        Raises:
            ValueRefused: as `check`.
        """
        self.check(parameter, value)
        present = self._present(parameter.name) if parameter.name in self._parameters else None
        if present is not None and not isinstance(value, bool | str):
            shown = Limits(number_of(present["min_value"]), number_of(present["max_value"]))
            refuse_outside(parameter, value, shown, "", rounded=False)

    def sentences(self) -> list[str]:
        """Return what of the facility's limits cannot be used, and why; for Status."""
        return [problem for name in self._parameters if (problem := self._problem(name))]

    # How it is done

    def _show(self, names: Iterable[str]) -> None:
        """Show the limits of these attributes where they are not shown."""
        names = list(names)
        changed = [name for name in names if self._changes(name)]
        if changed and not self._configure(changed, self._read_and_change):
            return
        present = {name: now for name in names if (now := self._present(name)) is not None}
        self._left = self._left | present

    def _configure(self, names: list[str], wanted: Callable[[Rows], Mapping[str, Mapping[str, str]]]) -> bool:
        """Set what is wanted; return whether Tango's database was there."""
        if self._clock() < self._retry_at:
            self._behind = True
            return False
        try:
            refused = self._own.set(names, wanted)
        except tango.DevFailed as error:
            self._silent(error)
            return False
        for name, reason in refused.items():
            self._say(name, f"Tango does not show the limits of {name}, which hold all the same: {reason}")
        for name in names:
            if problem := self._problem(name):
                self._say(name, problem)
        return True

    def _read_and_change(self, rows: Rows) -> dict[str, dict[str, str]]:
        self._read(rows)
        return {name: self._changes(name) for name in rows}

    def _read(self, rows: Rows) -> None:
        named = rows.keys() & self._parameters.keys()
        self._facility = self._facility | {name: facility_of(rows[name]) for name in named}

    def _changes(self, name: str) -> dict[str, str]:
        """Return the limits that Tango should have for an attribute and has not, by option."""
        present = self._present(name)
        if present is None:
            return {}
        own = narrower(self._unit[name], self._usable(name).limits)
        wanted = limit_texts(own, type(self._parameters[name].default))
        return {each: text for each, text in wanted.items() if not same_number(present[each], text)}

    def _usable(self, name: str) -> Usable:
        if name not in self._parameters or name not in self._facility:
            return Usable()
        return usable(self._facility[name], self._unit[name], self._parameters[name].unit)

    def _problem(self, name: str) -> str:
        """Return which of the facility's limits of an attribute are not used, and why; "" if all are."""
        return " ".join(
            f"{name}: {option} {self._facility[name].texts[option]} in Tango's database cannot be used, "
            f"since {why}; correct or delete it in Jive, then call Init."
            for option, why in self._usable(name).problems.items()
        )

    def _present(self, name: str) -> dict[str, str] | None:
        return self._own.present(name, LIMIT_OPTION.values())

    def _is_empty(self, name: str) -> bool:
        """Return whether Tango's limits leave no value: then no client can read the attribute."""
        present = self._present(name)
        if present is None:
            return False
        least, most = number_of(present["min_value"]), number_of(present["max_value"])
        return least is not None and most is not None and least >= most

    def _silent(self, error: tango.DevFailed) -> None:
        self._behind = True
        self._retry_at = self._clock() + RETRY
        reason = " ".join(error.args[0].desc.split())
        self._say("", f"the limits that the facility has set are asked for again in {RETRY:g} s: {reason}")

    def _say(self, about: str, sentence: str) -> None:
        if self._said.get(about) != sentence:  # once, not each time
            self._said[about] = sentence
            log.warning("%s: %s", self._device.get_name(), sentence)
