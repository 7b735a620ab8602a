"""A class property of our Tango classes in the database, by which panels find detectors and receivers,
and others pipelines."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import tango
import tango.server

from penstock.devices._detector.detector import Detector
from penstock.devices._services.pipeline import PenstockPipeline

log = logging.getLogger(__name__)

PROPERTY = "PenstockInterface"
"""Class property that names the interface; `penstock.gui.model.tango.directory` searches for it."""


def interface_of(kind: type[tango.server.Device]) -> str:
    """Return the interface of one of our classes: "detector", "receiver" or "pipeline"."""
    if issubclass(kind, Detector):
        return "detector"
    return "pipeline" if issubclass(kind, PenstockPipeline) else "receiver"


def announce(kinds: Iterable[type[tango.server.Device]], database: tango.Database) -> None:
    """Write the class property of these classes if the database has another value.

    Raises:
        tango.DevFailed: the database does not answer, or refuses to write.
    """
    for kind in kinds:
        name, wanted = kind.__name__, [interface_of(kind)]
        if list(database.get_class_property(name, PROPERTY)[PROPERTY]) != wanted:
            database.put_class_property(name, {PROPERTY: wanted})
            log.info("%s: class property %s is now %s", name, PROPERTY, wanted[0])
