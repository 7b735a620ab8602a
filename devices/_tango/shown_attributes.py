"""Attributes of one device alone: the parameters of its unit that its model does not declare.

Tango keeps attributes by class. What is added to a device is part of its class from then on: devices that are
made later have it too, and a second definition of its name must have the same type. So every device removes
those that are none of its own, and has its own texts, units and limits for those that are.

Tango does not protect its list of attributes from a client that asks for all of them at the moment when one
is added (cppTango 10.3: `Device_5Impl::get_attribute_config_5` and `DeviceImpl::add_attribute` take different
monitors), which may kill the server. So attributes whose types are known are added before the device is
exported; those of a detector's unit once only, when it has told their types, and changed ones at Init.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from threading import Lock

import tango
from tango.server import Device, attribute

from penstock.devices._tango import events
from penstock.devices._tango.attributes import TANGO_TYPE, attribute_options
from penstock.devices._tango.facility_limits import FacilityLimits
from penstock.streamer.camera.settings import Parameter

log = logging.getLogger(__name__)

_lock = Lock()
_added: dict[str, set[str]] = {}
"""Names of the attributes that were added to some device, by class."""


class ShownAttributes:
    """The attributes of one device alone. It is used by the device's publisher thread, and before that is
    started.

    Args:
        device: has the methods `read_shown` and `write_shown`, which take a tango.Attribute.
        limits: the limits of the device's attributes.
    """

    def __init__(self, device: Device, limits: FacilityLimits) -> None:
        self._device = device
        self._limits = limits
        self._tidy = False
        self.parameters: tuple[Parameter, ...] = ()
        """Parameters that are shown now."""

    def tidy(self) -> None:
        """Remove the attributes that came with the class, once: they are another device's."""
        if not self._tidy:
            self._tidy = True
            self.show(())

    def show(self, parameters: Iterable[Parameter]) -> None:
        """Have attributes for these parameters, and no others."""
        wanted = {parameter.name: parameter for parameter in parameters}
        with _lock:
            added = _added.setdefault(type(self._device).__name__, set())
            for name in added - wanted.keys():
                if self._attribute(name) is not None:
                    self._remove(name)
            self.parameters = tuple(each for each in wanted.values() if self._add(each, added))

    def _add(self, parameter: Parameter, added: set[str]) -> bool:
        """Add one attribute, unless it is there; return whether it is there then."""
        name = parameter.name
        if not name.isascii():
            log.warning("%s: %s is not shown: Tango takes only ASCII", self._device.get_name(), name)
            return False
        there = self._attribute(name)
        if there is not None and name not in added:
            log.warning("%s: %s is not shown: it is another attribute's name", self._device.get_name(), name)
            return False
        try:
            if there is not None and not _same(there, parameter):
                self._remove(name)
                there = None
            if there is None:
                methods = self._device.read_shown, self._device.write_shown if parameter.writable else None
                self._device.add_attribute(attribute(**attribute_options(parameter)), *methods)
            added.add(name)
            events.has_events(self._device, name)
            self._describe(parameter)
        except tango.DevFailed as error:
            log.warning(
                "%s: %s is not shown: another device of this server shows it with another type (%s)",
                self._device.get_name(), name, " ".join(error.args[0].desc.split()),
            )  # fmt: skip
            return False
        return True

    def _remove(self, name: str) -> None:
        self._limits.forget(name)
        self._device.remove_attribute(name, clean_db=False)  # what the facility has set for it is kept

    def _describe(self, parameter: Parameter) -> None:
        """Give this device's attribute its own texts and limits, and its set point."""
        target = self._attribute(parameter.name)
        if target is None:
            return
        self._limits.add(parameter)
        if parameter.writable:
            target.set_write_value(parameter.default)

    def _attribute(self, name: str) -> tango.Attribute | None:
        attributes = self._device.get_device_attr()
        try:
            found = attributes.get_attr_by_name(name)
            if found.get_writable() is not tango.AttrWriteType.READ:
                found = attributes.get_w_attr_by_name(name)
            return found
        except tango.DevFailed:
            return None


def _same(there: tango.Attribute, parameter: Parameter) -> bool:
    kind = TANGO_TYPE[type(parameter.default)]
    access = tango.AttrWriteType.READ_WRITE if parameter.writable else tango.AttrWriteType.READ
    return bool(there.get_data_type() == kind and there.get_writable() == access)
