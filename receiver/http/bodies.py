"""JSON bodies with duplicate keys are refused: Python itself silently takes the last one."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from penstock.stins.texts import quoted

MAX_KEY = 200
"""Most characters of a key that an error quotes."""


class StrictRoute(APIRoute):
    """A route whose body may not have duplicate keys."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """See FastAPI."""
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await handle(_StrictRequest(request.scope, request.receive))

        return strictly


class _StrictRequest(Request):
    async def json(self) -> Any:
        return json.loads(await self.body(), object_pairs_hook=_unique)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            sentence = f'the key "{quoted(key, MAX_KEY)}" stands twice in one object of the body'
            raise HTTPException(422, f"{sentence}; leave one out, or give it another name")
        found[key] = value
    return found
