"""Configuration of a receiver: typed, unknown keys refused, errors with the key and the file.

One YAML file per beamline, one entry per receiver: see `resources/detectors.yaml`.
"""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from penstock.receiver.config import errors as config_errors
from penstock.receiver.config.rectangles import BadRegionError, Rectangle, check_names
from penstock.receiver.sources import KINDS
from penstock.receiver.transforms.steps import Transform
from penstock.receiver.transforms.steps.assemble import Assemble
from penstock.receiver.transforms.steps.chain import check_order
from penstock.service import config_file
from penstock.service.yaml_text import read_file
from penstock.stins.connections import KEEPALIVE_SECONDS
from penstock.stins.errors import UserError

# Bounded above too: the data process receives the configuration as JSON, which has no infinity.
Positive = Annotated[float, msgspec.Meta(gt=0, le=1e12)]
Count = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
NEEDED = {"data_root": "/", "source": {"endpoints": ["tcp://127.0.0.1:1"]}}
"""What stands for required settings in the search for further errors."""
DEV_SHM = "/dev/shm"
MOST_FILES = 16
"""Most files of a series: with eight, a RAM disk takes as much as memory does."""
PORT = r"([1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5])"
"""A port that can be connected to: 1 to 65535."""
HOST = r"(\S+;)?(\[[^\[\]\s]+\]|[^\[\]:\s]+)"
"""A name, an IPv4 address, or an IPv6 address in brackets; before it the address to connect from."""
Endpoint = Annotated[str, msgspec.Meta(pattern=rf"^(tcp://{HOST}:{PORT}|ipc://\S+)$")]
BoundEndpoint = Annotated[str, msgspec.Meta(pattern=rf"^(tcp://{HOST}:({PORT}|0|\*)|ipc://\S+)$")]
"""One that is bound: port 0, or *, takes any free one."""
PAGE = re.compile(r"https?://[^\s/?#@\"'<>\\]+([/?#][^\s\"'<>\\]*)?")
"""Pattern of a page that a browser may open; nothing that it would run, and no password."""


class ConfigError(UserError):
    """The configuration cannot be used; the sentence names the file, the key and the remedy."""


class SourceConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The source of the frames."""

    endpoints: Annotated[tuple[Endpoint, ...], msgspec.Meta(min_length=1)]
    """ZeroMQ address of the streamer, which binds; several for the modules of a detector (`join`)."""
    type: Annotated[str, msgspec.Meta(extra_json_schema={"enum": list(KINDS)})] = "stins"
    sockets: Count = 1
    """PULL sockets per endpoint; more than one needs a stream whose messages are numbered (`msg_number`)."""
    io_threads: Count = 1
    high_water_mark: Count = 64
    """Messages that each socket queues. ZeroMQ counts messages, not bytes: 64 frames of 20 kB are 1 MB, of 20
    MB they are 1.3 GB; set 8 for frames of 2 MB and more."""
    max_message_mb: Positive = 2048.0
    """A larger message closes the connection before it is read into memory."""
    keepalive_seconds: Annotated[int, msgspec.Meta(ge=3, le=3600)] = KEEPALIVE_SECONDS
    """Seconds within which a streamer whose host has vanished is noticed; a shorter interruption of the
    network ends no connection. A streamer that only ended is noticed at once."""
    frame_origin: int | Literal["first"] = 0
    """Number of a series' first frame, if the detector does not count from 0. first: the number of the first
    frame that arrives; those that are lost before it shift all others."""
    join: Literal["modules"] | None = None
    """modules: each endpoint is a module of one detector, and frames of equal number form one image."""
    join_seconds: Positive = 10.0
    """Seconds within which the start messages of all modules have to arrive after the first one; also for how
    long a module may be silent once another one has ended the series."""

    def __post_init__(self) -> None:
        if self.type not in KINDS:
            raise ValueError(f'type is "{self.type}"; known are {", ".join(KINDS)}')
        if every := [endpoint for endpoint in self.endpoints if endpoint.startswith("tcp://*:")]:
            raise ValueError(
                f"endpoints has {every[0]}; the receiver connects and the streamer binds: "
                "give the streamer's host in place of *"
            )
        if self.join == "modules":
            self._check_modules()
        if KINDS[self.type].published and self.sockets > 1:
            raise ValueError(
                f"sockets is {self.sockets}; a {self.type} stream is published: leave it at 1, "
                "for each socket would get all of it"
            )
        if self.sockets > 1 and not KINDS[self.type].numbered:
            raise ValueError(
                f"sockets is {self.sockets}; messages of a {self.type} stream have no numbers by which those "
                "of several sockets could be put in order: leave it at 1"
            )
        if self.join is None and len(self.endpoints) > 1:
            raise ValueError(
                f"{len(self.endpoints)} endpoints of a {self.type} stream are not one stream; where they are "
                "the modules of one detector, add join: modules; otherwise give each a receiver of its own"
            )

    def _check_modules(self) -> None:
        if not KINDS[self.type].modular or self.sockets > 1:
            modular = " and ".join(name for name, kind in KINDS.items() if kind.modular)
            raise ValueError(
                f"join takes {modular} streams with one socket per endpoint; "
                f"type is {self.type}, sockets {self.sockets}"
            )
        if not 2 <= len(set(self.endpoints)) == len(self.endpoints):
            raise ValueError(
                "join takes one endpoint per module, all different, at least two; "
                f"there are {list(self.endpoints)}"
            )


class GapConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What happens when a frame does not arrive although a later one has."""

    policy: Literal["report", "pad", "fail"] = "report"
    """report: count the frame, and leave its place; fail: end the series in Error. pad is an older name of
    report: no file has places for frames behind the last one received."""
    seconds: Positive = 2.0
    """Seconds after which the frame counts as missing. It is still stored if it arrives later."""


class ForwardConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One named consumer of the forwarded stream."""

    name: str
    endpoint: BoundEndpoint
    """Address to bind; each consumer needs its own."""
    when_full: Literal["drop_newest", "drop_oldest", "block"] = "drop_newest"
    """What a full queue leads to: drop the new frame, drop the oldest queued frame, or hold back the
    streamer, which stalls the series and its file: only for consumers that must receive every frame."""
    every: Count = 1
    """Send only frames whose index is a multiple of this number."""
    queue_mb: Positive = 256.0
    """Memory for the messages that wait for this consumer; ZeroMQ holds a few more."""
    shared: bool = False
    """True: the pixels go into memory that the consumer, a distributor of live processing on this machine,
    reads, and it is sent references. The memory is reserved when the receiver starts, `queue_mb` of it."""
    shared_folder: str = DEV_SHM
    """Folder of that memory, which has to be a RAM disk."""
    shared_group: str = ""
    """Group whose members may read and free that memory; if not given, only the receiver's own user may."""
    gather_seconds: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.025
    """References are sent once there are 64 of them, or after this time."""
    page: str = ""
    """Address of the consumer's own page, such as "http://daq-1:5100/" of a pipeline: the receiver's page
    links to it. The receiver itself asks nothing of it."""

    def __post_init__(self) -> None:
        if self.page and not PAGE.fullmatch(self.page):
            raise ValueError(
                f'consumer {self.name}: page is "{self.page}"; give the address of a page, such as '
                "http://daq-1:5100/"
            )
        if not self.shared:
            if self.shared_group or self.shared_folder != DEV_SHM:
                key = "shared_group" if self.shared_group else "shared_folder"
                raise ValueError(
                    f"consumer {self.name}: {key} is for memory that is shared; add shared: true"
                )
            return
        if self.when_full != "drop_newest" or self.every != 1:
            key, value = ("every", self.every) if self.every != 1 else ("when_full", self.when_full)
            raise ValueError(
                f"consumer {self.name}: {key} is {value}; with shared: true every frame is put into the "
                f"memory as long as there is room: leave out {key}, or shared"
            )
        if self.queue_mb < 1:
            raise ValueError(
                f"consumer {self.name}: queue_mb is {self.queue_mb:g}; shared memory has 1 or more"
            )
        if not self.shared_folder.startswith("/"):
            raise ValueError(
                f'consumer {self.name}: shared_folder is "{self.shared_folder}"; give an absolute path'
            )


class ReceiverConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One receiver."""

    source: SourceConfig
    data_root: str
    """Folder in which all files are written; none is written outside it."""
    http: str = "127.0.0.1:5000"
    """Address and port of the HTTP API."""
    detector: str | None = None
    """Name of the NXdetector group; the receiver's own name if not given."""
    path_map: dict[str, str] = {}
    """Path prefixes as clients see them, and the prefixes that replace them on this host."""
    filename_template: str = ""
    """File name for series that come without one; fields {detector}, {series}, {date:%Y%m%d-%H%M%S}."""
    gap: GapConfig = GapConfig()
    idle_limit: Positive = 600.0
    """Seconds of silence that end a series when the silence cannot be a wait for a trigger."""
    peer_gone: Positive = 2.0
    """Seconds without any connection after which a series ends."""
    hold_mb: Positive = 256.0
    """Memory for messages that wait for earlier ones (several sockets) or for other modules."""
    memory_mb: Positive = 4096.0
    """Memory of the data process. The check refuses a series whose frames could take more."""
    min_free_mb: Annotated[float, msgspec.Meta(ge=0, le=1e12)] = 64.0
    """Disk space that must stay free beyond what a series announces."""
    flush_seconds: Positive = 1.0
    """Seconds after which stored frames survive the death of the receiver, at the latest."""
    resume: bool = True
    """True: a receiver that was killed resumes the running series, in its file, when it is started again.
    False: it marks the file as incomplete."""
    on_terminate: Literal["finish", "resume"] = "finish"
    """What SIGTERM and Ctrl-C do to the running series: "finish" ends it, "resume" takes what has arrived and
    leaves it to the next start."""
    state_folder: str = ""
    """Folder in which the receiver records which file is open, and its last series; ".penstock" in the data
    root if not given."""
    durability: Literal["closed", "synced"] = "closed"
    """Moment at which the receiver becomes Idle: once the file is closed, or only once it is on the disk."""
    pickle_last_frame: bool = False
    """Answer `GET /last_frame` as MAX IV's receivers do: [image header, pixels], a pickle of built-in types.
    Whoever unpickles trusts the sender with their account: for old clients only."""
    forward: tuple[ForwardConfig, ...] = ()
    rois: dict[str, Rectangle] = {}
    """Regions of interest by name; the sum, mean and maximum of each are computed for every frame. `PUT
    /rois` changes them; regions that were set there with `keep` take precedence."""
    transforms: tuple[Transform, ...] = ()
    """Steps that are applied to every frame, in this order, before file, consumers and live view."""
    workers: Annotated[int, msgspec.Meta(ge=1, le=256)] = 1
    """Number of threads for the transforms, and for the regions of interest."""
    files: Annotated[int, msgspec.Meta(ge=1, le=MOST_FILES)] = 1
    """Files among which the frames of a series are dealt, each with a thread that writes it: NAME_part1.h5
    and so on, which NAME.h5 shows as one. With 1, the receiver's loop writes NAME.h5. `penstock
    check-storage` says how many help."""
    swmr: bool = False
    """Let other processes read the file while it grows (HDF5's single writer, multiple readers)."""
    frames_per_file: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)] = 0
    """Frames per segment: a file that is closed, and can be read, as soon as it is full; 0: one file."""
    preallocate_seconds: Annotated[float, msgspec.Meta(ge=0, le=60)] = 0.01
    """Seconds that the start of a series may spend on reserving space for uncompressed frames. A disk does it
    at once; on a RAM disk a thread goes on with it while the series runs. 0: no space is reserved."""

    def __post_init__(self) -> None:
        host, _, port = self.http.rpartition(":")
        if "://" in self.http:
            raise ValueError(f'http is "{self.http}"; give HOST:PORT without http://, such as 127.0.0.1:5000')
        if not host or not host.isprintable() or not re.fullmatch("[0-9]{1,5}", port) or int(port) > 65535:
            raise ValueError(f'http is "{self.http}"; give HOST:PORT, such as 127.0.0.1:5000')
        if ":" in host and not (host.startswith("[") and host.endswith("]")):
            raise ValueError(f'http is "{self.http}"; an IPv6 address has brackets, such as [::1]:5000')
        if not self.data_root.startswith("/"):
            raise ValueError(f'data_root is "{self.data_root}"; give an absolute path, such as /data')
        if self.state_folder and not self.state_folder.startswith("/"):
            raise ValueError(f'state_folder is "{self.state_folder}"; give an absolute path')
        if self.on_terminate == "resume" and not self.resume:
            raise ValueError(
                "on_terminate is resume, and resume is false, so that the next start resumes no series: "
                "leave one of them out"
            )
        if self.frames_per_file and self.files > 1:
            raise ValueError(
                f"frames_per_file is {self.frames_per_file} and files {self.files}; segments are written one "
                "after the other, parts at the same time: leave one of them out"
            )
        if self.swmr and (self.files > 1 or self.frames_per_file or self.source.join is not None):
            raise ValueError(
                "swmr is for one file that others read while it grows: leave out swmr, or files, "
                "frames_per_file and join"
            )
        try:
            check_names(self.rois)
        except BadRegionError as error:
            raise ValueError(f"rois: {error}") from error
        check_order(self.transforms)
        assembled = sum(isinstance(step, Assemble) for step in self.transforms)
        if assembled > (self.source.join == "modules"):
            raise ValueError("transforms: assemble is for source.join: modules, and once is enough")
        if self.keeps_modules:
            self._check_module_files(len(self.source.endpoints))
        names = [consumer.name for consumer in self.forward]
        if len(set(names)) != len(names):
            raise ValueError(f"forward: consumers need names of their own, there are {names}")
        fixed = [each.endpoint for each in self.forward if not each.endpoint.endswith((":0", ":*"))]
        fixed += self.source.endpoints
        if len(set(fixed)) != len(fixed):
            raise ValueError(
                f"forward: consumers need endpoints of their own, which no source has; there are {fixed}"
            )
        try:
            self.template_name("detector", "1")
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f'filename_template "{self.filename_template}": {_template_error(error)}; '
                "fields are {detector}, {series} and {date:%Y%m%d-%H%M%S}"
            ) from error

    @property
    def keeps_modules(self) -> bool:
        """True if modules are stored as they were received."""
        assembles = any(isinstance(step, Assemble) for step in self.transforms)
        return self.source.join == "modules" and not assembles

    def _check_module_files(self, modules: int) -> None:
        """Check into how many files modules are written as they were received."""
        if self.frames_per_file:
            raise ValueError(
                f"frames_per_file is {self.frames_per_file}, and modules (source.join) are stored as they "
                "were received, without segments: leave out frames_per_file, or put {type: assemble} into "
                "the transforms"
            )
        if self.files not in (1, modules):
            each = f"set files: {modules}, leave it out," if modules <= MOST_FILES else "leave it out"
            raise ValueError(
                f"files is {self.files}, and modules (source.join) are stored as they were received, in one "
                f"file, or in one for each of the {modules}: {each} or put {{type: assemble}} into the "
                "transforms"
            )

    def template_name(self, detector: str, series: str) -> str:
        """Return the template's file name for a series without one; "" if there is no template."""
        return self.filename_template.format(detector=detector, series=series, date=datetime.now())


