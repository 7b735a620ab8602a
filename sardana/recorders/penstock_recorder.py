"""The recorder of scans with Penstock's detectors: every point shows its own frame."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import tango
from sardana.macroserver.recorders.h5storage import NXscanH5_FileRecorder
from taurus.core.util.log import Logger

from penstock.sardana import scan_file
from penstock.sardana.reference import parse
from penstock.sardana.shelter import Shelter

UNITS = {"timestamp": "s", "epoch": "s"}
"""Units of Sardana's own columns."""
SHELTER = Shelter("recorder")
"""Shared by all scans: a recorder is created in the macro's thread, which must not start another."""


class PenstockRecorder(NXscanH5_FileRecorder):
    """Sardana's recorder of NeXus files, with frames linked by virtual datasets and plots for viewers.

    It claims no file extension: `senv ScanRecorder PenstockRecorder` selects it.
    """

    formats: ClassVar[dict[str, str]] = {}

    def getFormat(self) -> str:
        """Return the format that Sardana prints before each scan."""
        return "HDF5::NeXus"

    def _openFile(self, fname: str) -> Any:
        try:
            return super()._openFile(fname)
        except BlockingIOError as error:
            raise OSError(
                f"{fname} is open in another program that locks it: close it there, or open it there without "
                f"locking (h5py: locking=False), then repeat the scan"
            ) from error

    def _endRecordList(self, recordlist: Any) -> None:
        """End the record outside the macro's thread: AbortMacro raises an exception in that."""
        if self.filename is not None:
            SHELTER.run(lambda: self._end(recordlist))

    def _end(self, recordlist: Any) -> None:
        try:
            self._finish()
        finally:
            self._close_entry(recordlist)

    def _finish(self) -> None:
        entry = self.fd[self.entryname]
        columns = [column for column in self.datadesc if column.label in entry["measurement"]]
        images = []
        for column in columns:
            if column.value_ref_enabled and self._link(entry, column):
                images.append(column.label)
        try:
            scan_file.drop_claim(entry)
            self._write_units(entry, columns)
            scan_file.add_plots(entry, self._columns(entry, images, columns))
        except Exception as error:
            self._warn(f"{self.filename}: not all plots of {self.entryname} could be written ({error})")

    def _close_entry(self, recordlist: Any) -> None:
        """Let Sardana write the references of other detectors and the time, and close the file."""
        try:
            super()._endRecordList(recordlist)
        except Exception as error:
            others = [column for column in self.datadesc if column.value_ref_enabled]
            if not others:
                raise
            names = ", ".join(column.label for column in others)
            self._warn(
                f"{self.filename}: Sardana cannot link {names} ({_reason(error)}); "
                f"measurement has their references as text"
            )
            for column in others:
                column.value_ref_enabled = False
            super()._endRecordList(recordlist)

    def _link(self, entry: Any, column: Any) -> bool:
        """Replace references of Penstock's form by the images, and move them to _NAME."""
        measurement, label = entry["measurement"], column.label
        try:
            texts = list(measurement[label].asstr()[:])
            strange = sum(1 for text in texts if text and parse(text) is None)
            if not any(parse(text) for text in texts):
                return False
            column.value_ref_enabled = False  # Sardana's own way shows frame 0 at every point
            self._replace(measurement, label, texts, _frame_format(column.name))
            self._link_instrument(entry, column)
        except Exception as error:
            self._warn(
                f"{label}: its frames are not linked in {self.filename} ({_reason(error)}); "
                f"measurement/{label} has the references as text, with the files where the frames are"
            )
            return False
        if strange:
            self._warn(f"{label}: {strange} references have another form and read as missing; see _{label}")
        return True

    def _replace(self, measurement: Any, label: str, texts: list[str], frame: scan_file.FrameFormat) -> None:
        points, kept = len(measurement[scan_file.POINTS]), f"_{label}"
        if len(texts) < points:  # they end with the last one received
            measurement[label].resize(points, axis=0)
        files = measurement.parent.create_group(f"files_{label}")
        files.attrs["NX_class"] = "NXcollection"
        measurement.move(label, kept)
        try:
            folder = Path(self.filename).absolute().parent
            scan_file.link_frames(measurement, files, label, scan_file.blocks(texts), points, frame, folder)
        except BaseException:
            measurement.move(kept, label)
            del measurement.parent[f"files_{label}"]
            raise

    def _link_instrument(self, entry: Any, column: Any) -> None:
        """Renew the link to the column in the channel's instrument, made at the start of the scan."""
        if getattr(column, "instrument", None):
            place = self._createNXpath(column.instrument, prefix=entry.name)
            if column.label in place:
                del place[column.label]
                place[column.label] = entry["measurement"][column.label]

    def _write_units(self, entry: Any, columns: Sequence[Any]) -> None:
        for column in columns:
            unit = UNITS.get(column.name, "")
            moveable = getattr(column, "moveable", None)
            if moveable is not None:
                try:
                    unit = moveable.getAttribute("Position").getUnit() or ""
                except Exception as error:  # a moveable may be anything
                    self.debug("no unit of %s: %s", column.label, error)
            if unit:
                entry["measurement"][column.label].attrs["units"] = unit

    def _columns(self, entry: Any, images: Sequence[str], columns: Sequence[Any]) -> scan_file.Columns:
        env = self.currentlist.getEnviron()
        measurement = entry["measurement"]
        counters = [
            column.label
            for column in columns
            if column.name in env["counters"]
            and measurement[column.label].ndim == 1
            and measurement[column.label].dtype.kind in "iuf"
        ]
        moveables = [column.label for column in columns if column.name in env["ref_moveables"]]
        return scan_file.Columns(images, counters, moveables)

    def _warn(self, sentence: str) -> None:
        macro = None if self.macro is None else self.macro()
        if macro is not None:
            Logger.warning(macro, "%s", sentence)  # the macro's own raises once the macro is stopped
        self.warning(sentence)


def _frame_format(name: str) -> scan_file.FrameFormat:
    """Return shape and type of the channel's frames."""
    channel = tango.DeviceProxy(name)
    shape = json.loads(channel.read_attribute("FrameShape").value)
    if not shape:
        raise ValueError(f"{name} does not know the shape of its frames")
    return scan_file.FrameFormat(
        tuple(int(length) for length in shape), np.dtype(channel.read_attribute("FrameType").value)
    )


def _reason(error: Exception) -> str:
    return str(error.args[0].desc).strip() if isinstance(error, tango.DevFailed) else str(error)
