"""The account of a pipeline as attributes of its Tango device: a table."""

from __future__ import annotations

from penstock.devices._services.pipeline_record import Snapshot
from penstock.devices._tango.status_attributes import StatusAttribute, entry
from penstock.devices._tango.tango_text import tango_json
from penstock.processing.models import Counts, Series

NO_SERIES = Series(id="", active=False)


def _series(snapshot: Snapshot) -> Series:
    return snapshot.status.series or NO_SERIES


def _counts(snapshot: Snapshot) -> Counts:
    return _series(snapshot).counts


def _planned(series: Series) -> int:
    return -1 if series.planned is None else series.planned


STATUS_ATTRIBUTES: tuple[StatusAttribute[Snapshot], ...] = (
    entry("PipelineName", "", "Name of the pipeline, also in the names of its result files.",
          lambda s: s.status.pipeline),
    entry("SeriesId", "", "Unique id of the running or last series; the detector's SeriesId.",
          lambda s: _series(s).id),
    entry("SeriesReason", "", "What the series waits for, or why it is not as it should be.",
          lambda s: _series(s).reason),
    entry("RawFile", "", "File of the frames; empty for none, or if it is not known yet.",
          lambda s: _series(s).file or ""),
    entry("ResultFile", "", "File of the results; empty if they are not stored.",
          lambda s: _series(s).result_file or ""),
    entry("Planned", 0, "Frames announced; -1 while unknown.",
          lambda s: _planned(_series(s))),
    entry("Done", 0, "Frames whose results are stored.", lambda s: _counts(s).done),
    entry("Failed", 0, "Frames on which the class has raised.", lambda s: _counts(s).failed),
    entry("Lost", 0, "Frames whose workers died with them.", lambda s: _counts(s).lost),
    entry("Dropped", 0, "Frames that the receiver had, nobody took, and no file has.",
          lambda s: _counts(s).dropped),
    entry("Absent", 0, "Frames that the receiver does not have.", lambda s: _counts(s).absent),
    entry("Pending", 0, "Planned frames that have not arrived yet.", lambda s: _counts(s).pending),
    entry("Queued", 0, "Frames that wait for a worker.", lambda s: _counts(s).queued),
    entry("InWork", 0, "Frames that a worker has.", lambda s: _counts(s).in_work),
    entry("Held", 0, "Frames in an accumulated value that is still in its worker.",
          lambda s: _counts(s).held),
    entry("FromFile", 0, "Frames of this series that were taken from the raw file after the end.",
          lambda s: _series(s).from_file),
    entry("Rate", 0.0, "Frames per second that become done, over the last two seconds.",
          lambda s: s.rate, "Hz", "%.1f"),
    entry("Workers", 0, "Workers that are ready or at work.",
          lambda s: sum(each.state in ("ready", "preparing", "working") for each in s.status.workers)),
    entry("WorkerDeaths", 0, "Workers that were lost without a goodbye since the distributor was started.",
          lambda s: s.status.deaths),
    entry("WaitsFor", "", "What the pipeline waits for.", lambda s: s.status.waits_for),
    entry("LastError", "", "The pipeline's error, or the newest one of a worker.", lambda s: s.last_error),
    entry("Parameters", "{}", "JSON object: parameters in use that differ from the defaults.",
          lambda s: tango_json(s.status.parameters.values), expert=True),
    entry("ParametersVersion", 0, "Grows by one with every change of the parameters.",
          lambda s: s.status.parameters.version),
    entry("ParametersFromFrame", 0, "First frame of the series that is processed with them.",
          lambda s: s.status.parameters.from_frame),
)  # fmt: skip
"""All status attributes, with their values as functions of what the pipeline says."""
