"""camserver without its network: what it is told, and what it answers."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from threading import Event, RLock
from typing import NamedTuple, Protocol

from penstock.streamer.simulated.camserver.exposure import Exposure, Plan
from penstock.streamer.simulated.camserver.faults import Faults
from penstock.streamer.simulated.camserver.images import Images, Kind, header_lines
from penstock.streamer.simulated.camserver.language import answer, parse
from penstock.streamer.simulated.camserver.settings import NUMBERS, SEND, Refused, Settings
from penstock.streamer.simulated.triggers import Edge

MOST_HEARD = 1000
"""Last commands that are kept."""
VERSION = "tvx-7.9.0-0"
EXPOSE = ("Exposure", "ExtTrigger", "ExtMTrigger", "ExtEnable")
ACTIONS = (*EXPOSE, "K", "ResetCam", "ResetModulePower")
"""Commands that need control even without an argument ([cs] `check_permission`)."""
QUERIES = ("Df", "THread", "Telemetry", "Version", "CamSetup", "ShowPID")
"""Commands that need none even with one."""
TEMPERATURES = ((27.3, 12.5), (25.1, 9.8), (-99.0, -99.0))
"""Degrees Celsius and percent by channel; -99 stands for no sensor ([um] p. 57)."""
COMMAND, CAM_SETUP, DF, EXPOSURE, IMG_PATH, KILL, SHOW_PID, TELEMETRY, VERSION_CODE, THREAD = (
    1, 2, 5, 7, 10, 13, 16, 18, 24, 215,
)  # fmt: skip
"""Codes of answers: see `penstock.devices._camserver.protocol.Code`."""
CODES = {"Df": DF, **dict.fromkeys(EXPOSE, EXPOSURE)}
"""Codes of the commands that the image folder may fail, where not `SEND`."""


class Client(Protocol):
    """A connection, or camserver's own window."""

    pid: int

    def send(self, data: bytes) -> None: ...


class Reply(NamedTuple):
    """What a command answers."""

    code: int
    text: str


