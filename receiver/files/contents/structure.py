"""The NeXus structure of a series' file: its content before the first frame, and its record.

Groups, attributes and links; frames belong to the stores (`receiver.files.stores`), values per frame to
`per_frame`. NeXus: application definitions need NXentry/NXinstrument/NXdetector; programs look for NXdata by
the attributes `default` and `signal` (NeXus manual, "Find the default plot", version 3).
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from h5py import h5d

from penstock.codecs.packed import compression_of_filter
from penstock.hosts.version import version
from penstock.receiver import geometry
from penstock.receiver.files.contents import geometry_fields, learned, nexus, nxmx, per_frame, template
from penstock.receiver.files.stores import FrameFormat
from penstock.receiver.files.stores.contract import describe
from penstock.receiver.files.stores.objects import (
    create_group,
    create_name,
    create_value,
    set_ascii,
    set_attribute,
    write_number,
    write_text,
)
from penstock.receiver.models import FrameStatus
from penstock.receiver.regions import rows as region_rows
from penstock.receiver.series.account import COUNTERS, Account
from penstock.receiver.series.running_series import Outcome, RunningSeries


@dataclasses.dataclass
class Structure:
    """Groups of a file open for writing."""

    entry: Any
    """NXentry group."""
    detector: Any
    """NXdetector group."""
    record: Any
    """NXcollection with the series' id, state and counts."""
    written: dict[str, int | str] = dataclasses.field(default_factory=dict)
    """Values of the record as they are in the file, by name; those that are not known are written."""
    columns: per_frame.Columns | None = None
    """Datasets of the values per frame, if they were created just now."""

    def show_frames(self, frames: FrameFormat, data: Any, series: RunningSeries) -> None:
        """Create NXdata, where programs look for frames, and the geometry, which needs the image size.

        Args:
            frames: format of the frames.
            data: dataset of the frames, in the NXdetector group.
            series: series of the frames.
        """
        describe(data, frames.interpretation)
        set_attribute(data, "target", data.name)
        shown = create_group(self.entry, "data", "NXdata")
        set_attribute(shown, "signal", "data")
        shown["data"] = data
        channels = frames.channels
        for name in channels[1:]:
            shown[name] = self.detector[name]
        if channels:
            shown.attrs["auxiliary_signals"] = list(channels[1:])
        where = geometry.find(series.metadata)
        # Not data.shape where it is known: that of a virtual dataset opens its sources.
        image = frames.shape if len(frames.shape) == 2 else data.shape[1:]
        if where is not None and len(image) == 2:
            name = self.detector.name.rpartition("/")[2]
            _write_fields(self.entry, geometry_fields.fields(where, image, name), where_free=True)
            if where.wavelength is not None:
                _write_fields(
                    self.entry,
                    nxmx.fields(series.described, where.wavelength, frames.dtype, name),
                    where_free=True,
                )
                self._link_for_xds(data)

    def write_counts(self, account: Account) -> None:
        """Write the counts, at every flush: a file left by a kill then says how many frames it has."""
        counts = account.counts()
        for name in COUNTERS:
            self.record_value(name, getattr(counts, name))

    def write_learned(self, series: RunningSeries) -> None:
        """Write what became known in the series only."""
        detector = self.detector.name.rpartition("/")[2]
        _write_fields(self.entry, learned.fields_of(series, self.entry, detector))

    def write_end(self, series: RunningSeries, outcome: Outcome) -> None:
        """Write how the series has ended."""
        if series.account.planned is not None:
            self.record_value("planned", series.account.planned)
        self.record_value("state", "complete" if outcome.complete else "incomplete")
        self.record_value("reason", outcome.reason)
        self.record_value("index_source", series.index_source)
        write_rows(self.entry, self.detector)
        create_name(self.entry, "end_time", _iso(time.time()))

    def record_value(self, name: str, value: int | str) -> None:
        """Write a value into the record, unless it is there."""
        if self.written.get(name) == value:
            return
        if isinstance(value, str):
            set_text(self.record, name, value)
        else:
            write_number(self.record, name, value)
        self.written[name] = value

    def _link_for_xds(self, data: Any) -> None:
        """Make the names under which neggia and eiger2cbf look for mask, frames and their number."""
        if "detector" not in self.entry["instrument"]:
            self.entry["instrument/detector"] = h5py.SoftLink(self.detector.name)
        if nxmx.SPECIFIC not in self.detector:
            specific = create_group(self.detector, nxmx.SPECIFIC, "NXcollection")
            specific["nimages"] = np.uint64(0)
            specific["ntrigger"] = np.uint64(1)
            if "pixel_mask" in self.detector:
                specific["pixel_mask"] = self.detector["pixel_mask"]
        if not data.is_virtual:
            self.entry[f"data/{nxmx.BLOCK}"] = data


