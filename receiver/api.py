"""The HTTP API: parse, call, encode. The logic is in `service`."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.exceptions import HTTPException

from penstock.receiver import metrics
from penstock.receiver.body_limit import BodyLimit
from penstock.receiver.models import Refusal, SeriesCheck, SeriesCheckResult, Status
from penstock.receiver.service import ReceiverService, Refused

MAX_WAIT = 30.0
MAX_BODY_BYTES = 2**20
KINDS = {404: "no_such_path", 405: "no_such_method", 413: "too_large"}
"""What the web framework itself refuses; anything else of it is a bad request."""


@dataclass(frozen=True)
class Value:
    """A single number, as MAX IV's clients know it."""

    value: int


@dataclass(frozen=True)
class StopRequest:
    """Why a running series is to end."""

    reason: str = "stop requested over HTTP"


def create_app(service: ReceiverService) -> FastAPI:
    """The API of one receiver; it starts and ends the data process with itself."""

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        await service.start()
        yield
        await service.close()

    app = FastAPI(title="Penstock receiver", lifespan=life, responses={409: {"model": Refusal}})
    app.add_middleware(BodyLimit, limit=MAX_BODY_BYTES)

    @app.exception_handler(Refused)
    async def refused(_: Request, error: Refused) -> JSONResponse:
        return _refusal(409, error.kind, str(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        place = ".".join(str(item) for item in first["loc"])
        return _refusal(422, "bad_request", f"{place}: {first['msg']}")

    @app.exception_handler(HTTPException)
    async def refused_unseen(request: Request, error: HTTPException) -> JSONResponse:
        sentence = f"{request.method} {request.url.path[:200]}: {error.detail}; /docs has what there is"
        return _refusal(error.status_code, KINDS.get(error.status_code, "bad_request"), sentence)

    @app.get("/status")
    async def status(
        seen: int | None = None, wait: Annotated[float, Query(ge=0, le=MAX_WAIT)] = 0.0
    ) -> Status:
        """Everything about the receiver; with `seen`, waits for a version that differs."""
        return service.status if seen is None else await service.status_after(seen, wait)

    @app.get("/received_frames")
    async def received_frames() -> Value:
        """Frames received in the running, or the last, series."""
        return Value(service.status.counts.received)

    @app.get("/downsample")
    async def downsample() -> Value:
        """Every n-th row and column that /last_frame returns."""
        return Value(service.step)

    @app.post("/downsample")
    async def set_downsample(value: Annotated[int, Query(ge=1, le=64)]) -> Value:
        """Set the down-sampling of the live view, for every viewer."""
        service.step = value
        return Value(value)

    @app.post("/series/check")
    def check(series: SeriesCheck) -> SeriesCheckResult:
        """Could this series be taken now? 409 with a sentence if not."""
        return service.check(series)

    @app.post("/stop")
    async def stop(request: StopRequest | None = None) -> Status:
        """End the running series; returns when its file is closed."""
        await service.stop((request or StopRequest()).reason)
        return service.status

    @app.post("/reset")
    async def reset() -> Status:
        """Leave Error."""
        await service.reset()
        return service.status

    @app.get("/last_frame", response_class=Response)
    def last_frame(seen: int | None = None, format: Literal["raw", "npy"] = "raw") -> Response:
        """The newest frame: raw little-endian pixels with a JSON header, or .npy.

        304 when nothing is newer than `seen`, 404 before the first frame.
        """
        try:
            found = service.last_frame(seen)
        except ValueError as error:
            return _refusal(500, "corrupt", str(error))
        if found is None:
            if seen is not None:
                return Response(status_code=304)
            return _refusal(404, "no_frame", f"receiver {service.name} has had no frame yet")
        held, array = found
        # A header is Latin-1, the name of a series may be anything: so every other character is escaped.
        header = json.dumps(
            {
                "shape": array.shape, "dtype": array.dtype.name, "frame": held.info.index,
                "trigger": held.info.trigger, "series": held.info.series, "version": held.version,
                "downsample": service.step, "saturation": held.info.saturation,
            }
        )  # fmt: skip
        headers = {"X-Penstock-Frame": header}
        if format == "npy":
            file = io.BytesIO()
            np.save(file, array, allow_pickle=False)
            return Response(file.getvalue(), media_type="application/x-npy", headers=headers)
        return Response(array.tobytes(), media_type="application/octet-stream", headers=headers)

    @app.get("/config")
    async def config() -> dict[str, Any]:
        """The configuration in use."""
        return {service.name: msgspec.to_builtins(service.config)}

    @app.get("/metrics", response_class=PlainTextResponse)
    async def prometheus() -> PlainTextResponse:
        """Counts, rates and losses for Prometheus."""
        return PlainTextResponse(
            metrics.render(service.name, service.status), media_type=metrics.CONTENT_TYPE
        )

    @app.get("/health")
    async def health() -> Response:
        """200 while the data process answers, 503 otherwise: for a supervisor."""
        return JSONResponse({"alive": service.healthy}, status_code=200 if service.healthy else 503)

    return app


def _refusal(status: int, kind: str, message: str) -> JSONResponse:
    return JSONResponse({"kind": kind, "message": message}, status_code=status)
