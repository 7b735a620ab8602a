"""camserver as a client sees it: connected or not, what it has set, exposures, kills."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock

from penstock.devices._camserver import protocol
from penstock.devices._camserver.connection import CHECK_HOST, Connection, NoControl, Unknown
from penstock.devices._camserver.exposure import Exposure
from penstock.devices._camserver.protocol import Answer, Channel, Code, Setup
from penstock.stins.addresses import host_port
from penstock.streamer.camera.own_stream import BoxLost
from penstock.streamer.camera.unit import CameraError

log = logging.getLogger(__name__)

TRIM = 180.0
"""Seconds for a threshold: 96 for a 6M ([ad] `setThreshold`), with a margin."""
CONTROL_WITHIN = 2.0
"""Seconds until camserver gives control to a new connection: it first has to notice that the last one with
control has been closed ([cs] `restoreControl`)."""
KILLED_WITHIN, KILLS = 2.0, 5
"""Seconds after which a kill is sent again, and how often: one may not be taken ([maxiv] lost them above some
10 images per second)."""
TICK = 0.1
BYTES_PER_BLOCK = 1024
"""Bytes of a block in the answer to Df ([um] p. 59; [cs] `Df`)."""
IDLE, EXPOSING = "idle", "exposing"
"""Camera states ([cs] `cam_state`): an exposure can start in the first alone."""
OLDER_TRIMS_ANEW = (7, 4, 3)
"""Up to this version a new threshold is taken for the present one, unless 0 was set before ([lima]
`_work_around_threshold_bug`)."""


class Camserver:
    """One camserver; any thread may use it. Every method but `close` raises `BoxLost` while it is not
    connected, and `CameraError` with camserver's words if it refuses."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._connection: Connection | None = None
        self._connecting = Lock()
        self._commanding = Lock()
        """Held while an exposure is started or killed: no kill crosses the start of the next exposure."""
        self.exposure = Exposure()
        self.on_end: Callable[[], None] = lambda: None
        """Called by the thread that reads after each answer about an exposure; must return at once."""

    @property
    def address(self) -> str:
        """Name and address, for messages."""
        return f"camserver at {host_port(self._host, self._port)}"

    def connect(self) -> None:
        """Connect, unless connected; return once this client has control.

        Raises:
            NoControl: another client has it.
        """
        with self._connecting:
            end = time.monotonic() + CONTROL_WITHIN
            while True:
                try:
                    return self._connect()
                except NoControl:
                    if time.monotonic() > end:
                        raise
                Event().wait(TICK)

    def _connect(self) -> None:
        if self._connection is None or self._lost(self._connection):
            self.close()
            self._connection = Connection(self._host, self._port, self._hear, self._gone)
        try:
            setup, mine = self.setup(), self._ask("ShowPID", codes=(Code.SHOW_PID,))
            pid = protocol.number_in(mine, "PID")
            if None not in (setup.controlling, pid) and setup.controlling != pid:
                raise NoControl(
                    f"another client has control of {self.address} (its process there is "
                    f"{setup.controlling}); end it, a TVX for example, then call Reset"
                )
        except NoControl:
            self.close()  # only a new connection can get control
            raise

    def close(self) -> None:
        """Close the connection; control goes to the next client."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def check(self) -> None:
        """Raise `BoxLost` if the connection is lost; ask nothing."""
        self._connected().check()

    # What it says

    def setup(self) -> Setup:
        """Return camera name, state and process ids."""
        return protocol.setup_of(self._ask("CamSetup", codes=(Code.CAM_SETUP,)))

    def version(self) -> str:
        """Return its version, such as "tvx-7.9.0"; "" if it does not say it."""
        try:
            words = self._ask("Version", codes=(Code.VERSION,)).text
        except Unknown:
            return ""
        return words.rpartition(":")[2].strip()

    def image_format(self) -> tuple[int, int] | None:
        """Return rows and columns; `None` if it does not say them."""
        try:
            return protocol.image_format_of(self._ask("Telemetry", codes=(Code.TELEMETRY,)))
        except Unknown:
            return None

    def energy(self) -> float | None:
        """Return the photon energy in eV; `None` if none was set, or this version has no SetEnergy."""
        try:
            return protocol.number_in(self._ask("SetEnergy"), "Energy setting")
        except Unknown:
            return None

    def threshold(self) -> float | None:
        """Return the threshold in eV; `None` if none was set."""
        return protocol.number_in(self._ask("SetThreshold"), "threshold")

    def said(self, question: str) -> Answer | None:
        """Return its answer to a question; `None` if it refuses it, which does no harm."""
        try:
            return self._ask(question)
        except BoxLost:
            raise
        except CameraError as error:
            log.info("not known: %s", error)
        return None

    def channels(self) -> dict[int, Channel]:
        """Return temperatures and humidities by channel."""
        return protocol.channels_of(self._ask("THread", codes=(Code.THREAD,)))

    def free_bytes(self) -> int:
        """Return the free space where images are written."""
        answer = self._ask("Df", codes=(Code.DF,))
        try:
            return int(answer.text.split()[0]) * BYTES_PER_BLOCK
        except (ValueError, IndexError):
            raise CameraError(
                f"{self.address} answers Df with {answer.text!r:.60}, not with blocks"
            ) from None

    # What it is told

    def set(self, command: str, *values: str | int | float) -> Answer:
        """Give a setting that it takes at once; return its answer."""
        codes = (Code.SEND, Code.IMG_PATH)
        return self._ask(command, *values, codes=codes)

    def set_if_known(self, command: str, *values: str | int | float) -> bool:
        """The same of a setting that older versions lack; return whether this one has it."""
        try:
            self.set(command, *values)
        except Unknown:
            return False
        return True

    def trim(self, energy: float | None, threshold: float | None) -> None:
        """Set energy, threshold or both, in eV; return when the detector is trimmed.

        The number of images and GapFill are as at camserver's start afterwards ([ad] `setThreshold`).
        """
        if self._number_of_version() <= OLDER_TRIMS_ANEW:
            self._connected().ask("SetThreshold", 0, seconds=TRIM)
        if threshold is None and energy is not None:
            self._connected().ask("SetEnergy", round(energy), seconds=TRIM)
        elif threshold is not None:
            known = energy if energy is not None else self.energy()
            words = ("energy", round(known)) if known else ()
            self._connected().ask("SetThreshold", *words, round(threshold), seconds=TRIM)

    def _number_of_version(self) -> tuple[int, ...]:
        found = re.search(r"(\d+)\.(\d+)\.(\d+)", self.version())
        return tuple(map(int, found.groups())) if found else (0,)

    # Exposures

    def expose(self, command: str, name: str) -> int:
        """Start an exposure; return its number when camserver takes triggers, or exposes.

        Raises:
            CameraError: one is under way: camserver would make us wait for its end ([cs] "A second
            exposure").
        """
        with self._commanding:
            setup = self.setup()
            if self.exposure.under_way or (setup.state and setup.state != IDLE):
                target = f" {setup.target}" if setup.target.startswith("/") else ""
                raise CameraError(
                    f"{self.address} is {setup.state}{target}: somebody has armed it at its window; wait for "
                    "its end, or call Reset, which kills it"
                )
            self.exposure.start(name)
            try:
                self._ask(command, name, codes=(Code.SEND, Code.EXPOSURE))
            except CameraError:
                self.exposure.refused()
                raise
            return self.exposure.number

    def kill(self, number: int | None = None) -> None:
        """End what is exposed now; return when camserver rests.

        Args:
            number: of the exposure that is ended; one that is over, or another one, is left alone. `None`:
                whatever is exposed, by whomever.

        Raises:
            CameraError: it does not end.
        """
        with self._commanding:
            if number is not None and number != self.exposure.number:
                return
            ours = self.exposure.under_way
            if ours or number is None:
                self._kill(ours)

    def settle(self) -> None:
        """Return when camserver rests, after an exposure that was killed.

        Of two answers to a kill the first comes before the end, while it still exposes ([mx]
        `mxd_pilatus_kill` waits for the 7 OK after a 7 ERR); nothing says whether a second one comes.

        Raises:
            CameraError: it still exposes.
        """
        with self._commanding:
            if not self._rests_within(KILLED_WITHIN):
                raise CameraError(
                    f"{self.address} still exposes {KILLED_WITHIN:g} s after it has said that the killed "
                    "exposure has ended; call Reset, unless somebody else exposes"
                )

    def _kill(self, ours: bool) -> None:
        for _ in range(KILLS):
            ours = ours and self.exposure.kill()
            if not ours and self._rests_within(0.0):
                return
            self._connected().tell("K")
            if ours:
                self.exposure.wait(KILLED_WITHIN)
            # Answers come in order: those to K that nobody waits for have come before this one.
            self._ask("ShowPID", codes=(Code.SHOW_PID,))
            silent = self.exposure.under_way
            if self._rests_within(0.0 if silent else KILLED_WITHIN):
                if silent:
                    self.exposure.missed()
                self.check()
                return
        raise CameraError(
            f"{self.address} has not ended its exposure after {KILLS} kills; type K or ResetCam at its "
            "window on the control unit, then call Reset"
        )

    def _rests_within(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while self.setup().state not in (IDLE, ""):
            if time.monotonic() >= end:
                return False
            Event().wait(TICK)
        return True

    # Parts

    def _ask(self, command: str, *values: str | int | float, codes: tuple[int, ...] = (Code.SEND,)) -> Answer:
        return self._connected().ask(command, *values, codes=codes)

    def _connected(self) -> Connection:
        connection = self._connection
        if connection is None:
            raise BoxLost(f"{self.address} is not connected: {CHECK_HOST}")
        return connection

    def _hear(self, answer: Answer) -> None:
        self.exposure.hear(answer)
        self.on_end()

    def _gone(self, sentence: str) -> None:
        self.exposure.lost(sentence)
        self.on_end()

    @staticmethod
    def _lost(connection: Connection) -> bool:
        with suppress(BoxLost):
            connection.check()
            return False
        return True
