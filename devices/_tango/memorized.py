"""The values of attributes that Tango keeps in its database, and writes again when the device starts.

Tango drops a value outside the limits without a word, one that the device refuses makes the attribute
unreadable, and Init writes the set points in their place. So the device reads these values itself, and says
in Status which of them it does not use.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import tango

from penstock.devices._tango.device_properties import WORDS
from penstock.devices._tango.faults import EXPECTED
from penstock.devices._tango.own_configuration import Rows
from penstock.streamer.camera.settings import Parameter, Value

ROW = "__value"
"""Name of the row in which Tango keeps the value of an attribute."""


class Memorized:
    """The memorized values of one device.

    Args:
        device: the device.
        parameters: its attributes that can be written.
        values: the present values, by name.
    """

    def __init__(
        self, device: tango.server.Device, parameters: Iterable[Parameter], values: Mapping[str, Value]
    ) -> None:
        self._device = device
        self._parameters = {each.name: each for each in parameters if each.memorized}
        self._values = values
        self._awaited: dict[str, Value] = {}
        """Values that Tango will write before any client does."""
        self._started = False
        self._unused: dict[str, str] = {}
        """The value that is not used, and why, by attribute."""

    def restore(self, rows: Rows, *writes: Callable[[Parameter, Value], Any]) -> None:
        """Set the memorized values that can be used.

        Args:
            rows: rows of the attributes in the database.
            writes: called one after the other with attribute and value. Where the first raises, Tango does
                not write the value either; the others set it, or raise as well.
        """
        for name, parameter in self._parameters.items():
            lines = rows.get(name, {}).get(ROW)
            if not lines:
                continue
            value = _value(parameter, lines[0])
            if value is None:
                self._note(name, lines[0], f'"{lines[0]}" is no value of its type')
                continue
            try:
                for write in writes:
                    write(parameter, value)
                    self._awaited[name] = value
            except EXPECTED as error:
                self._note(name, value, str(error))

    @contextmanager
    def writing(self, name: str, value: Value) -> Iterator[None]:
        """Guard the writing of an attribute, by Tango itself or by a client.

        What Tango writes when the device starts may be refused: then nobody is told but Status.
        """
        awaited = self._awaited.pop(name, None)
        as_before = not self._started and _same(value, self._values.get(name))
        try:
            yield
        except EXPECTED as error:
            if awaited is None or not _same(value, awaited):
                raise
            self._note(name, value, str(error))
        else:
            if not as_before:
                self._unused.pop(name, None)

    def refused(self, name: str, value: Value, reason: str) -> None:
        """Note that the detector has refused a value at its start."""
        self._unused[name] = f"{name}: the detector does not take {_text(value)}, its value before: {reason}"

    def step(self) -> None:
        """Note once that the device has started: what is written later is written by clients."""
        util = tango.Util.instance()
        if self._started or util.is_svr_starting() or util.is_device_restarting(self._device.get_name()):
            return
        with tango.EnsureOmniThread(), tango.AutoTangoMonitor(self._device):  # Init has ended
            self._started = True

    def sentences(self) -> list[str]:
        """Return which values are not used, and why; for Status."""
        return [
            f"{said.rstrip('.')}. It is {_text(self._values[name])} until it is written."
            for name, said in list(self._unused.items())
        ]

    def _note(self, name: str, value: Value, reason: str) -> None:
        self._unused[name] = f"{name}: the memorized value {_text(value)} is not used: {reason}"


def _value(parameter: Parameter, text: str) -> Value | None:
    """Return a memorized text in the parameter's type; `None` if it is none."""
    kind = type(parameter.default)
    if kind is bool:
        return WORDS.get(text.strip().lower())
    try:
        return kind(text)
    except ValueError:
        return None


def _same(one: Value, other: Value | None) -> bool:
    if isinstance(one, float) and isinstance(other, int | float):
        return math.isclose(one, other)
    return one == other


def _text(value: Value) -> str:
    return f"{value:g}" if isinstance(value, float) else f"{value}"
