"""What the records of a receiver and a pipeline show, and when they are an alarm."""

from __future__ import annotations

from dataclasses import replace

from penstock.bridges.epics import status_records
from penstock.bridges.epics.status_records import INVALID, MAJOR, MINOR, NONE, of_pipeline, of_receiver
from penstock.processing import models as pipeline
from penstock.receiver import models as receiver

SERIES = receiver.Series(id="s", filename="/data/a.h5", active=False, complete=True)
WELL = receiver.Status(
    state="idle", series=SERIES, counts=receiver.Counts(planned=9, received=9, stored=9), free_bytes=2**40,
    frame_rate=12.5,
)  # fmt: skip
WORKER = pipeline.Worker(name="w", host="h", pid=1, state="ready")
DONE = pipeline.Series(id="s", active=False, file="/data/a.h5", counts=pipeline.Counts(frames=9, done=9))


def test_a_receiver_that_is_well_has_no_alarm_and_every_record() -> None:
    shown = of_receiver(WELL)
    assert set(shown) == set(status_records.RECEIVER)
    assert {each.severity for each in shown.values()} == {NONE}
    assert (shown["State"].value, shown["File"].value, shown["Stored"].value) == ("idle", "/data/a.h5", 9)
    assert (shown["FrameRate"].value, shown["FreeBytes"].value) == (12.5, 2.0**40)


def test_an_error_is_major_and_losses_are_minor_and_say_what_is_lost() -> None:
    shown = of_receiver(replace(WELL, state="error", error="/data is full"))
    assert shown["State"] == ("error", MAJOR, "/data is full")
    lossy = replace(
        WELL, counts=replace(WELL.counts, stored=7, missing=2),
        series=replace(SERIES, complete=False, reason="2 missing"),
    )  # fmt: skip
    shown = of_receiver(lossy)
    assert shown["Missing"] == (2, MINOR, "2 missing")
    assert shown["State"] == ("idle", MINOR, "2 missing") and shown["Message"].value == "2 missing"
    refused = of_receiver(replace(WELL, refused="file exists"))
    assert refused["State"] == ("idle", MINOR, "file exists")


def test_what_is_not_known_is_minus_one_or_invalid() -> None:
    shown = of_receiver(receiver.Status(state="idle"))
    assert (shown["Planned"].value, shown["File"].value) == (-1, "")
    assert (shown["FreeBytes"].value, shown["FreeBytes"].severity) == (-1.0, INVALID)


def test_a_pipeline_is_an_alarm_in_error_without_workers_and_with_frames_that_failed() -> None:
    well = pipeline.Status(state="idle", series=DONE, workers=[WORKER])
    shown = of_pipeline(well)
    assert set(shown) == set(status_records.PIPELINE)
    assert {each.severity for each in shown.values()} == {NONE}
    assert (shown["Done"].value, shown["Workers"].value) == (9, 1)
    assert of_pipeline(replace(well, state="error", error="no"))["State"] == ("error", MAJOR, "no")
    none = of_pipeline(replace(well, workers=[]))
    assert none["State"] == ("idle", MINOR, "no worker") and none["Workers"].severity == MAJOR
    failed = replace(DONE, counts=pipeline.Counts(frames=9, done=8, failed=1))
    assert of_pipeline(replace(well, series=failed))["Failed"] == (1, MINOR, "1 failed")
