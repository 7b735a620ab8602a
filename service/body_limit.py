"""A limit for the bodies of HTTP requests, each of which is held in memory; valid ones are small."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send


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