def write_rows(entry: Any, detector: Any) -> None:
    """Write what follows from the frames: their number for neggia, a name for durin, and the sample's angle
    at each of them."""
    if nxmx.SPECIFIC not in detector:
        return  # a file without it is no NXmx: it has no sample either
    statuses = detector["frame_status"][()]
    frames = len(statuses)
    if nxmx.BLOCK not in detector and (statuses == FrameStatus.STORED).all() and _is_packed(detector["data"]):
        detector[nxmx.BLOCK] = h5py.SoftLink(detector["data"].name)
    if "nimages" in (specific := detector[nxmx.SPECIFIC]):
        specific["nimages"][()] = frames
    axes = entry.get("/".join((*nxmx.SAMPLE, nxmx.TRANSFORMATIONS)))
    for name in nxmx.DIRECTIONS if axes is not None else ():
        if name not in axes or not (step := axes[f"{name}_increment_set"][()]):
            continue
        angles, attributes = axes[name][0] + step * np.arange(max(frames, 1)), dict(axes[name].attrs)
        for made, values in ((name, angles), (f"{name}_end", angles + step)):
            if made in axes:
                del axes[made]
            dataset = axes.create_dataset(made, data=values)
            set_ascii(dataset, "units", "deg")
        attributes.pop("units")
        axes[name].attrs.update(attributes)


def _is_packed(data: Any) -> bool:
    """Return whether each frame of a dataset is an image in one chunk that bitshuffle and LZ4 have packed."""
    how = data.id.get_create_plist()
    if how.get_layout() != h5d.CHUNKED or how.get_nfilters() != 1:
        return False
    number, _, options, _ = how.get_filter(0)
    return data.ndim == 3 and len(data) > 0 and compression_of_filter(number, options) == "bslz4"


def set_text(record: Any, name: str, value: str) -> None:
    """Change one of the `CHANGING` texts of a record, cut to its size."""
    write_text(record, name, _text(value))


def find(file: h5py.File, detector: str) -> Structure:
    """Return the structure of an existing file.

    Args:
        file: file of a series.
        detector: name of the NXdetector group.
    """
    return of(file["entry"], file["entry/instrument"][detector])


def of(entry: Any, detector: Any) -> Structure:
    """Return the structure of a file with these groups."""
    return Structure(entry, detector, detector["series"])


def create(file: h5py.File, path: Path, detector: str, series: RunningSeries, source: str) -> Structure:
    """Write everything that is known before the first frame.

    Args:
        file: new file, open for writing.
        path: final path of the file.
        detector: name of the NXdetector group.
        series: series whose header and metadata are written.
        source: source of the stream, for the record.
    """
    penstock, now = version(), _iso(time.time())
    about = {
        "default": "entry", "file_name": str(path), "file_time": now, "creator": f"Penstock {penstock}",
        "h5py_version": h5py.__version__, "HDF5_Version": h5py.version.hdf5_version,
    }  # fmt: skip
    for name, text in about.items():
        set_attribute(file, name, text)
    set_ascii(file, "NX_class", "NXroot")
    template.copy(file, detector, per_frame.rows_per_chunk(series.account.planned))
    entry = file["entry"]
    create_name(entry, "start_time", now)
    group = entry["instrument"][detector]
    channels = series.header.channels or ()
    _write_fields(entry, nexus.fields(series.described, detector, channels))
    if "title" not in entry:
        create_name(entry, "title", _text(path.stem))
    columns = per_frame.created(group)
    if series.rois is not None:
        region_rows.create(group, series.rois.rois)
        if region_rows.GROUP in group:
            _mark_classes(group[region_rows.GROUP])
    record = group["series"]
    create_name(record, "id", _text(series.id))
    create_name(record, "source", _text(source))
    create_name(record, "checksum", _text(series.checksum))
    if names := nexus.channel_names(channels):
        create_value(record, "channels", list(names))
    made = Structure(entry, group, record, {**template.BEGINNING, **dict.fromkeys(COUNTERS, 0)}, columns)
    made.record_value("planned", -1 if series.account.planned is None else series.account.planned)
    made.record_value("index_source", series.index_source)
    return made


def _mark_classes(regions: h5py.Group) -> None:
    """Write the classes of the groups of regions in ASCII."""

    def mark(_: str, item: Any) -> None:
        if (nx_class := item.attrs.get("NX_class")) is not None:
            set_ascii(item, "NX_class", nx_class)

    mark("", regions)
    regions.visititems(mark)


def _write_fields(entry: h5py.Group, fields: Iterable[nexus.Field], *, where_free: bool = False) -> None:
    """Write fields; with `where_free`, only those that the sender has not said already."""
    groups: dict[tuple[str, ...], Any] = {(): entry}
    for field in fields:
        above = entry
        for depth, nx_class in enumerate(field.classes, 1):
            path, name = field.path[:depth], field.path[depth - 1]
            if path not in groups:
                groups[path] = above[name] if name in above else create_group(above, name, nx_class)
            above = groups[path]
        group = above
        # Asked only where needed: with ten thousand keys, the answers would take half a minute.
        if where_free and field.path[-1] in group:
            continue
        if field.same_as is not None:
            group[field.path[-1]] = entry["/".join(field.same_as)]
            continue
        dataset = create_value(group, field.path[-1], field.value)
        for name, value in field.attributes.items():
            set_attribute(dataset, name, value)
        if field.units is not None:
            set_ascii(dataset, "units", field.units)
        if field.long_name is not None:
            set_attribute(dataset, "long_name", field.long_name)


def _text(value: str) -> str:
    """Return a text from outside as HDF5 can hold it: without NUL."""
    return value.replace("\0", "\ufffd")


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).astimezone().isoformat(timespec="milliseconds")
