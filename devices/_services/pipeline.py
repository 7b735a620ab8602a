"""The Tango device of a pipeline of live processing: its account and its newest results as attributes."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import tango
from tango.server import attribute, command

from penstock.devices._series.machine.states import RECEIVER_TANGO_STATE
from penstock.devices._services import curve_feed
from penstock.devices._services.configuring import Configuring, briefly
from penstock.devices._services.pipeline_attributes import STATUS_ATTRIBUTES
from penstock.devices._services.pipeline_record import PipelineRecord
from penstock.devices._services.pipeline_results import CurveMeans, PipelineResults
from penstock.devices._tango import events
from penstock.devices._tango.attributes import Unread
from penstock.devices._tango.device_properties import CheckedProperties, declared
from penstock.devices._tango.facility_limits import FacilityLimits
from penstock.devices._tango.faults import as_tango_error
from penstock.devices._tango.publisher import Publisher
from penstock.devices._tango.shown_attributes import ShownAttributes
from penstock.devices._tango.status_attributes import values_of, with_attributes
from penstock.devices._tango.status_watch import StatusWatch
from penstock.devices._tango.tango_text import tango_json, tango_text
from penstock.processing.client import NoAnswer, PipelineClient
from penstock.processing.models import Status
from penstock.streamer.camera.settings import Parameter

log = logging.getLogger(__name__)

VALID, INVALID = tango.AttrQuality.ATTR_VALID, tango.AttrQuality.ATTR_INVALID
MOST_NAMES = 256
"""Result names in the attribute ResultNames."""


class _Shown(NamedTuple):
    """One curve and its time: the attributes that show it agree."""

    curve: curve_feed.Curve
    time: float


PROPERTIES = (
    Parameter(
        name="PipelineUrl", default="", required=True,
        doc="Address of the pipeline's HTTP API, such as http://daq-1:5100.",
    ),
    Parameter(
        name="CurveResult", default="",
        doc="Name of the result that Curve shows, one value of one dimension per frame; empty: the first.",
    ),
    Parameter(
        name="ScalarResults", default="", is_list=True,
        doc="Names of results that are numbers, one per line, or separated by commas: each becomes an "
        "attribute of its name.",
    ),
)  # fmt: skip


class PenstockPipeline(CheckedProperties):
    """A pipeline: State is ON, RUNNING or FAULT for idle, running or error, UNKNOWN without an answer."""

    checked = PROPERTIES
    PipelineUrl, CurveResult, ScalarResults = map(declared, PROPERTIES)

    _is_made = False
    """True once Tango has made the device, which may have attributes of its own from then on."""

    def init_device(self) -> None:
        """Begin to follow the pipeline."""
        super().init_device()
        client = PipelineClient(self.PipelineUrl)
        self._client = client
        self._record = PipelineRecord(self.PipelineUrl)
        self._curve: _Shown | None = None
        self._reads: _Shown | None = None
        self._means = CurveMeans()
        for name in ("State", "Status"):
            events.has_events(self, name)
        self._publisher = Publisher(
            self, step=lambda: None, values=self._all_values, failed=self._on_unexpected,
            states=lambda: [{"Status": self.dev_status(), "State": self.dev_state()}],
        )  # fmt: skip
        self._configuring = Configuring(client, self._publisher.wake)
        names = self.ScalarResults.replace(",", " ").split()
        self._scalars = ShownAttributes(self, FacilityLimits(self, []))
        self._results = PipelineResults(
            client, self.CurveResult.strip(), names,
            on_curve=self._on_curve, on_means=self._on_means, on_change=self._publisher.wake,
        )  # fmt: skip
        self._watch = StatusWatch(client, self._on_pipeline, "pipeline")
        if self._is_made:  # this is Init
            self._show_numbers()
        self._publisher.start()
        if not self.has_wrong_property:
            self._results.start()
            self._watch.start()

    def initialize_dynamic_attributes(self) -> None:
        """Have the attributes of ScalarResults before a client can ask for any: see `ShownAttributes`."""
        self._is_made = True
        self._show_numbers()

    def delete_device(self) -> None:
        """Stop following; the threads end by themselves."""
        self._watch.close()
        self._results.stop()
        self._publisher.stop()
        self._client.close()
        super().delete_device()

    def followed_state(self) -> tango.DevState:
        """Return the pipeline's state as Tango shows it."""
        snapshot = self._record.snapshot
        if self._record.unavailable or snapshot is None:
            return tango.DevState.UNKNOWN
        return getattr(tango.DevState, RECEIVER_TANGO_STATE[snapshot.status.state])

    def followed_status(self) -> str:
        """Return the state of the pipeline, in a sentence."""
        said = [self._record.sentence()]
        if self._configuring.busy:
            said.append("New parameters are being prepared.")
        if not self._record.unavailable and self._results.problem:
            said.append(self._results.problem)
        return " ".join(said)

    @command(
        doc_in="JSON object of parameters and values; the others stay as they are. Jive takes it as one text "
        r'in quotes, with a backslash before those inside: "{\"threshold\": 5, \"method\": \"mean\"}"',
        doc_out="JSON object: done, taken, version, from_frame, acknowledged",
    )
    def Configure(self, parameters: str) -> str:
        """Change parameters; within a second the outcome is returned, a later one is in ConfigureOutcome."""
        with as_tango_error("Configure"):
            self.refuse_if_broken()
            return tango_json(self._configuring.configure(parameters))
        raise AssertionError("as_tango_error has returned")

    @command
    def Reset(self) -> None:
        """Leave the pipeline's state Error; start its distributor again if it has died."""
        with as_tango_error("Reset"):
            self.refuse_if_broken()
            briefly(self._client.reset, f"Reset of {self.get_name()}")

    @command
    def Stop(self) -> None:
        """End the running series now, with the results so far; frames that nobody has yet are dropped."""
        name = self.get_name()
        with as_tango_error("Stop"):
            self.refuse_if_broken()
            briefly(lambda: self._client.stop(f"Stop of the Tango device {name}"), f"Stop of {name}")

    # Results ------------------------------------------------------------------------------------

    @attribute(
        dtype=str, doc="JSON object: what became of the last Configure.",
        display_level=tango.DispLevel.EXPERT, **events.OPTIONS,
    )  # fmt: skip
    def ConfigureOutcome(self) -> str:
        """See `Configuring.outcome`."""
        return tango_json(self._configuring.outcome)

    @attribute(
        dtype=(str,),
        max_dim_x=MOST_NAMES,
        doc="Names of the results of the running or last series.",
        **events.OPTIONS,
    )
    def ResultNames(self) -> list[str]:
        """Return the names."""
        return self._names()

    @attribute(
        dtype=(float,), max_dim_x=curve_feed.MOST_POINTS, format="%.6g",
        doc="The curve of one frame, whose index is CurveFrame; both have the same time stamp.",
        **events.OPTIONS,
    )  # fmt: skip
    def Curve(self) -> Any:
        """Return the newest one."""
        shown = self._reads
        return (
            (np.zeros(0), time.time(), INVALID) if shown is None else (shown.curve.values, shown.time, VALID)
        )

    @attribute(dtype=int, doc="Index of the frame whose curve is shown; -1 for none.", **events.OPTIONS)
    def CurveFrame(self) -> Any:
        """Return the index."""
        shown = self._reads
        return (-1, time.time(), VALID) if shown is None else (shown.curve.frame, shown.time, VALID)

    @attribute(
        dtype=tango.DevEncoded,
        doc="Curve with series and frame in one event: the format is a JSON object, the data are doubles.",
        **events.OPTIONS,
    )
    def CurveEncoded(self) -> Any:
        """Return the newest one, `frame` -1 if there is none."""
        shown = self._reads
        return encoded(None if shown is None else shown.curve)

    @attribute(
        dtype=(float,), max_dim_x=curve_feed.MOST_POINTS, format="%.6g",
        doc="Values of the axis of Curve; the index of the point if it has none.", **events.OPTIONS,
    )  # fmt: skip
    def CurveAxis(self) -> Any:
        """Return the axis."""
        return self._means.axis

    @attribute(
        dtype=(str,), max_dim_x=4,
        doc="Name and unit of Curve, name and unit of its axis; empty where the class does not say.",
        **events.OPTIONS,
    )  # fmt: skip
    def CurveMeaning(self) -> list[str]:
        """Return the texts."""
        return self._meaning()

    def read_attr_hardware(self, _: Any) -> None:
        """Take one curve for all attributes that are read together."""
        self._reads = self._curve

    def read_shown(self, shown: tango.Attribute) -> Any:
        """Return the newest value of a number (an attribute that ScalarResults names)."""
        value = self._results.numbers.get(shown.get_name())
        return (0.0, time.time(), INVALID) if value is None else value

    # From other threads ---------------------------------------------------------------------------

    def _on_pipeline(self, status: Status | NoAnswer) -> None:
        self._record.take(status)
        self._results.follow(None if isinstance(status, NoAnswer) else status)
        self._publisher.wake()

    def _on_curve(self, curve: curve_feed.Curve) -> None:
        # Tango's time stamps have microseconds: each curve has one of its own.
        now = time.time() if self._curve is None else max(time.time(), self._curve.time + 2e-6)
        self._curve = _Shown(curve, now)
        events.push(self, "CurveEncoded", *encoded(curve), now, VALID)
        events.push(self, "CurveFrame", curve.frame, now, VALID)
        events.push(self, "Curve", curve.values, now, VALID)

    def _on_means(self, means: CurveMeans) -> None:
        self._means = means
        events.push(self, "CurveAxis", means.axis)
        events.push(self, "CurveMeaning", self._meaning())

    def _show_numbers(self) -> None:
        try:
            self._scalars.show(
                Parameter(name=name, default=0.0, doc=f"Newest {name} of a frame.", writable=False)
                for name in self._results.numbers
            )
        except Exception as error:  # it would keep the whole server from starting
            log.exception("%s: unexpected error", self.get_name())
            self._on_unexpected(error)

    def _all_values(self) -> dict[str, Any]:
        numbers = self._results.numbers
        shown = (each.name for each in self._scalars.parameters)
        return {
            **self._values(),
            "ConfigureOutcome": tango_json(self._configuring.outcome),
            "ResultNames": self._names(),
            **{name: Unread(0.0) if (value := numbers[name]) is None else value for name in shown},
        }

    def _values(self) -> Mapping[str, Any]:
        return values_of(STATUS_ATTRIBUTES, self._record.snapshot)

    def _names(self) -> list[str]:
        return [tango_text(name) for name in self._results.names[:MOST_NAMES]]

    def _meaning(self) -> list[str]:
        means = self._means
        return [tango_text(text) for text in (means.name, means.unit, means.axis_name, means.axis_unit)]

    def _on_unexpected(self, error: Exception) -> None:
        self._record.unavailable = (
            f"{self.get_name()} had an internal error ({error!r}); see its log, then call Init."
        )


def encoded(curve: curve_feed.Curve | None) -> tuple[str, bytes]:
    """Return a curve as format and data of Tango's DevEncoded."""
    if curve is None:
        return json.dumps({"series": "", "frame": -1, "name": "", "dtype": "<f8", "shape": [0]}), b""
    head = {
        "series": curve.series, "frame": curve.frame, "name": curve.name, "dtype": "<f8",
        "shape": list(curve.values.shape),
    }  # fmt: skip
    return json.dumps(head), curve.values.astype("<f8").tobytes()


def pipeline_class() -> type[PenstockPipeline]:
    """Return the Tango class `PenstockPipeline` with the attributes of `STATUS_ATTRIBUTES`."""
    return with_attributes(PenstockPipeline, STATUS_ATTRIBUTES)