def _template_error(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"there is no field {{{error.args[0]}}}"
    if isinstance(error, IndexError):
        return "a field has no name"
    return str(error)


class ConfigFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    receivers: dict[str, ReceiverConfig]


def load(path: str | Path) -> ConfigFile:
    """Read a configuration file.

    Raises:
        ConfigError: it cannot be read, is not YAML, or has a wrong or unknown key.
    """
    return parse(_read(path), str(path))


def _read(path: str | Path) -> Any:
    try:
        return read_file(path, "--config takes the file")
    except ValueError as error:
        raise ConfigError(str(error)) from error


def parse(raw: Any, origin: str) -> ConfigFile:
    """Check a configuration that has already been read; errors name `origin`.

    Raises:
        ConfigError: a wrong or unknown key.
    """
    try:
        file = msgspec.convert(raw, ConfigFile)
        msgspec.json.encode(file)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{origin}: {_wrong(raw, str(error))}") from error
    except UnicodeEncodeError as error:
        raise ConfigError(f"{origin} has half a character (\\ud800 to \\udfff): {error}") from error
    return file


def _wrong(raw: Any, said: str) -> str:
    """Return the error as a sentence; msgspec does not name keys of mappings, so each receiver is checked."""
    if not isinstance(raw, dict) or "receivers" not in raw:
        return 'the file begins with "receivers:", and has an entry for each receiver below it'
    entries = raw["receivers"]
    if not isinstance(entries, dict):
        return '"receivers:" has entries below it, each a NAME: and its settings'
    for name, entry in entries.items():
        if not isinstance(name, str):
            return f'the name of a receiver is text: write "{name}": in quotes'
        try:
            msgspec.convert(entry, ReceiverConfig)
        except msgspec.ValidationError as error:
            return config_errors.sentence(entry, ReceiverConfig, str(error), f"receiver {name}")
    return config_errors.sentence(raw, ConfigFile, said, "")


def errors(path: str | Path, name: str | None = None) -> list[str]:
    """Return every error of a configuration file, each a sentence.

    Args:
        path: of the file.
        name: of the receiver whose entry counts; `None`: all entries.

    Raises:
        ConfigError: it cannot be read, is not YAML, has no receivers, or none of this name.
    """
    raw = _read(path)
    entries = raw.get("receivers") if isinstance(raw, dict) else None
    if not isinstance(entries, dict) or len(raw) > 1 or not all(isinstance(each, str) for each in entries):
        parse(raw, str(path))
        raise AssertionError("such a file is refused")
    if name is not None and name not in entries:
        raise ConfigError(f'{path} has no receiver "{name}"; it has: {", ".join(entries) or "none"}')
    found: list[str] = []
    for each in entries if name is None else [name]:
        wrong, _ = config_file.find(
            entries[each], ReceiverConfig, f"receiver {each}", config_errors.WORDS, NEEDED
        )
        found += [f"{path}: {said}" for said in wrong]
    return found


def receiver(file: ConfigFile, name: str, origin: str) -> ReceiverConfig:
    """Return the configuration of one receiver.

    Raises:
        ConfigError: there is no receiver of that name.
    """
    if name not in file.receivers:
        known = ", ".join(file.receivers) or "none"
        raise ConfigError(f'{origin} has no receiver "{name}"; it has: {known}')
    return file.receivers[name]


def schema() -> dict[str, Any]:
    """Return the JSON schema of the configuration file, for editors and for the reference."""
    return msgspec.json.schema(ConfigFile)
