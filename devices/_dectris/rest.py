"""The client of a DECTRIS control unit's REST interface, SIMPLON.

`GET` and `PUT` of http://HOST/SUBSYSTEM/api/VERSION/KIND/KEY, KIND one of config, status and command; JSON
both ways ([ref18] section 2 "General Usage"; Lima-camera-eiger sdk/linux/EigerAPI/src/Requests.cpp
`build_url`). A `PUT` of a configuration answers with the keys that it changed, or could have
(fastcs-eiger `eiger_subsystem_controller.py`).

One pool of connections, of which a call takes one for itself: calls of several threads go out side by side,
and an abort does not wait behind a trigger that blocks for as long as its series.
"""

from __future__ import annotations

import json
import socket
from typing import Any

import msgspec
import urllib3
from urllib3.connection import HTTPConnection
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    NewConnectionError,
    ProtocolError,
    ReadTimeoutError,
)

from penstock.stins.addresses import host_port
from penstock.streamer.own_stream.contract import BoxLost
from penstock.streamer.unit import CameraError

CONNECT = 1.0
"""Seconds to reach the control unit; it stands in the same room."""
READ = 4.0
"""Seconds for an answer that needs no work in the detector."""
CONNECTIONS = 8
"""Kept open: commands that block, an abort beside them, and the looks at the state."""
PROBES = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 4),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 2),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
)
"""A call that may take minutes ends 10 s after the power or the network has gone, for nobody answers then: a
control unit that computes leaves that to its kernel."""
VERSIONS = ("1.8.0", "1.6.0")
"""Of SIMPLON that are known; EIGER2 and PILATUS4 speak 1.8.0, EIGER 1.6.0 and refuses others."""
MOST_WORDS = 300
"""Characters of a refusal that are passed on."""

CHECK_HOST = (
    "is the control unit switched on and on this network, and are the properties Host and Port its own (Init "
    "reads changed ones)?"
)


class NoSuchKey(CameraError):
    """The control unit has no such key: another model, or another version of its software."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One key as the control unit describes it ([ref18] section 2.2)."""

    value: Any = None
    min: float | None = None
    max: float | None = None
    allowed_values: tuple[Any, ...] | None = None
    access_mode: str | None = None


