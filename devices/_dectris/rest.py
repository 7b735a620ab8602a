"""The client of a DECTRIS control unit's REST interface, SIMPLON.

`GET` and `PUT` of http://HOST/SUBSYSTEM/api/VERSION/KIND/KEY, KIND one of config, status and command; JSON in
both directions ([ref18] section 2 "General Usage"; Lima-camera-eiger sdk/linux/EigerAPI/src/Requests.cpp
`build_url`). A `PUT` of a configuration answers with the keys that have changed, or may have
(fastcs-eiger `eiger_subsystem_controller.py`).

Each call takes a connection of its own from a pool: calls of several threads run in parallel, and an abort
does not wait for a trigger that blocks for the length of its series.
"""

from __future__ import annotations

import json
import math
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
from penstock.streamer.camera.own_stream import BoxLost
from penstock.streamer.camera.unit import CameraError

CONNECT = 1.0
"""Seconds to reach the control unit, which is in the same network."""
READ = 4.0
"""Seconds for an answer that requires no work of the detector."""
CONNECTIONS = 8
"""Connections kept open: for commands that block, an abort in parallel, and queries of the state."""
PROBES = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 4),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 2),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
)
"""Probes of a connection: a call that may take minutes ends 10 s after power or network have failed. The
kernel of a control unit answers them even while the unit is computing."""
VERSIONS = ("1.8.0", "1.6.0")
"""Known versions of SIMPLON: EIGER2, PILATUS4 and an EIGER with current firmware speak 1.8.0; an EIGER with
older firmware speaks 1.6.0, and refuses others."""
MOST_WORDS = 300
"""Most characters of a refusal that are quoted."""

CHECK_HOST = (
    "check that the control unit is switched on and on this network, and that the properties Host and Port "
    "are correct (call Init after a change)"
)


class NoSuchKey(CameraError):
    """The control unit has no such key: another model, or another version of its software."""


class Redirected(CameraError):
    """Something else than a control unit answers, and names another address."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One key as the control unit describes it ([ref18] section 2.2); what is unknown is null or ""."""

    value: Any = None
    min: float | None = None
    max: float | None = None
    allowed_values: tuple[Any, ...] | None = None


