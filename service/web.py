"""What the HTTP interfaces of services have in common: pages, refusals, optional query values, and a
limit for bodies, each of which is held in memory; valid ones are small."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from importlib import metadata
from typing import Annotated, Any

import fastapi
import msgspec
from fastapi import FastAPI, Query, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic.json_schema import SkipJsonSchema
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.service import open_files
from penstock.service.assets import HEADERS, Asset
from penstock.service.models import Health, Refusal
from penstock.service.prometheus import CONTENT_TYPE
from penstock.stins.texts import quoted

MAX_WAIT = 30.0
"""Most seconds that a request may wait for news."""
MAX_BODY_BYTES = 2**20
FILES_SECONDS = 5
"""Seconds after which to ask again where no more files can be opened."""
MAX_SENTENCE = 10_000
RETRY_AFTER = "Retry-After"
KINDS = {404: "no_such_path", 405: "no_such_method", 413: "too_large"}
"""Kinds of the web framework's own refusals; any other one (a body that is no text) is a bad request."""
Absent = SkipJsonSchema[None]
"""An optional query value; a query cannot say null, so the OpenAPI document does not either."""
Answers = dict[int | str, dict[str, Any]]
REFUSALS = (
    "Every refusal is a `Refusal`: a short stable `kind`, and a sentence that says what to change. Besides "
    "those listed with each call: 404 `no_such_path` for any other path, and 405 `no_such_method` for any "
    "other method, with the header `Allow`."
)
"""Beginning of the description of every API."""
UNLISTED = "The pages for people, `/` and `/docs`, are not listed."
WHY = {413: "The body is too large", 422: "The request is not as described here"}
"""What statuses of refusals mean in every API."""
NOT_WELL: Answers = {503: {"model": Health, "description": "No; the message says why"}}
_RETRY_AFTER = {
    "description": "Seconds after which to ask again",
    "schema": {"type": "integer", "minimum": 1},
}


def make(
    what: str, description: str, tags: list[dict[str, str]], close: Callable[[], Awaitable[None]],
    start: Callable[[], Awaitable[None]] | None = None,
) -> FastAPI:  # fmt: skip
    """Return the API of a service, which starts and closes the service's processes with itself.

    Args:
        what: the service, such as "receiver".
        description: for the OpenAPI document.
        tags: groups of calls, for the same.
        close: closes the processes, once they were started.
        start: starts them; without it they run already.
    """

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        if start is not None:
            await start()
        yield
        await close()

    return FastAPI(
        title=f"Penstock {what}", version=metadata.version("penstock"), description=description,
        openapi_tags=tags, lifespan=life, docs_url=None, redoc_url=None,
    )  # fmt: skip


