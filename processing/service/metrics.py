"""Status of a pipeline as Prometheus text.

docs/reference/pipeline-http.md has the table of metrics; a test compares the two.
"""

from __future__ import annotations

from dataclasses import asdict
from operator import attrgetter

from penstock.processing.models import Status
from penstock.service.prometheus import COUNTER, GAUGE, Moment, Row, Scrape, resident_bytes

PREFIX = "penstock_processing_"


def _frames(moment: Moment[Status]) -> dict[str, int]:
    series = moment.status.series
    if series is None:
        return {}
    return {name: count for name, count in asdict(series.counts).items() if name != "frames"}


def _states(moment: Moment[Status]) -> dict[str, bool]:
    return {name: moment.status.state == name for name in ("idle", "running", "error")}


def _seconds(moment: Moment[Status]) -> dict[str, float]:
    workers = moment.status.workers
    return {each.name: each.seconds_per_frame for each in workers if each.seconds_per_frame is not None}


def _processed(moment: Moment[Status]) -> dict[str, int]:
    return {each.name: each.frames for each in moment.status.workers}


def _workers(moment: Moment[Status]) -> dict[str, int]:
    states = [each.state for each in moment.status.workers]
    return {name: states.count(name) for name in ("starting", "ready", "preparing", "working", "refused")}


def _unmatched(moment: Moment[Status]) -> dict[str, int]:
    series = moment.status.series
    return {} if series is None else series.unmatched


def _channel_values(moment: Moment[Status]) -> dict[str, int]:
    return {each.name: each.values for each in moment.status.channels}


def _channel_answers(moment: Moment[Status]) -> dict[str, bool]:
    return {each.name: bool(each.how) and not each.problem for each in moment.status.channels}


def _from_file(moment: Moment[Status]) -> int:
    series = moment.status.series
    return 0 if series is None else series.from_file


METRICS = (
    Row(GAUGE, "up", "1 if the distributor lives and answers", "", attrgetter("healthy")),
    Row(GAUGE, "state", "1 for the state that the pipeline is in", "state", _states),
    Row(COUNTER, "frames", "Frames of all series that came into a final state since the distributor started",
        "state", attrgetter("status.totals")),
    Row(GAUGE, "series_frames", "Frames of the running or last series in each state", "state", _frames),
    Row(GAUGE, "frames_from_file", "Frames of this series that were taken from the raw file", "", _from_file),
    Row(GAUGE, "workers", "Workers in each state", "state", _workers),
    Row(GAUGE, "worker_frames", "Frames that a worker has processed since it joined", "worker", _processed),
    Row(GAUGE, "worker_seconds_per_frame", "Wall time of the class, smoothed", "worker", _seconds),
    Row(COUNTER, "worker_deaths", "Workers lost without a goodbye since the distributor started",
        "", attrgetter("status.deaths")),
    Row(COUNTER, "refused_connections", "Workers that had not the right key",
        "", attrgetter("status.refused_connections")),
    Row(COUNTER, "stray_frames", "Frames in results of workers that did not have them any more",
        "", attrgetter("status.stray")),
    Row(COUNTER, "duplicate_frames", "Frames that came twice", "", attrgetter("status.duplicates")),
    Row(GAUGE, "queue_bytes", "Bytes of frames in the distributor's own memory",
        "", attrgetter("status.queue_bytes")),
    Row(GAUGE, "parameters_version", "Version of the parameters in use",
        "", attrgetter("status.parameters.version")),
    Row(GAUGE, "channel_answers", "1 if values of a channel can be recorded now", "channel",
        _channel_answers),
    Row(COUNTER, "channel_values", "Values of a channel that were recorded since the pipeline started",
        "channel", _channel_values),
    Row(GAUGE, "unmatched_frames", "Frames of the running or last series without a value of a channel",
        "channel", _unmatched),
    Row(GAUGE, "resident_memory_bytes", "Memory of a process, shared memory included",
        "process", lambda moment: resident_bytes(moment.processes)),
)  # fmt: skip


def text(name: str, moment: Moment[Status]) -> str:
    """Return the metrics of the pipeline of this name as Prometheus text."""
    return Scrape(PREFIX, "pipeline", name, METRICS, moment).scraped()
