"""The HTTP API of a pipeline: parse, call, encode. The logic is in `supervisor` and `result_values`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import msgspec
from fastapi import Body, FastAPI, Path, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from penstock.processing.models import Changed, Latest, Parameters, ParametersRefused, Result, Status, Values
from penstock.processing.service import metrics
from penstock.processing.service.result_values import RANGE, NoResults, ResultValues
from penstock.processing.service.supervisor import Supervisor
from penstock.service import assets, web
from penstock.service.models import Refused
from penstock.service.prometheus import Moment
from penstock.service.web import Absent
from penstock.stins.messages import MAX_NAME

ASSETS = assets.of(
    "penstock.processing.service", "pipeline", "pipeline.js", "plot.js", "pipeline.css",
    links={"results": "Results (JSON)"},
)  # fmt: skip
"""What a browser loads, by path."""
DESCRIPTION = f"The HTTP interface of a pipeline. {web.REFUSALS} {web.UNLISTED}"
TAGS = [
    {"name": "status", "description": "State of the pipeline"},
    {"name": "results", "description": "Results of the running or last series, or of an earlier one"},
    {"name": "parameters", "description": "Parameters of the classes, and the configuration"},
]
WHY = {
    404: "There are no results, or no such result",
    409: "Not possible now",
}
MAX_REASON = 300
"""Characters of a reason."""
NPY, NPZ = "application/x-npy", "application/zip"
Name = Annotated[str, Path(max_length=256)]
Frames = Annotated[str, Field(pattern=RANGE)]
SeriesId = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
Format = Literal["json", "npy", "npz"]


def _refusals(*statuses: int) -> web.Answers:
    return web.described(WHY, statuses)


_BINARY = {"schema": {"type": "string", "format": "binary"}}


def _either(model: Any, *kinds: str) -> web.Answers:
    """Return an answer that is JSON or one of other kinds, for the OpenAPI document."""
    content = dict.fromkeys(kinds, _BINARY)
    return {200: {"model": model, "content": content}, **_refusals(404, 409, 422)}


@dataclass(frozen=True)
class StopRequest:
    """The series that shall end, and why."""

    reason: Annotated[str, Field(min_length=1, max_length=MAX_REASON)] = "stopped over HTTP"
    """Reason, for the result file."""
    series: Annotated[str, Field(max_length=MAX_NAME)] = ""
    """Id of the series; "" for all that are not over."""


def create_app(supervisor: Supervisor) -> FastAPI:
    """Return the API of one pipeline; it starts and stops the pipeline's processes with itself."""

    async def start() -> None:
        try:
            await supervisor.start()
        except BaseException:
            await supervisor.close()
            raise

    app = web.make("pipeline", DESCRIPTION, TAGS, supervisor.close, start)
    web.furnish(app, ASSETS, (Refused, NoResults))

    web.add_status(app, "pipeline", Status, lambda: supervisor.status, supervisor.status_after)
    _add_results(app, supervisor)

    @app.get("/parameters", tags=["parameters"])
    async def parameters() -> Parameters:
        """Return the parameters in use that differ from the classes' defaults."""
        return supervisor.status.parameters

    @app.post(
        "/parameters", tags=["parameters"], response_model=Changed,
        responses={**_refusals(413, 422), 409: {"model": ParametersRefused, "description": "Refused"}},
    )  # fmt: skip
    async def change(values: Annotated[dict[str, Any], Body()]) -> Any:
        """Change parameters: a JSON object of their names and values; the others stay as they are.

        The answer comes once every worker has prepared them: version, first frame that is processed with it,
        and who has acknowledged. If one refuses, nothing changes, and 409 says who and why.
        """
        changed = await supervisor.change(values)
        if changed.taken:
            return changed
        reasons = "; ".join(f"{name}: {why}" if name else why for name, why in changed.refused.items())
        refused = ParametersRefused(
            kind="refused_parameters",
            message=f"version {changed.version} stays in use. {reasons or 'The distributor refuses them'}",
            changed=changed,
        )
        return JSONResponse(asdict(refused), 409)

    @app.post("/stop", tags=["status"], responses=_refusals(409, 413, 422))
    async def stop(request: StopRequest | None = None) -> Status:
        """End the running series: frames that workers have are processed, all others are dropped. The answer
        comes once the result files are complete, or after 30 s."""
        request = request or StopRequest()
        await supervisor.stop(request.reason, request.series)
        return supervisor.status

    @app.post("/drain", tags=["status"], responses=_refusals(409))
    async def drain() -> Status:
        """Take no new series: once the last one is over, `ending` is "drained"."""
        await supervisor.drain(True)
        return supervisor.status

    @app.delete("/drain", tags=["status"], responses=_refusals(409))
    async def take_again() -> Status:
        """Take series again; those that have come meanwhile are taken from their files."""
        await supervisor.drain(False)
        return supervisor.status

    @app.post("/reset", tags=["status"], responses=_refusals(409))
    async def reset() -> Status:
        """Leave the state Error; start the distributor again if it has died."""
        await supervisor.reset()
        return supervisor.status

    def scrape() -> str:
        moment = Moment(supervisor.status, supervisor.health.alive, supervisor.processes)
        return metrics.text(supervisor.config.name, moment)

    web.add_facts(
        app, lambda: supervisor.config, scrape, lambda: supervisor.health, tag="parameters",
        counts="counts, times and memory",
        alive="Return liveness: 503 with a sentence if the distributor is dead or hangs. Restart it then.",
        ready="Return readiness: 503 also in Error, or while something is missing: workers, the receiver.",
    )  # fmt: skip
    return app