class Box:
    """camserver and its detector; any thread may call its methods."""

    def __init__(self, settings: Settings, images: Images) -> None:
        self.settings, self._images = settings, images
        self.faults = Faults()
        self.heard: deque[str] = deque(maxlen=MOST_HEARD)
        self.controlling: Client | None = None
        self._exposure: Exposure | None = None
        self._listener: Client | None = None
        """Who has started the exposure, and gets its end."""
        self._lock = RLock()
        self._power_fails = Event()
        self._commands: Mapping[str, Callable[[str, Client], Reply | None]] = {
            **{name: self._setting(name) for name in NUMBERS},
            **{name: self._expose(name) for name in EXPOSE},
            "ImgPath": self._img_path, "SetEnergy": self._set_energy, "SetThreshold": self._set_threshold,
            "Tau": self._tau,
            "HeaderString": self._header_string, "MXsettings": self._accept, "CamCmd": self._accept,
            "K": self._kill, "ResetCam": self._reset, "ResetModulePower": self._reset_power,
            "Df": self._df, "THread": self._thread, "Telemetry": self._telemetry, "Version": self._version,
            "CamSetup": self._cam_setup, "ShowPID": self._show_pid,
        }  # fmt: skip

    # Commands

    def command(self, line: str, client: Client, *, control: bool) -> None:
        """Execute a command, and send its answer to the client; all are in `heard`.

        Args:
            line: the command.
            client: who gives it.
            control: whether it may change anything.
        """
        faults = self.faults
        self.heard.append(line)
        if faults.hang:
            return
        self._pause(faults.slow)
        try:
            name, argument = parse(line, tuple(self._commands))
            if name == "CamCmd":  # another command behind it, as the vendor's TVX sends it
                name, argument = parse(argument, tuple(self._commands))
        except KeyError as error:
            client.send(answer(COMMAND, False, f"*** Unrecognized command: {error.args[0]}"))
            return
        if not control and name not in QUERIES and (argument or name in ACTIONS):
            client.send(answer(COMMAND, False, "access denied"))
            return
        if name in faults.refuse:
            client.send(answer(SEND, False, faults.refuse[name]))
            return
        try:
            reply = self._commands[name](argument, client)
        except Refused as error:
            client.send(answer(error.code, False, str(error)))
            return
        except OSError as error:  # of the image folder, such as one that somebody has removed
            words = f"*** {self.settings.folder}/: {error.strerror}"
            client.send(answer(CODES.get(name, SEND), False, words))
            return
        if reply is not None:
            client.send(answer(reply.code, True, reply.text))

    def take_control(self, client: Client) -> bool:
        """Give a new client control, unless another one has it; return whether it has."""
        with self._lock:
            if self.controlling is None:
                self.controlling = client
            return self.controlling is client

    def give_control(self, client: Client) -> None:
        """Take control back from a client that has gone."""
        with self._lock:
            if self.controlling is client:
                self.controlling = None

    def edge(self, edge: Edge) -> bool:
        """Take an edge at the trigger input; return whether it was accepted."""
        exposure = self._exposure
        return exposure is not None and exposure.edge(edge)

    @property
    def exposing(self) -> bool:
        """True while an exposure is under way."""
        return self._exposure is not None

    def power_off(self) -> None:
        """Lose everything; nobody is told."""
        self._power_fails.set()
        with self._lock:
            self._listener = None
            if (exposure := self._exposure) is not None:
                exposure.kill()
        if exposure is not None:
            exposure.join()
        with self._lock:
            self._power_fails.clear()
            self.settings.power_on()

    # What they do

    def _setting(self, name: str) -> Callable[[str, Client], Reply]:
        def work(argument: str, client: Client) -> Reply:
            if argument:
                self.settings.set(name, argument)
            return Reply(SEND, self.settings.said(name))

        return work

    def _expose(self, name: str) -> Callable[[str, Client], Reply]:
        def work(argument: str, client: Client) -> Reply:
            return self._start(name, argument, client)

        return work

    def _start(self, name: str, argument: str, client: Client) -> Reply:
        settings = self.settings
        while (running := self._exposure) is not None:
            running.join()  # a second exposure blocks until the first is complete ([cs] "A second exposure")
        if not argument.endswith(".cbf"):
            raise Refused(f"*** No image file with the extension .cbf: {argument}", EXPOSURE)
        if settings["NImages"] > 1 and settings.too_short(settings["ExpPeriod"]):
            raise Refused("Illegal exposure period")
        with self._lock:
            plan = Plan(
                command=name, images=int(settings["NImages"]), exposure=settings["ExpTime"],
                period=settings["ExpPeriod"], delay=settings["Delay"], per_frame=int(settings["NExpFrame"]),
                acknowledge=int(settings["SetAckInt"]), target=settings.folder / argument,
            )  # fmt: skip
            self._images.prepare(Kind(settings.folder, int(settings["GapFill"]), header_lines(settings)))
            settings.header = ""  # it holds for one exposure ([cs] `end_exposure`)
            if name in ("Exposure", "ExtEnable"):
                settings.reset("Delay")
            self._listener = client
            self._exposure = Exposure(plan, self._images, lambda: self.faults, self._report)
            self._exposure.start()
        begun = datetime.now().strftime("%Y-%b-%dT%H:%M:%S.%f")[:-3]
        return Reply(SEND, f" Starting {plan.exposure:.7f} second background: {begun}")

    def _report(self, well: bool, text: str, last: bool) -> None:
        if last and self._exposure is not None and self._exposure.killed:
            self._pause(self.faults.slow_kill)
        with self._lock:  # who is told that it is idle has been told the end before: one process does both
            if last:
                if self._exposure is not None and self._exposure.last is not None:
                    self.settings.last = str(self._exposure.last)
                self._exposure = None
            if self._listener is not None and not (last and self.faults.silent_ends):
                self._listener.send(answer(EXPOSURE, well, text))

    def _kill(self, argument: str, client: Client) -> Reply | None:
        """End the exposure at once; its answers are those of the exposure ([um] p. 56)."""
        with self._lock:
            exposure, faults = self._exposure, self.faults
            if faults.ignore_kills:
                self.faults.ignore_kills -= 1
                return None
            if exposure is None:
                return Reply(SEND, "")
            listener = self._listener
            if listener is not None:
                listener.send(answer(KILL, False, "kill"))
                if faults.both_ends:
                    listener.send(answer(EXPOSURE, False, str(exposure.plan.path(exposure.taken))))
            exposure.kill()
        return None

    def _reset(self, argument: str, client: Client) -> Reply:
        self._kill("", client)
        return Reply(SEND, "")

    def _reset_power(self, argument: str, client: Client) -> Reply:
        self._pause(float(argument or 0.0))
        self.settings.energy = self.settings.threshold = None
        return Reply(SEND, "")

    def _img_path(self, argument: str, client: Client) -> Reply:
        if argument:
            path = self.settings.folder / argument
            try:
                path.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise Refused(f"mkdir() failed: {error.strerror}", IMG_PATH) from error
            if not os.access(path, os.W_OK):
                raise Refused("*** Write permission denied", IMG_PATH)
            self.settings.folder = Path(os.path.normpath(path))
        return Reply(IMG_PATH, f"{self.settings.folder}/")

    def _set_energy(self, argument: str, client: Client) -> Reply:
        if argument:
            self._pause(self.faults.slow_trim)
            return Reply(SEND, self.settings.trim(argument, energy=True))
        return Reply(SEND, self.settings.said_energy())

    def _set_threshold(self, argument: str, client: Client) -> Reply:
        if argument:
            self._pause(self.faults.slow_trim)
            return Reply(SEND, self.settings.trim(argument, energy=False))
        return Reply(SEND, self.settings.said_threshold())

    def _tau(self, argument: str, client: Client) -> Reply:
        return Reply(SEND, self.settings.set_tau(argument) if argument else self.settings.said_tau())

    def _header_string(self, argument: str, client: Client) -> Reply:
        self.settings.header = argument.strip('"')[:68]
        return Reply(SEND, "")

    def _accept(self, argument: str, client: Client) -> Reply:
        return Reply(SEND, "")

    def _df(self, argument: str, client: Client) -> Reply:
        return Reply(DF, str(self._images.free(self.settings.folder) // 1024))

    def _thread(self, argument: str, client: Client) -> Reply:
        return Reply(THREAD, ";\n".join(_channels()))

    def _telemetry(self, argument: str, client: Client) -> Reply:
        rows, columns = self._images.shape
        lines = (
            f"=== Telemetry at {datetime.now().isoformat(timespec='milliseconds')} ===",
            f"Image format: {columns}(w) x {rows}(h) pixels",
            "Selected bank: 0", "Selected module: 0", "Selected chip: 0", *_channels(),
        )  # fmt: skip
        return Reply(TELEMETRY, "\n".join(lines))

    def _version(self, argument: str, client: Client) -> Reply:
        return Reply(VERSION_CODE, f"Code release:  {VERSION}")

    def _cam_setup(self, argument: str, client: Client) -> Reply:
        with self._lock:
            exposure, settings = self._exposure, self.settings
        target = "(nil)" if exposure is None else str(exposure.plan.path(exposure.taken))
        lines = (
            "Camera definition:", f"  {settings.model}, simulated",
            f"Camera name: {settings.model}, S/N 00-0000",
            f"Camera state: {'idle' if exposure is None else 'exposing'}", f"Target file: {target}",
            f"Time left: {0.0 if exposure is None else exposure.time_left:.3f}",
            f"Last image: {settings.last}",
            f"Master PID is: {os.getpid()}",
            f"Controlling PID is: {self.controlling.pid if self.controlling else os.getpid()}",
            f"Exposure time: {settings['ExpTime']:.7f}", "Last completed image:", f"  {settings.last}",
            "Shutter is: closed",
        )  # fmt: skip
        return Reply(CAM_SETUP, "\n" + "\n".join(f"  {line}" for line in lines) + "\n")

    def _show_pid(self, argument: str, client: Client) -> Reply:
        return Reply(SHOW_PID, f"PID = {client.pid}")

    def _pause(self, seconds: float) -> None:
        if seconds:
            self._power_fails.wait(seconds)


def _channels() -> list[str]:
    return [
        f"Channel {number}: Temperature = {temperature:.1f}C, Rel. Humidity = {humidity:.1f}%"
        for number, (temperature, humidity) in enumerate(TEMPERATURES)
    ]
