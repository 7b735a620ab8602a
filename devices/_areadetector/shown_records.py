"""Records that are shown as attributes, can be set between series, and stand in the file."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from penstock.devices._areadetector.ioc import INVALID, Ioc, Reading
from penstock.streamer.camera.features import Feature
from penstock.streamer.camera.settings import Parameter, Value
from penstock.streamer.camera.unit import CameraError

SHOWN_SECONDS = 0.2
"""Within which they answer: one that is away since costs a series no more."""
_KINDS = {bool: "boolean", int: "integer", float: "float"}
_WANTED = {bool: "true or false", int: "an integer", float: "a number", str: "text"}


class ShownRecords:
    """The records that the property ShownRecords names.

    Args:
        text: value of the property: names behind the driver's prefix, or with `@` of any record.
        prefix: of the driver's records.
        attributes: names of other attributes.
        written: records behind the prefix that Arm writes.
    """

    def __init__(self, text: str, prefix: str, attributes: Collection[str], written: Collection[str]) -> None:
        self._prefix, self._written = prefix, written
        taken = {name.lower() for name in attributes}
        self._named: dict[str, tuple[str, str]] = {}
        """Name in the property, and of the record, by the name of the attribute."""
        for word in filter(None, re.split(r"[\s,]+", text)):
            name = re.sub(r"\W+", "_", word.removeprefix("@")).strip("_")
            name = f"{name}_record" if name.lower() in taken else name
            self._named[name] = word, word[1:] if word.startswith("@") else f"{prefix}{word}"

    def __contains__(self, name: str) -> bool:
        return name in self._named

    def record(self, name: str) -> str:
        """Return the record of an attribute.

        Raises:
            CameraError: there is no such attribute.
        """
        for known, (_, record) in self._named.items():
            if known.lower() == name.lower():
                return record
        raise CameraError(
            f"{name} is none of the property ShownRecords, which has {', '.join(self._named) or 'none'}"
        )

    def require(self, ioc: Ioc) -> None:
        """Check that all of them answer: a name that is misspelt would cost each Arm the time to wait for it.

        Raises:
            CameraError: some do not; the sentence has their names.
        """
        records = [record for _, record in self._named.values()]
        found = ioc.get(records) if records else []
        if silent := [name for name, each in zip(records, found, strict=True) if each is None]:
            raise CameraError(f"no answer from {', '.join(silent)}: correct the property ShownRecords")

    def parameters(self, ioc: Ioc) -> tuple[Parameter, ...]:
        """Return the attributes, of the records that answer."""
        return tuple(
            Parameter(
                name=name, default=shown_value(found), unit=found.unit, limits=found.limits,
                choices=found.choices, writable=not self._set_by(record),
                doc=f"{found.doc or 'Record'} ({record}).",
            )
            for name, record, found in self._found(ioc)
        )  # fmt: skip

    def values(self, ioc: Ioc) -> dict[str, Value]:
        """Return the values by the names in the property, of the records that have one."""
        return {
            self._named[name][0]: shown_value(found)
            for name, _, found in self._found(ioc)
            if found.severity < INVALID
        }

    def features(self, ioc: Ioc) -> list[Feature]:
        """Return the records that answer as features."""
        return [self._feature(*each) for each in self._found(ioc)]

    def get(self, ioc: Ioc, name: str) -> Feature:
        """Return one; see `HasFeatures.get_feature`."""
        record = self.record(name)
        (found,) = ioc.require([record])
        return self._feature(name, record, found)

    def set(self, ioc: Ioc, name: str, value: Value) -> Feature:
        """Set one; see `HasFeatures.set_feature`."""
        record = self.record(name)
        if by := self._set_by(record):
            raise CameraError(f"{name} cannot be set here: {by}")
        (found,) = ioc.require([record])
        if found.choices:
            ioc.choose(record, str(value))
        else:
            ioc.put(record, _as(type(found.value), name, value))
        return self.get(ioc, name)

    def _found(self, ioc: Ioc) -> Iterator[tuple[str, str, Reading]]:
        if not self._named:
            return
        records = [record for _, record in self._named.values()]
        answers = ioc.get(records, seconds=SHOWN_SECONDS)
        for name, record, found in zip(self._named, records, answers, strict=True):
            if found is not None:
                yield name, record, found

    def _set_by(self, record: str) -> str:
        """Return what sets a record in place of `set`, in words; "" if nothing does."""
        if record.endswith("_RBV"):
            return "it is a readback"
        return "Arm writes it" if record.removeprefix(self._prefix) in self._written else ""

    def _feature(self, name: str, record: str, found: Reading) -> Feature:
        by = self._set_by(record)
        return Feature(
            name=name, kind="enumeration" if found.choices else _KINDS.get(type(found.value), "string"),
            value=shown_value(found), writable=not by, set_by=by, unit=found.unit, limits=found.limits,
            choices=found.choices, doc=found.doc or record, group=self._prefix,
        )  # fmt: skip


def _as(kind: type, name: str, value: Value) -> Value:
    """Return a value as a record has it.

    Raises:
        CameraError: it is none of this type.
    """
    try:
        made = kind(value)
    except (ValueError, OverflowError) as error:
        raise CameraError(f"{name} is {value}; give {_WANTED[kind]}") from error
    if kind is int and (not -(2**31) <= made < 2**31 or (isinstance(value, float) and value != made)):
        raise CameraError(f"{name} is {value}; give an integer of 32 bits")
    return made  # type: ignore[no-any-return]


def shown_value(found: Reading) -> Value:
    """Return the value of a record; of an enumeration the choice."""
    return found.text if found.choices else found.value
