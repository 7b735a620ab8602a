"""Bounds the bodies of HTTP requests: nothing honest is large, and each is kept in memory whole."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BodyLimit:
    """Middleware that answers 413 once a request has sent more than `limit` bytes.

    Counted as they come, since a chunked request does not say beforehand.
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        taken = 0

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self._limit:
                raise HTTPException(413, f"the body has more than {self._limit} bytes")
            return message

        await self._app(scope, counted if scope["type"] == "http" else receive, send)