def number_of(value: object) -> float | None:
    """Return a value of the control unit as a number; `None` for any other type, NaN and infinity."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


class Simplon:
    """The REST interface of one control unit; any thread may use it.

    Every method raises `BoxLost` if nothing answers, and `CameraError` with the control unit's words if it
    refuses.
    """

    def __init__(self, host: str, port: int) -> None:
        self._pool = urllib3.HTTPConnectionPool(
            host, port, maxsize=CONNECTIONS, retries=False,
            socket_options=[*HTTPConnection.default_socket_options, *PROBES],
        )  # fmt: skip
        self.address = f"http://{host_port(host, port)}".removesuffix(":80")
        """Address of the control unit, for messages."""
        self.version = ""
        """Version of SIMPLON in use; "" before `find_version`."""

    def close(self) -> None:
        """Close the connections that are not in use."""
        self._pool.close()

    def find_version(self, wanted: str = "") -> str:
        """Find out which version the control unit speaks, and use it; return it.

        `/detector/api/version` gives it (Lima-camera-eiger, `Requests::Requests`); without this key, it is
        the version in which the state can be read.

        Args:
            wanted: version to use whatever the control unit reports; "" asks it.
        """
        if wanted:
            try:
                self._entry("GET", f"detector/api/{wanted}/status/state")
            except BoxLost:
                raise
            except CameraError as error:
                raise CameraError(
                    f"the property ApiVersion is {wanted}, which the control unit does not speak: {error}. "
                    "Clear the property, so that the control unit is asked"
                ) from error
            self.version = wanted
            return wanted
        try:
            version = self._entry("GET", "detector/api/version").value or self._try_versions()
        except NoSuchKey:
            version = self._try_versions()
        if version not in VERSIONS:
            raise CameraError(
                f"{self.address} speaks SIMPLON {version}; supported are {' and '.join(VERSIONS)}: if it "
                "also answers in one of these, set the property ApiVersion to it"
            )
        self.version = str(version)
        return self.version

    def get(self, path: str) -> Entry:
        """Read a key.

        Args:
            path: subsystem, kind and key, such as "detector/config/count_time".

        Raises:
            NoSuchKey: the control unit has no such key.
        """
        return self._entry("GET", self._url(path))

    def put(self, path: str, value: object, seconds: float = READ) -> tuple[str, ...] | None:
        """Write a key of a configuration; return the keys of its subsystem that have changed, or may have.

        The result is `None` if the control unit does not say which.

        Raises:
            NoSuchKey: the control unit has no such key.
        """
        answer = self._call("PUT", self._url(path), {"value": value}, seconds, f" = {value!r:.120}")
        return tuple(str(key) for key in answer) if isinstance(answer, list) and answer else None

    def command(self, name: str, seconds: float, value: object = None) -> dict[str, Any]:
        """Have the detector execute a command; return its answer, such as {"sequence id": 7}."""
        body = None if value is None else {"value": value}
        answer = self._call("PUT", self._url(f"detector/command/{name}"), body, seconds, "")
        return answer if isinstance(answer, dict) else {}

    def link(self, path: str) -> str:
        """Return the address of a key, for a browser."""
        return f"{self.address}/{self._url(path)}"

    def _url(self, path: str) -> str:
        subsystem, _, rest = path.partition("/")
        return f"{subsystem}/api/{self.version}/{rest}"

    def _try_versions(self) -> str:
        for version in VERSIONS:
            try:
                self._entry("GET", f"detector/api/{version}/status/state")
            except (BoxLost, Redirected):
                raise
            except CameraError:
                continue
            return version
        raise CameraError(
            f"{self.address} answers, but not as a DECTRIS control unit that speaks SIMPLON "
            f"{' or '.join(VERSIONS)}; check the properties Host and Port"
        )

    def _entry(self, method: str, url: str) -> Entry:
        answer = self._call(method, url, None, READ, "")
        if not isinstance(answer, dict):
            return Entry(value=answer)  # some keys, such as lists of files, give the bare value
        allowed = answer.get("allowed_values")
        return Entry(
            value=answer.get("value"), min=number_of(answer.get("min")), max=number_of(answer.get("max")),
            allowed_values=tuple(allowed) if isinstance(allowed, list) else None,
        )  # fmt: skip

    def _call(self, method: str, url: str, body: object, seconds: float, sent: str) -> Any:
        what = f"{method} {url}{sent}"
        try:
            response = self._request(method, url, body, seconds)
        except ReadTimeoutError as error:
            probed = getattr(error.__cause__, "errno", None) is not None  # by a keep-alive probe
            late = f"did not answer {what} within {seconds:g} s"
            failure = f"broke off {what} ({_reason(error)})" if probed else late
            raise BoxLost(f"{self.address} {failure}; {CHECK_HOST}") from error
        except (ConnectTimeoutError, NewConnectionError) as error:
            raise BoxLost(f"{self.address} cannot be reached ({_reason(error)}): {CHECK_HOST}") from error
        except (HTTPError, OSError) as error:
            raise BoxLost(f"{self.address} broke off {what} ({_reason(error)}); {CHECK_HOST}") from error
        if response.status >= 400:
            raise self._refusal(response.status, _text(response.data), what)
        if response.status >= 300:
            target = response.headers.get("Location") or "another address"
            raise Redirected(
                f"{self.address} redirects {what} to {target:.200}; set the properties Host and Port to the "
                "control unit itself, which answers over plain HTTP (call Init after a change)"
            )
        try:
            return json.loads(response.data) if response.data.strip() else None
        except ValueError as error:
            raise CameraError(
                f"{self.address} does not answer {what} in JSON ({_text(response.data)!r}); check that the "
                "properties Host and Port are those of a DECTRIS control unit"
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
            return ask()  # the server may just have closed the idle connection (RFC 9110 section 9.2.2)

    def _refusal(self, status: int, words: str, what: str) -> CameraError:
        answer = f'HTTP {status}: "{words}"' if words else f"HTTP {status}"
        if status == 404:
            return NoSuchKey(
                f"{self.address} has no such key or command: {what} ({answer}); the model or its "
                f"software (SIMPLON {self.version or 'of another version'}) lacks it"
            )
        if status >= 500:
            return CameraError(
                f"{self.address} failed at {what} ({answer}); if this persists, see its web page"
            )
        return CameraError(f"{self.address} refuses {what} ({answer})")


def _text(data: bytes) -> str:
    words = " ".join(data.decode("utf-8", "replace").split()).strip('"')
    return words if len(words) <= MOST_WORDS else words[:MOST_WORDS] + "…"


def _reason(error: BaseException) -> str:
    """Return the cause below urllib3's message, such as "Connection refused"."""
    below = error.__cause__ or error.__context__
    if isinstance(below, OSError) and below.strerror:
        return below.strerror
    if isinstance(error, ProtocolError):
        return "it closed the connection"
    return type(error).__name__ if not isinstance(error, ConnectTimeoutError) else "no answer"