def _add_results(app: FastAPI, supervisor: Supervisor) -> None:
    """Add the calls that answer with results."""

    @app.get("/results", tags=["results"], responses=_refusals(404, 409, 422))
    def results(series: SeriesId | Absent = None) -> list[Result]:
        """Return what results the running or last series has by now, or one of the last hundred by its id."""
        return ResultValues(supervisor.series(series)).names()

    @app.get("/states", tags=["results"], response_class=Response, responses={
        200: {"content": {NPZ: _BINARY}}, **_refusals(404, 409, 422),
    })  # fmt: skip
    def states(frames: Frames | Absent = None, series: SeriesId | Absent = None) -> Response:
        """Return the states of frames, uint8 with the numbers of the result file, as an .npz file.

        It has `series`, `first`, `step` and `states`. `frames` as for the values of a result.
        """
        return Response(ResultValues(supervisor.series(series)).states(frames), media_type=NPZ)

    @app.get("/results/{name}", tags=["results"], response_model=None, responses=_either(Values, NPY, NPZ))
    def values(
        name: Name,
        frames: Frames | Absent = None,
        format: Format = "json",
        values: bool = True,
        series: SeriesId | Absent = None,
    ) -> Response:
        """Return the values of frames from a on and before b; the last 1000 if `frames` is not given.

        `frames=a:b` as in Python: both may be left out, and negative ones count from the last. `a:b:c` is
        every c-th of them.

        .npy: (frames, *shape), NaN or 0 where there is no value; of events all, one after the other. .npz:
        these `values` with `series`, `first`, `step`, the `states` of the frames, whether each `has` a value,
        and of events their `counts`; with `values=false` without the values.
        """
        found = ResultValues(supervisor.series(series))
        if format == "npz":
            return Response(found.rows(name, frames, values=values), media_type=NPZ)
        if format == "npy":
            return Response(found.array(name, frames), media_type=NPY)
        return _json(found.values(name, frames))

    @app.get(
        "/results/{name}/latest", tags=["results"], response_model=None, responses=_either(Latest, NPY, NPZ)
    )
    def latest(name: Name, format: Format = "json", series: SeriesId | Absent = None) -> Response:
        """Return the value of the highest frame that is done and has one, or an accumulated value.

        .npz: the `value` with `series`, `frame`, and the number `n` of frames in it; -1 where there is none.
        """
        found = ResultValues(supervisor.series(series))
        if format == "npz":
            return Response(found.newest(name), media_type=NPZ)
        if format == "npy":
            return Response(found.latest_array(name), media_type=NPY)
        return _json(found.latest(name))


def _json(value: Any) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")