class Simplon:
    """The REST interface of one control unit; any thread may use it.

    Every method raises `BoxLost` where nothing answers, and `CameraError` with the control unit's own words
    where it refuses.
    """

    def __init__(self, host: str, port: int) -> None:
        self._pool = urllib3.HTTPConnectionPool(
            host, port, maxsize=CONNECTIONS, retries=False,
            socket_options=[*HTTPConnection.default_socket_options, *PROBES],
        )  # fmt: skip
        self.address = f"http://{host_port(host, port)}".removesuffix(":80")
        """As sentences name it."""
        self.version = ""
        """Of SIMPLON that it speaks; "" until `find_version`."""

    def close(self) -> None:
        """Close the connections that no call uses."""
        self._pool.close()

    def find_version(self, wanted: str = "") -> str:
        """Ask which version it speaks, and use that.

        `/detector/api/version` says it (Lima-camera-eiger, `Requests::Requests`); where there is no such
        key, the version is the one in which the state can be read.

        Args:
            wanted: version that it is known to speak, though it may not say so.
        """
        if wanted:
            try:
                self._entry("GET", f"detector/api/{wanted}/status/state")
            except BoxLost:
                raise
            except CameraError as error:
                raise CameraError(
                    f"the property ApiVersion is {wanted}, which the control unit does not speak: {error}. "
                    "Clear the property, and the control unit is asked"
                ) from error
            self.version = wanted
            return wanted
        try:
            said = self._entry("GET", "detector/api/version").value
        except NoSuchKey:
            said = self._try_versions()
        if said not in VERSIONS:
            raise CameraError(
                f"{self.address} speaks SIMPLON {said}; known are {' and '.join(VERSIONS)}: if it answers in "
                "one of these, too, name it in the property ApiVersion"
            )
        self.version = str(said)
        return self.version

    def get(self, path: str) -> Entry:
        """Read a key.

        Args:
            path: "detector/config/count_time": subsystem, kind and key.

        Raises:
            NoSuchKey: it has no such key.
        """
        return self._entry("GET", self._url(path))

    def put(self, path: str, value: object, seconds: float = READ) -> tuple[str, ...]:
        """Write a key of a configuration; the keys of its subsystem that have changed, or could have.

        Raises:
            NoSuchKey: it has no such key.
        """
        answer = self._call("PUT", self._url(path), {"value": value}, seconds, f" = {value!r:.120}")
        return tuple(str(key) for key in answer) if isinstance(answer, list) else ()

    def command(self, name: str, seconds: float, value: object = None) -> dict[str, Any]:
        """Let the detector carry out a command; its answer, such as {"sequence id": 7}."""
        body = None if value is None else {"value": value}
        answer = self._call("PUT", self._url(f"detector/command/{name}"), body, seconds, "")
        return answer if isinstance(answer, dict) else {}

    def link(self, path: str) -> str:
        """Address of a key, for people and their browsers."""
        return f"{self.address}/{self._url(path)}"

    def _url(self, path: str) -> str:
        subsystem, _, rest = path.partition("/")
        return f"{subsystem}/api/{self.version}/{rest}"

    def _try_versions(self) -> str:
        for version in VERSIONS:
            try:
                self._entry("GET", f"detector/api/{version}/status/state")
            except BoxLost:
                raise
            except CameraError:
                continue
            return version
        raise CameraError(
            f"{self.address} answers, but not as a DECTRIS control unit that speaks SIMPLON "
            f"{' or '.join(VERSIONS)}; are the properties Host and Port its own?"
        )

    def _entry(self, method: str, url: str) -> Entry:
        answer = self._call(method, url, None, READ, "")
        try:
            # Some keys answer with the bare value, such as lists of files.
            return msgspec.convert(answer if isinstance(answer, dict) else {"value": answer}, Entry)
        except msgspec.ValidationError as error:
            raise CameraError(f"{self.address}/{url}: the answer cannot be understood: {error}") from error

    def _call(self, method: str, url: str, body: object, seconds: float, said: str) -> Any:
        what = f"{method} {url}{said}"
        try:
            response = self._request(method, url, body, seconds)
        except ReadTimeoutError as error:
            probed = getattr(error.__cause__, "errno", None) is not None  # and nobody was there
            late = f"has not answered {what} within {seconds:g} s"
            said = f"broke off {what} ({_reason(error)})" if probed else late
            raise BoxLost(f"{self.address} {said}; {CHECK_HOST}") from error
        except (ConnectTimeoutError, NewConnectionError) as error:
            raise BoxLost(f"{self.address} cannot be reached ({_reason(error)}): {CHECK_HOST}") from error
        except (HTTPError, OSError) as error:
            raise BoxLost(f"{self.address} broke off {what} ({_reason(error)}); {CHECK_HOST}") from error
        if response.status >= 400:
            raise self._refusal(response.status, _text(response.data), what)
        try:
            return json.loads(response.data) if response.data.strip() else None
        except ValueError as error:
            raise CameraError(
                f"{self.address} answers {what} with no JSON ({_text(response.data)!r}); are the properties "
                "Host and Port those of a DECTRIS control unit?"
            ) from error

    def _request(self, method: str, url: str, body: object, seconds: float) -> urllib3.BaseHTTPResponse:
        def ask() -> urllib3.BaseHTTPResponse:
            return self._pool.request(
                method,
                "/" + url,
                body=None if body is None else json.dumps(body),
                headers={"Content-Type": "application/json"},
                timeout=urllib3.Timeout(connect=CONNECT, read=seconds),
            )

        try:
            return ask()
        except ProtocolError:
            if method != "GET":
                raise
            return ask()  # a server may close an idle connection at that very moment (RFC 9110 section 9.2.2)

    def _refusal(self, status: int, words: str, what: str) -> CameraError:
        said = f'HTTP {status}: "{words}"' if words else f"HTTP {status}"
        if status == 404:
            return NoSuchKey(
                f"{self.address} has no such key or command: {what} ({said}); the model or its "
                f"software (SIMPLON {self.version or 'of another version'}) lacks it"
            )
        if status >= 500:
            return CameraError(
                f"{self.address} failed at {what} ({said}); if it goes on, its own web page may say why"
            )
        return CameraError(f"{self.address} refuses {what} ({said})")


def _text(data: bytes) -> str:
    words = " ".join(data.decode("utf-8", "replace").split()).strip('"')
    return words if len(words) <= MOST_WORDS else words[:MOST_WORDS] + "…"


def _reason(error: BaseException) -> str:
    """Return what lies below urllib3's words: "Connection refused"."""
    below = error.__cause__ or error.__context__
    if isinstance(below, OSError) and below.strerror:
        return below.strerror
    if isinstance(error, ProtocolError):
        return "it closed the connection"
    return type(error).__name__ if not isinstance(error, ConnectTimeoutError) else "no answer"
