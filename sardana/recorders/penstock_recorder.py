"""The recorder of scans with Penstock's detectors: every point shows its own frame."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import tango
from sardana.macroserver.msexception import InterruptException
from sardana.macroserver.recorders.h5storage import NXscanH5_FileRecorder
from taurus.core.util.log import Logger

from penstock.sardana import links, scan_entry
from penstock.sardana.reference import parse

UNITS = {"timestamp": "s", "epoch": "s"}
"""Of Sardana's own columns."""


class PenstockRecorder(NXscanH5_FileRecorder):
    """Sardana's recorder of NeXus files, with frames linked by virtual datasets and plots for viewers.

    It takes no extension for its own: `senv ScanRecorder PenstockRecorder` selects it.
    """

    formats: ClassVar[dict[str, str]] = {}

    def getFormat(self) -> str:
        """As Sardana says it before each scan."""
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
        if self.filename is None:
            return
        try:
            self._finish()
        finally:  # whatever happens, also a second Ctrl-C
            self._close_entry(recordlist)

    def _finish(self) -> None:
        entry = self.fd[self.entryname]
        columns = [column for column in self.datadesc if column.label in entry["measurement"]]
        images = []
        for column in columns:
            if column.value_ref_enabled and self._is_ours(column):
                column.value_ref_enabled = False  # Sardana's own way shows frame 0 at every point
                if self._link(entry, column):
                    images.append(column.label)
        try:
            scan_entry.drop_claim(entry)
            self._write_units(entry, columns)
            scan_entry.add_plots(entry, self._shown(entry, images, columns))
        except InterruptException:
            raise
        except Exception as error:
            self._warn(f"{self.filename}: the plots of {self.entryname} are not all there ({error})")

    def _close_entry(self, recordlist: Any) -> None:
        """Sardana's own end: references of others, the time, the file closed."""
        try:
            super()._endRecordList(recordlist)
        except InterruptException:
            raise
        except Exception as error:
            others = [column for column in self.datadesc if column.value_ref_enabled]
            if not others:
                raise
            names = ", ".join(column.label for column in others)
            self._warn(f"{self.filename}: Sardana cannot link {names} ({error}); the references stay as text")
            for column in others:
                column.value_ref_enabled = False
            super()._endRecordList(recordlist)

    def _is_ours(self, column: Any) -> bool:
        return any(parse(text) for text in self._texts(column))

    def _texts(self, column: Any) -> Sequence[str]:
        measurement = self.fd[self.entryname]["measurement"]
        return list(measurement[column.label].asstr()[:])

    def _link(self, entry: Any, column: Any) -> bool:
        """Put the images in place of the references, which move to _NAME."""
        measurement, label = entry["measurement"], column.label
        kept = f"_{label}"
        try:
            points = len(measurement[scan_entry.POINTS])
            measurement[label].resize(points, axis=0)  # it ends with the last reference that came
            texts = self._texts(column)
            frame = self._frame_format(column)
            measurement.move(label, kept)
            try:
                folder = Path(self.filename).absolute().parent
                links.link_frames(measurement, label, links.blocks(texts), points, frame, folder)
            except BaseException:
                measurement.move(kept, label)
                raise
            self._link_instrument(entry, column)
        except InterruptException:
            raise
        except Exception as error:
            self._warn(
                f"{label}: its frames are not linked in {self.filename} ({error}); measurement/{label} has "
                f"the references as text, and the frames are in the files that these name"
            )
            return False
        strange = sum(1 for text in texts if text and parse(text) is None)
        if strange:
            self._warn(f"{label}: {strange} references have another form and read as missing; see {kept}")
        return True

    def _link_instrument(self, entry: Any, column: Any) -> None:
        """The group of the channel's instrument has a link to the column from the start of the scan."""
        if getattr(column, "instrument", None):
            place = self._createNXpath(column.instrument, prefix=entry.name)
            if column.label in place:
                del place[column.label]
                place[column.label] = entry["measurement"][column.label]

    def _frame_format(self, column: Any) -> links.FrameFormat:
        channel = tango.DeviceProxy(column.name)
        shape = json.loads(channel.FrameShape)
        if not shape:
            raise ValueError(f"{column.name} does not know the shape of its frames")
        return links.FrameFormat(tuple(int(length) for length in shape), np.dtype(channel.FrameType))

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

    def _shown(self, entry: Any, images: Sequence[str], columns: Sequence[Any]) -> scan_entry.Columns:
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
        return scan_entry.Columns(images, counters, moveables)

    def _warn(self, sentence: str) -> None:
        macro = None if self.macro is None else self.macro()
        if macro is not None:
            Logger.warning(macro, "%s", sentence)  # the macro's own ends here when the macro is stopped
        self.warning(sentence)
