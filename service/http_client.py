"""What the clients of services have in common. Blocking, safe from several threads (urllib3 keeps a pool of
connections), and bounded: every call answers or raises within its time-out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar
from urllib.parse import urlencode

import msgspec
import urllib3

from penstock.service.models import Refusal, RefusedCall, Unavailable

S = TypeVar("S")
T = TypeVar("T")


class HttpClient(Generic[S]):
    """One service, reached at `url`.

    Args:
        url: base address of the HTTP API.
        timeout: seconds for one call; a call with a `wait` adds that time.
    """

    model: type[S]
    """What its status is."""
    what: ClassVar[str]
    """What answers there, such as "receiver"."""
    program: ClassVar[str]
    """The command that has printed the address."""
    unavailable: ClassVar[type[Unavailable]] = Unavailable
    refused: ClassVar[type[RefusedCall]] = RefusedCall

    def __init__(self, url: str, timeout: float = 0.5) -> None:
        self.url = url.rstrip("/")
        self._timeout = timeout
        # A connection that the service closed while it was idle costs one retry, not an error.
        # Nothing else is retried, since the caller's time is bounded.
        self._http = urllib3.PoolManager(retries=False, maxsize=4)
        self._closed = False

    def close(self) -> None:
        """Close its connections: one that is in use with its answer. Further calls raise `Unavailable`."""
        self._closed = True
        self._http.clear()

    def status(self, seen: int | None = None, wait: float = 0.0) -> S:
        """Return the service's status; with `seen`, wait up to `wait` seconds for another version."""
        fields = {} if seen is None else {"seen": seen, "wait": wait}
        return self._json(self.model, "GET", "/status", fields=fields, wait=wait)

    def _json(
        self, kind: type[T], method: str, path: str, *, fields: Mapping[str, Any] | None = None,
        body: Any = None, wait: float = 0.0,
    ) -> T:  # fmt: skip
        answer = self._call(method, path, fields=fields, body=body, wait=wait)
        try:
            return msgspec.json.decode(answer.data, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._foreign(path, str(error)) from error

    def _foreign(self, path: str, why: str) -> Unavailable:
        return self.unavailable(
            f"{self.url}{path} answers, but not as a Penstock {self.what} does ({why}); is the address "
            "right?",
            foreign=True,
        )

    def _call(
        self, method: str, path: str, *, fields: Mapping[str, Any] | None = None, body: Any = None,
        wait: float = 0.0, also: tuple[int, ...] = (),
    ) -> urllib3.BaseHTTPResponse:  # fmt: skip
        if self._closed:
            raise self.unavailable(f"the client of the {self.what} at {self.url} was closed")
        url = self.url + path
        if query := {name: value for name, value in (fields or {}).items() if value is not None}:
            url += f"?{urlencode(query)}"
        headers = {"Content-Type": "application/json"} if body is not None else {}
        payload = msgspec.json.encode(body) if body is not None else None
        timeout = urllib3.Timeout(total=self._timeout + wait)
        try:
            answer = self._http.request(method, url, body=payload, headers=headers, timeout=timeout)
        except urllib3.exceptions.HTTPError as error:
            raise self.unavailable(
                f"{self.what} at {self.url} does not answer {self._how(error)}; is `{self.program}` running, "
                "and is this the address that it printed?",
                refused=isinstance(error.__cause__, ConnectionRefusedError),
            ) from error
        finally:
            if self._closed:  # since the call began, perhaps just before it has made a connection
                self._http.clear()
        if answer.status >= 400 and answer.status not in also:
            try:
                refusal = msgspec.json.decode(answer.data, type=Refusal)
            except (msgspec.DecodeError, UnicodeDecodeError):
                refusal = Refusal(
                    kind="http_error",
                    message=f"{self.what} at {self.url} answered {method} {path} with HTTP {answer.status}; "
                    f"is this the address that `{self.program}` printed?",
                )
            wait_header = answer.headers.get("Retry-After", "")
            retry_after = float(wait_header) if wait_header.isdecimal() else None  # else it is a date
            raise self.refused(refusal.kind, refusal.message, retry_after)
        return answer

    def _how(self, error: urllib3.exceptions.HTTPError) -> str:
        """Return what is known about the missing answer, in parentheses."""
        if isinstance(error, urllib3.exceptions.NameResolutionError):
            return "(no host of this name is known)"
        if isinstance(error, urllib3.exceptions.NewConnectionError):
            return "(nobody listens there)"
        return f"within {self._timeout:g} s"
