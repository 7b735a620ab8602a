"""Bounds the bodies of HTTP requests: nothing honest is large, and each is kept in memory whole."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_DIGITS = 20
"""Of an announced length that are read: so many are more than any limit already, and Python makes no number
of thousands of them."""


class BodyLimit:
    """Middleware that answers 413 to a request that says it has more than `limit` bytes, or once it has sent
    them: they are counted as they come, since a chunked request does not say beforehand."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        taken, announced = 0, _announced(scope)

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

        await self._app(scope, counted if scope["type"] == "http" else receive, send)


def _announced(scope: Scope) -> int:
    """Bytes of the body as its header has them; 0 where it does not say."""
    said = dict(scope.get("headers", ())).get(b"content-length", b"").lstrip(b"0")
    return int(said[:MOST_DIGITS]) if said.isdigit() else 0