def furnish(app: FastAPI, pages: Mapping[str, Asset], refusals: Iterable[type[Exception]]) -> None:
    """Give an API its pages, and let every refusal be a `Refusal`.

    Args:
        app: the API.
        pages: what a browser loads, by path.
        refusals: exceptions with `http_status`, `kind`, a sentence, and perhaps `retry_after`.
    """
    for path, asset in pages.items():
        app.add_api_route(path, _read(asset), include_in_schema=False)
    app.add_middleware(BodyLimit, limit=MAX_BODY_BYTES)

    async def refused(_: fastapi.Request, error: Any) -> JSONResponse:
        wait = getattr(error, "retry_after", None)
        headers = None if wait is None else {RETRY_AFTER: str(wait)}
        return refusal(error.http_status, error.kind, str(error), headers)

    for kind in refusals:
        app.add_exception_handler(kind, refused)

    @app.exception_handler(OSError)
    async def unable(_: fastapi.Request, error: OSError) -> JSONResponse:
        remedy = open_files.REMEDIES.get(error.errno or 0)
        if remedy is None:
            raise error
        sentence = f"{error.strerror}. {remedy}; then ask again"
        return refusal(503, open_files.KIND, sentence, {RETRY_AFTER: str(FILES_SECONDS)})

    @app.exception_handler(RequestValidationError)
    async def invalid(_: fastapi.Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        place = ".".join(str(item) for item in first["loc"])
        value = first.get("input")
        given = f" is {value!r:.100}" if isinstance(value, (str, int, float)) else ""
        return refusal(422, "bad_request", f"{place}{given}: {first['msg']}")

    @app.exception_handler(HTTPException)
    async def refused_unseen(request: fastapi.Request, error: HTTPException) -> JSONResponse:
        status = error.status_code if error.status_code in KINDS else 422
        allowed = {"Allow": _methods(app, request)} if status == 405 else None
        sentence = f"{request.method} {request.url.path[:200]}: {error.detail}; /docs has what there is"
        return refusal(status, KINDS.get(status, "bad_request"), sentence, allowed)


def add_status(
    app: FastAPI, what: str, model: type, look: Callable[[], Any],
    after: Callable[[int, float], Awaitable[Any]],
) -> None:  # fmt: skip
    """Add the status to an API.

    Args:
        app: the API.
        what: the service, such as "receiver".
        model: type of its status.
        look: returns the status of now.
        after: waits so many seconds for one of another version.
    """
    description = f"Return the {what}'s status; with `seen`, wait for another version."

    @app.get(
        "/status", tags=["status"], responses=described({}, (422,)), description=description,
        response_model=model,
    )  # fmt: skip
    async def status(
        seen: int | Absent = None, wait: Annotated[float, Query(ge=0, le=MAX_WAIT)] = 0.0
    ) -> Any:
        return look() if seen is None else await after(seen, wait)


def add_facts(
    app: FastAPI, config: Callable[[], Any], scrape: Callable[[], str], look: Callable[[], Health], *,
    counts: str, alive: str, ready: str, tag: str = "status",
) -> None:  # fmt: skip
    """Add the configuration, the metrics and the two health checks to an API.

    Args:
        app: the API.
        config: returns the configuration.
        scrape: returns the metrics.
        look: returns how the service is.
        counts: what the metrics are, for the document.
        alive: what the check of liveness answers, for the same.
        ready: what that of readiness answers.
        tag: group of the configuration.
    """

    @app.get("/config", tags=[tag], name="config", description="Return the configuration in use.")
    async def configuration() -> dict[str, Any]:
        return dict(msgspec.to_builtins(config()))

    @app.get(
        "/metrics",
        tags=["status"],
        response_class=PlainTextResponse,
        description=f"Return {counts} for Prometheus.",
    )
    async def prometheus() -> PlainTextResponse:
        return PlainTextResponse(scrape(), media_type=CONTENT_TYPE)

    @app.get("/health", tags=["status"], responses=NOT_WELL, description=alive)
    async def health(response: Response) -> Health:
        found = look()
        response.status_code = 200 if found.alive else 503
        return found

    @app.get("/health/ready", tags=["status"], responses=NOT_WELL, description=ready, name="ready")
    async def is_ready(response: Response) -> Health:
        found = look()
        response.status_code = 200 if found.ready else 503
        return found


def refusal(status: int, kind: str, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return a refusal as an answer."""
    # Sentences quote the request, which may have characters that cannot be encoded.
    return JSONResponse({"kind": kind, "message": quoted(message, MAX_SENTENCE)}, status, headers)


def described(why: Mapping[int, str], statuses: Iterable[int]) -> Answers:
    """Return the refusals with which a call may answer, for the OpenAPI document.

    Args:
        why: what each status means in this API, beside `WHY`.
        statuses: those of the call.
    """
    meant = {**WHY, **why}
    found: Answers = {status: {"model": Refusal, "description": meant[status]} for status in statuses}
    if 503 in found:
        found[503]["headers"] = {RETRY_AFTER: _RETRY_AFTER}
    return found


def _read(asset: Asset) -> Callable[[], Response]:
    def read() -> Response:
        return Response(asset.read(), media_type=asset.media_type, headers=HEADERS)

    return read


def _methods(app: FastAPI, request: fastapi.Request) -> str:
    """Return every method of a path: the framework itself lists only those of the first route."""
    routes = [route for route in app.routes if isinstance(route, Route)]
    found = (route for route in routes if route.matches(request.scope)[0] is not Match.NONE)
    return ", ".join(sorted({method for route in found for method in route.methods or ()}))


class BodyLimit:
    """Middleware that answers 413 to a request that announces more than `limit` bytes, or has sent them:
    bytes are counted as they arrive, since a chunked request announces no length."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on, or refuse it."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        taken, announced = 0, int(dict(scope["headers"]).get(b"content-length", 0))  # h11 has checked it

        def check(length: int) -> None:
            if length > self._limit:
                raise HTTPException(413, f"the body has more than {self._limit} bytes")

        async def counted() -> Message:
            nonlocal taken
            check(announced)
            message = await receive()
            taken += len(message.get("body", b""))
            check(taken)
            return message

        await self._app(scope, counted, send)
