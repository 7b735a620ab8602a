"""The words of camserver: commands, and the answers to them; neither socket nor thread.

A command is a line of text, ended here by NUL; camserver takes any control character for the end ([cs]
`rxMsg`; [um] 6.2.2 p. 19). An answer is `<code> OK text` or `<code> ERR text`, ended by 0x18 without a
newline; it may contain newlines ([um] p. 19). Each command has its code ([um] chapter 15; [lima] `_run`).
Code 7, the end of an exposure, comes unasked for, and so may code 13, of a kill.
"""

from __future__ import annotations

import re
from enum import IntEnum
from pathlib import PurePosixPath

import msgspec

from penstock.streamer.camera.settings import Value

END = b"\x18"
"""Ends each answer."""
COMMAND_END = b"\0"
MOST_BYTES = 2**20
"""Most bytes of an answer: whatever sends more without an end is not camserver."""
FORM = re.compile(r"\s*(\d+)\s+(OK|ERR)\b\s*(.*)", re.DOTALL)
DENIED = "access denied"
"""camserver's answer to a client without control ([cs] `check_permission`)."""
UNKNOWN = "unrecognized command"
"""Begin of its answer to a command that this version lacks ([cs] `command_interpreter`)."""
TRIM_FILE = "/tmp/setthreshold.cmd"
"""What setting a threshold answers; some versions leave code and OK away ([cct] `interpretMessage`)."""


class Code(IntEnum):
    """Codes of answers ([um] chapter 15; [lima] `_run`; [cct] `interpretMessage`)."""

    COMMAND = 1
    """The command is unknown, or the client has no control."""
    CAM_SETUP = 2
    DF = 5
    EXPOSURE = 7
    """An exposure, or a series of images, has ended."""
    IMG_PATH = 10
    KILL = 13
    SEND = 15
    """Code of all commands without a code of their own."""
    SHOW_PID = 16
    TELEMETRY = 18
    VERSION = 24
    THREAD = 215


UNASKED = frozenset({Code.EXPOSURE, Code.KILL})
"""Codes of answers that belong to an exposure, not to the last command."""


class Answer(msgspec.Struct, frozen=True):
    """One answer."""

    code: int
    ok: bool
    text: str


def encode(command: str, *arguments: Value) -> bytes:
    """Return a command as it is sent; floats with 10 digits, as camserver keeps microseconds of hours."""
    words = [f"{value:.10g}" if isinstance(value, float) else str(value) for value in arguments]
    return " ".join([command, *words]).encode("ascii", "replace") + COMMAND_END


class Splitter:
    """Bytes in, answers out."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[Answer]:
        """Return the answers that are complete now.

        Raises:
            ValueError: these are no answers of camserver.
        """
        *complete, self._rest = (self._rest + data).split(END)
        if len(self._rest) > MOST_BYTES:
            raise ValueError(f"{len(self._rest)} bytes without the end of an answer")
        return [
            _answer(part.decode("latin-1").replace("\0", "")) for part in complete if part.strip(b"\0 \n")
        ]


def _answer(words: str) -> Answer:
    if words.lstrip().startswith(TRIM_FILE):
        return Answer(Code.SEND, True, words.strip())
    found = FORM.fullmatch(words)
    if found is None:
        raise ValueError(f"{words[:80]!r} is no answer of camserver")
    return Answer(int(found[1]), found[2] == "OK", found[3].strip())


# What answers contain


def number_in(answer: Answer, words: str) -> float | None:
    """Return the number that follows some words and a colon or an equals sign; `None` if it is not there."""
    found = re.search(rf"{words}\s*[:=]\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)", answer.text, re.IGNORECASE)
    try:
        return float(found[1]) if found else None
    except ValueError:
        return None


def trim_file_in(answer: Answer) -> str | None:
    """Return the name of the trim file, from the answer to SetThreshold ([cct] `interpretMessage`)."""
    found = re.search(r"Trim file:\s*(\S+)", answer.text)
    return PurePosixPath(found[1]).name if found else None


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to CamSetup ([cct] `interpretMessage`; [cs] `print_cam_setup`); "" or `None` if unknown."""

    name: str = ""
    """Name, such as "PILATUS3 2M"."""
    serial: str = ""
    state: str = ""
    """"idle", "exposing" and others."""
    target: str = ""
    """File that an exposure under way writes next."""
    master: int | None = None
    controlling: int | None = None
    """Process ids: of camserver itself, and of the connection that has control."""


def setup_of(answer: Answer) -> Setup:
    """Return what CamSetup says."""
    lines = {}
    for line in answer.text.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            lines[key.strip().lower()] = value.strip()
    name, _, serial = lines.get("camera name", "").partition(", S/N")
    return Setup(
        name=name.strip(), serial=serial.strip(" ,"), state=lines.get("camera state", "").lower(),
        target=lines.get("target file", ""), master=_whole(lines.get("master pid is", "")),
        controlling=_whole(lines.get("controlling pid is", "")),
    )  # fmt: skip


def _whole(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


class Channel(msgspec.Struct, frozen=True):
    """One sensor of temperature and humidity; -99 stands for no sensor ([um] p. 57)."""

    temperature: float | None
    """Degrees Celsius."""
    humidity: float | None
    """Percent."""


NO_SENSOR = -99.0


def channels_of(answer: Answer) -> dict[int, Channel]:
    """Return the sensors by channel, from the answer to THread ([um] p. 57-58)."""
    pattern = r"Channel\s+(\d+):\s*Temperature\s*=\s*([-+]?[\d.]+)\s*C,\s*Rel\. Humidity\s*=\s*([-+]?[\d.]+)"
    found = {}
    for channel, temperature, humidity in re.findall(pattern, answer.text):
        values = [None if float(text) <= NO_SENSOR else float(text) for text in (temperature, humidity)]
        found[int(channel)] = Channel(*values)
    return found


def image_format_of(answer: Answer) -> tuple[int, int] | None:
    """Return rows and columns, from the answer to Telemetry ([cct] `interpretMessage`); `None` if unknown."""
    found = re.search(r"Image format:\s*(\d+)\(w\)\s*x\s*(\d+)\(h\)", answer.text)
    return (int(found[2]), int(found[1])) if found else None
