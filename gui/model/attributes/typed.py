"""What is typed for an attribute: Metadata is JSON, all others know by themselves what they take."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.gui.model.attributes import metadata
from penstock.gui.model.attributes.attribute import Attribute, BadText, Value
from penstock.gui.model.attributes.metadata import METADATA


def parse(attribute: Attribute, text: str) -> Value:
    """Return the value that is written.

    Raises:
        BadText: the attribute does not take it.
    """
    return attribute.parse(metadata.escaped(text) if attribute.name == METADATA else text)


def problem(attribute: Attribute, text: str) -> str:
    """Return why it cannot be written, a sentence; "" if it can."""
    try:
        parse(attribute, text)
        if attribute.name == METADATA:
            metadata.read(text)
    except (BadText, metadata.BadMetadata) as error:
        return str(error)
    return ""


def is_value(attribute: Attribute, text: str, values: Mapping[str, Value | None]) -> bool:
    """Return whether the device has what is typed."""
    now = attribute.show(values.get(attribute.name))
    return text == now or (attribute.name == METADATA and metadata.same(text, now))
