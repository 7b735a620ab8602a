"""A simulated control unit with its network: REST, stream and trigger input; its power can be switched."""

from __future__ import annotations

from threading import Lock, Thread
from types import TracebackType

from penstock.stins.addresses import host_port
from penstock.streamer.camera.push_socket import PushSocket
from penstock.streamer.simulated.simplon.box import Box, Faults, Stream
from penstock.streamer.simulated.simplon.http import Server
from penstock.streamer.simulated.simplon.key import NEW
from penstock.streamer.simulated.simplon.pixels import Pixels
from penstock.streamer.simulated.simplon.recorded import Recorded
from penstock.streamer.simulated.simplon.settings import Settings
from penstock.streamer.simulated.triggers import TriggerInput

MODELS = {
    "EIGER2 Si 500K": (512, 1028), "EIGER2 Si 1M": (1062, 1028), "EIGER2 Si 4M": (2162, 2068),
    "EIGER2 Si 9M": (3262, 3108), "EIGER2 Si 16M": (4362, 4148),
}  # fmt: skip
"""Rows and columns by model."""
HWM = 2000
"""Most messages that wait for a receiver; further frames are dropped."""


class ControlUnit:
    """The box, reachable from construction to `close`; its state is "na" until it is initialised."""

    def __init__(
        self, api: str = NEW, stream: str | None = None, sensor: tuple[int, int] | None = None,
        http: tuple[str, int] = ("127.0.0.1", 0), stream_port: int = 0, *, model: str = "EIGER2 Si 1M",
        pattern: str = "gradient", trigger_port: int = 0,
        recorded: Recorded | None = None,
    ) -> None:  # fmt: skip
        """Bind all ports.

        Args:
            api: version of SIMPLON, "1.8.0" or "1.6.0".
            stream: "legacy" (V1) or "cbor" (V2): the stream comes up enabled in this format; `None` for the
                documented defaults, disabled and "legacy".
            sensor: (rows, cols); `None` for those of the model.
            http: host and TCP port of the REST interface; port 0 for any free one.
            stream_port: TCP port of the stream; 0 for any free one.
            model: key of `MODELS`.
            pattern: key of `pixels.PATTERNS`.
            trigger_port: UDP port of the trigger input; 0 for any free one.
            recorded: series of a real control unit, whose size, settings and frames replace `sensor`, the
                defaults and `pattern`.

        Raises:
            OSError: a port is in use.
        """
        rows, cols = recorded.shape if recorded else sensor or MODELS[model]
        host = http[0]
        self._http, self._lock = http, Lock()
        self._settings = Settings(api, stream, rows, cols, f"Dectris {model}", recorded)
        self._push = PushSocket(f"tcp://{host}:{stream_port}", hwm=HWM)
        self.stream_endpoint: str = self._push.endpoint
        self._stream = Stream(self._push, self._settings, Faults())
        self.box = Box(self._settings, recorded or Pixels(pattern, (rows, cols)), self._stream)
        self._triggers = TriggerInput(host, trigger_port)
        self.trigger_address: str = host_port(*self._triggers.address)
        self._triggers.arm(self._edges)
        self._server: Server | None = None
        self._serve()
        self._own = Server((host, 0), self.box, api, self.power)
        self.simulator_port: int = self._own.server_address[1]
        """TCP port at which `/simulator` answers even while the power is off."""
        Thread(target=self._own.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def faults(self) -> Faults:
        """The present faults on request; its fields may be set."""
        return self.box.faults

    def power(self, on: bool) -> None:
        """Switch the box off (its REST port refuses connections, its series is lost), or on (state "na")."""
        with self._lock:
            if on and self._server is None:
                self._serve()
            elif not on and self._server is not None:
                server, self._server = self._server, None
                server.shutdown()
                server.server_close()
                server.drop_connections()
                self.box.power_off()

    def wait_receivers(self, count: int, timeout: float) -> bool:
        """Return True once `count` receivers are connected to the stream, False after `timeout` seconds.

        Messages that are sent before are dropped.
        """
        return self._push.wait_peers(count, timeout)

    def arm_by_somebody_else(self) -> int:
        """Arm as another client would, initialising the box if needed; return the number of the series."""
        if self._settings.state == "na":
            self.box.command("initialize")
        return int(self.box.command("arm")["sequence id"])

    def close(self) -> None:
        """Close everything."""
        self.power(False)
        self._own.shutdown()
        self._own.server_close()
        self._triggers.close()
        self._push.close(0.0)

    def __enter__(self) -> ControlUnit:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _serve(self) -> None:
        self._server = Server(self._http, self.box, self._settings.api, self._switch)
        self._http = (self._http[0], self._server.server_address[1])
        self.http_port: int = self._http[1]
        Thread(target=self._server.serve_forever, args=(0.02,), name="SIMPLON", daemon=True).start()

    def _switch(self, on: bool) -> None:
        """Switch the power by HTTP on the box's own port: in a thread, so that the request is answered
        first."""
        Thread(target=self.power, args=(on,), daemon=True).start()

    def _edges(self) -> None:
        while self._triggers.pending:
            self.box.edge(self._triggers.take())
