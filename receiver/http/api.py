"""The HTTP API: parse, call, encode. The logic is in `process.supervisor` and `frames`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
from fastapi import Depends, FastAPI, Path, Query, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import Field

from penstock.receiver.config import rectangles
from penstock.receiver.http import answers, metrics
from penstock.receiver.http import rois as roi_values
from penstock.receiver.http.document import (
    DESCRIPTION,
    MASK,
    NEWEST_FRAME,
    NUMBERED_FRAME,
    TAGS,
    refusals,
)
from penstock.receiver.http.frames import Frames, Masks
from penstock.receiver.http.live_view import UnpackedFrame
from penstock.receiver.http.pictures import ViewError
from penstock.receiver.http.requests import ID, ExpectedSeries, RoisRequest, SeriesCheck, StopRequest
from penstock.receiver.live.request import FrameRefused, Request
from penstock.receiver.models import (
    Colormap,
    Contrast,
    Folders,
    Geometry,
    LostFrames,
    Method,
    PastSeries,
    Rectangle,
    Rois,
    RoiValues,
    Scale,
    Scan,
    SeriesCheckResult,
    Status,
    View,
)
from penstock.receiver.process.history import KEPT
from penstock.receiver.process.supervisor.supervisor import Supervisor
from penstock.service import assets, web
from penstock.service.models import Health, Refused
from penstock.service.web import MAX_WAIT, Absent
from penstock.stins.messages import MAX_NAME
from penstock.stins.texts import quoted

ASSETS = assets.of(
    "penstock.receiver.http", "receiver", "page.js", "words.js", links={"series": "Past series (JSON)"}
)
"""What a browser loads, by path."""
MAX_VALUES = 10_000
"""Most frames whose values one answer has."""
Length = Annotated[int, Field(ge=1)]
Step = Annotated[int, Field(ge=1, le=64)]
Arm = Annotated[str, Path(pattern=f"^{ID}$")]
Finite = Annotated[float, Field(allow_inf_nan=False)]
RECTANGLE = r"^(0|[1-9][0-9]{0,8}),(0|[1-9][0-9]{0,8}),[1-9][0-9]{0,8},[1-9][0-9]{0,8}$"
"""x,y,width,height in pixels of the frame."""
Id = Annotated[str, Field(max_length=MAX_NAME)]
"""Id of a series."""


@dataclass(frozen=True)
class Value:
    """A single number, as MAX IV's clients expect it."""

    value: int


def _requested(
    x: Annotated[int, Query(ge=0)] = 0,
    y: Annotated[int, Query(ge=0)] = 0,
    width: Length | Absent = None,
    height: Length | Absent = None,
    downsample: Step | Absent = None,
    method: Method = "nth",
    channel: Annotated[str, Field(max_length=256)] | Absent = None,
    format: answers.Format | Absent = None,
    scale: Scale = "lin",
    low: Finite | Absent = None,
    high: Finite | Absent = None,
    low_percentile: Annotated[float, Query(ge=0, le=100)] = Contrast.low_percentile,
    high_percentile: Annotated[float, Query(ge=0, le=100)] = Contrast.high_percentile,
    colormap: Colormap = "gray",
    rectangle: Annotated[str, Field(pattern=RECTANGLE)] | Absent = None,
) -> answers.FrameRequest:
    """Return the requested view of a frame: region, down-sampling, contrast and format.

    Raises:
        ViewError: a rectangle, which is always whole, is given together with another region or down-sampling.
    """
    view = View(x, y, width, height, downsample, method, channel)
    if rectangle is not None:
        if (x, y, width, height) != (0, 0, None, None) or downsample not in (None, 1):
            raise ViewError(
                f"rectangle={rectangle} is fetched whole: leave out x, y, width, height and downsample, or "
                "leave it out"
            )
        x, y, width, height = map(int, rectangle.split(","))
        view = View(x, y, width, height, 1, method, channel)
    contrast = Contrast(scale, low, high, low_percentile, high_percentile, colormap)
    return answers.FrameRequest(view, contrast, format)


Requested = Annotated[answers.FrameRequest, Depends(_requested)]


def create_app(supervisor: Supervisor) -> FastAPI:
    """Return the API of one receiver; it starts and stops the data process with itself."""
    frames = Frames(supervisor)
    masks = Masks(frames)
    app = web.make("receiver", DESCRIPTION, TAGS, supervisor.close, supervisor.start)
    web.furnish(app, ASSETS, (Refused, FrameRefused, ViewError, rectangles.BadRegionError))

    web.add_status(app, "receiver", Status, lambda: supervisor.status, supervisor.status_after)

    @app.get("/received_frames", tags=["status"])
    async def received_frames() -> Value:
        """Return the number of frames received in the running or last series."""
        return Value(supervisor.status.counts.received)

    @app.get("/downsample", tags=["frames"])
    async def downsample() -> Value:
        """Return the down-sampling n: /last_frame returns every n-th row and column."""
        return Value(supervisor.step)

    @app.post("/downsample", tags=["frames"], responses=refusals(422))
    async def set_downsample(value: Step) -> Value:
        """Set the down-sampling of the live view, for every viewer."""
        supervisor.step = value
        return Value(value)

    @app.get("/series", tags=["series"], responses=refusals(422))
    def series(limit: Annotated[int, Query(ge=1, le=KEPT)] = 20) -> list[PastSeries]:
        """Return the last series, newest first, without the running one."""
        return supervisor.history.last(limit)

    @app.get("/series/one", tags=["series"], responses=refusals(404, 409, 422))
    async def one_series(series: Id) -> PastSeries:
        """Return the running series (`active`, with the counts of now), or one that has ended, by its id.

        404 if it is not known: it has not begun here, or too many have ended since.
        """
        found = await supervisor.series(series)
        if found is None:
            raise FrameRefused(
                "no_such_series",
                f"receiver {supervisor.name} does not know series {quoted(series, MAX_NAME)}: it has not "
                f"begun here, or more than {KEPT:,} have ended since",
            )
        return found

    @app.get("/series/lost", tags=["series"], responses=refusals(404, 409, 422, 500, 503))
    async def lost(
        first: Annotated[int, Query(ge=0, lt=2**53)] = 0,
        limit: Annotated[int, Query(ge=1, le=MAX_VALUES)] = 1000,
        series: Id | Absent = None,
    ) -> LostFrames:
        """Return ranges of frames that are not, or not as a whole, in the file of the running or last series,
        from index `first` on; of a running one, those lost so far."""
        held = await frames.fact(Request("lost", first, limit, series))
        return msgspec.json.decode(held.blobs[0], type=LostFrames)

    @app.get("/geometry", tags=["series"], responses=refusals(404, 409, 422, 500, 503))
    async def geometry(series: Id | Absent = None) -> Geometry:
        """Return what the start message of the running or last series says of detector and beam; null where
        it does not say it. 409 for spectra and colour images."""
        held = await frames.fact(Request("geometry", series=series))
        return msgspec.json.decode(held.blobs[0], type=Geometry)

    @app.get("/scan", tags=["series"], responses=refusals(404, 409, 422, 500, 503))
    async def scan(series: Id | Absent = None) -> Scan:
        """Return what the user's metadata of the running or last series say of its scan; empty where they do
        not say it."""
        held = await frames.fact(Request("scan", series=series))
        return msgspec.json.decode(held.blobs[0], type=Scan)

    @app.get("/mask", tags=["series"], response_class=Response, responses=MASK)
    async def mask(
        format: Literal["raw", "npy"] = "npy",
        channel: Annotated[str, Field(max_length=256)] | Absent = None,
        series: Id | Absent = None,
    ) -> Response:
        """Return the pixel mask of the running or last series, for the image as it is shown.

        Bits as in NeXus' pixel_mask, 0 for pixels that count. 404 if there is none.
        """
        held = await frames.fact(Request("mask", series=series, channel=channel))
        return _response(await asyncio.to_thread(answers.mask, held, format))

    @app.get("/folders", tags=["series"], responses=refusals(409, 422))
    async def folders(under: Annotated[str, Query(max_length=4096)] = "") -> Folders:
        """Return the subfolders of a folder, which `under` names relative to the data root."""
        return await supervisor.folders.below(under)

    @app.post("/series/check", tags=["series"], responses=refusals(409, 413, 422))
    def check(series: SeriesCheck) -> SeriesCheckResult:
        """Check whether a series could be taken now; 409 with a sentence if not."""
        return supervisor.check(series)

    @app.put("/expected/{arm}", tags=["series"], responses=refusals(409, 413, 422))
    async def expect(arm: Arm, series: ExpectedSeries) -> SeriesCheckResult:
        """Expect a series of a stream without start messages: file and plan for the frames with this id.

        There is one entry, which the next call replaces; it lasts until the series begins, or `seconds`.
        """
        return await supervisor.expect(series.part(arm), series.seconds)

    @app.delete("/expected/{arm}", tags=["series"], responses=refusals(409, 422))
    async def forget(arm: Arm) -> Status:
        """Do not expect this series any more; without effect on one that has begun, as the status shows."""
        await supervisor.forget(arm)
        return supervisor.status

    @app.post("/stop", tags=["series"], responses=refusals(409, 413, 422))
    async def stop(request: StopRequest | None = None) -> Status:
        """End the running series; the answer comes when its file is closed."""
        request = request or StopRequest()
        await supervisor.stop(request.reason, request.at_end_of, failed=request.failed)
        return supervisor.status

    @app.post("/drain", tags=["series"], responses=refusals(409))
    async def drain() -> Status:
        """Take no new series: once the running one has ended, `ending` is "drained"."""
        await supervisor.drain(True)
        return supervisor.status

    @app.delete("/drain", tags=["series"], responses=refusals(409))
    async def take_again() -> Status:
        """Take series again."""
        await supervisor.drain(False)
        return supervisor.status

    @app.post("/reset", tags=["series"], responses=refusals(409))
    async def reset() -> Status:
        """Leave the state Error."""
        await supervisor.reset()
        return supervisor.status

    @app.get("/last_frame", tags=["frames"], response_class=Response, responses=NEWEST_FRAME)
    async def last_frame(requested: Requested, seen: int | Absent = None) -> Response:
        """Return the newest frame: raw little-endian pixels with a JSON header, .npy, PNG or JPEG.

        304 if no frame is newer than `seen`, 404 before the first frame.
        """
        found = await run_in_threadpool(frames.newest, seen)
        if found is None:
            if seen is not None:
                return Response(status_code=304)
            return web.refusal(404, "no_frame", f"receiver {supervisor.name} has had no frame yet")
        if requested.format is None and supervisor.config.pickle_last_frame:
            return _response(await run_in_threadpool(answers.as_pickle, found, requested, supervisor.step))
        return await shown(found, requested)

    @app.get("/frame/{index}", tags=["frames"], response_class=Response, responses=NUMBERED_FRAME)
    async def frame(index: Annotated[int, Path(ge=0, lt=2**53)], requested: Requested) -> Response:
        """Return a frame of the running or last series by its index, in the formats of `/last_frame`.

        404 if the frame does not exist, 409 if it has not arrived yet or frames are not kept, 503 if too many
        requests wait.
        """
        return await shown(await frames.frame(index), requested)

    async def shown(found: UnpackedFrame, requested: answers.FrameRequest) -> Response:
        step = supervisor.step
        mask = await masks.of(found, requested.view.channel) if requested.leaves_out(step) else None
        return _response(await run_in_threadpool(answers.answer, found, requested, step, mask))

    def rois_now() -> Rois:
        kept = supervisor.rois
        return Rois(
            rois={name: Rectangle(**msgspec.to_builtins(each)) for name, each in kept.now.items()},
            kept=kept.kept,
        )

    @app.get("/rois", tags=["rois"])
    async def rois() -> Rois:
        """Return the regions of interest that the next series will have."""
        return rois_now()

    @app.put("/rois", tags=["rois"], responses=refusals(400, 409, 413, 422))
    async def set_rois(request: RoisRequest) -> Rois:
        """Set all regions of interest, from the next series on; the running series keeps its own."""
        found = {
            name: rectangles.Rectangle(each.x, each.y, each.width, each.height)
            for name, each in request.rois.items()
        }
        await supervisor.use_rois(found, keep=request.keep)
        return rois_now()

    @app.get("/rois/values", tags=["rois"], responses=refusals(409, 422))
    async def values_of_rois(
        first: Annotated[int, Query(ge=0, lt=2**53)] = 0,
        count: Annotated[int, Query(ge=1, le=MAX_VALUES)] = 1000,
        series: Annotated[str, Field(max_length=256)] | Absent = None,
        wait: Annotated[float, Query(ge=0, le=MAX_WAIT)] = 0.0,
    ) -> RoiValues:
        """Return values per frame from index `first` on, as far as available; wait for the first of them."""
        return await roi_values.values(supervisor, first, count, series, wait)

    def scrape() -> str:
        return metrics.Scrape(
            supervisor.name, supervisor.status, supervisor.measures,
            healthy=supervisor.health.alive, processes=supervisor.processes,
            budget=supervisor.config.memory_mb * 1e6,
        ).text()  # fmt: skip

    web.add_facts(
        app, lambda: {supervisor.name: supervisor.config}, scrape, lambda: supervisor.health,
        tag="configuration", counts="counts, rates, times and losses",
        alive="Return liveness: 503 with a sentence if the data process is dead or hangs. Restart it then.",
        ready="Return readiness: 503 also in Error, which needs a person: a restart does not help.",
    )  # fmt: skip

    @app.get("/health/started", tags=["status"], responses=web.NOT_WELL)
    async def started(response: Response) -> Health:
        """Return whether this is the receiver of its entry: 503 while it waits for another one, or if it may
        not write into the data root. In Error it is, so that clients can still reach it; for the readiness
        probe of Kubernetes."""
        response.status_code = 200 if supervisor.is_started else 503
        return supervisor.health

    return app


def _response(answer: answers.Answer) -> Response:
    return Response(answer.body, media_type=answer.media_type, headers=answer.headers)
