"""One corpus of hostile input, used at the codec and at a running receiver.

Everything here was sent by somebody's broken streamer, typed into somebody's file name, or could have been.
Each item has the kind by which it must be counted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.streams import text

SHAPE, TYPE = (4, 6), "uint16"
NBYTES = 48
"""The sound frames among which hostile ones are sent: see `tests.streams.pixels`."""

IMAGE: dict[str, Any] = {
    "htype": "image", "msg_number": 1, "frame": 1, "shape": list(SHAPE), "type": TYPE, "compression": "none"
}  # fmt: skip
HEADER: dict[str, Any] = {"htype": "header", "msg_number": 0, "filename": ""}


@dataclass(frozen=True)
class Message:
    """A message that no decoder may accept."""

    name: str
    parts: list[bytes]
    kind: str


@dataclass(frozen=True)
class BadFrame:
    """A frame whose header can be read, so that its index is known to be corrupt."""

    name: str
    kind: str
    keys: dict[str, Any] = field(default_factory=dict)
    blobs: list[bytes] = field(default_factory=lambda: [bytes(NBYTES)])

    def parts(self, **keys: Any) -> list[bytes]:
        """The message; `keys` say which frame of which series it claims to be."""
        return [text(**{**IMAGE, **self.keys, **keys}), *self.blobs]


@dataclass(frozen=True)
class BadStart:
    """A start message that can be decoded, and announces what cannot be."""

    name: str
    kind: str
    keys: dict[str, Any]


@dataclass(frozen=True)
class BadName:
    """A file name that may not be written to; made for a data root."""

    name: str
    kind: str
    make: Callable[[Path], str]


@dataclass(frozen=True)
class BadConfig:
    """A configuration file that is refused; `says` stands in the sentence."""

    name: str
    yaml: str
    says: str


def _without(message: dict[str, Any], key: str) -> bytes:
    return text(**{name: value for name, value in message.items() if name != key})


def _image(**keys: Any) -> list[bytes]:
    return [text(**{**IMAGE, **keys}), bytes(NBYTES)]


def _header(**keys: Any) -> list[bytes]:
    return [text(**{**HEADER, **keys})]


MESSAGES = [
    Message("an empty part", [b""], "not_json"),
    Message("bytes that are not text", [b"\xff\xfe\x00\x01"], "not_json"),
    Message("text that is not UTF-8", [b'{"htype": "\xe9"}'], "not_json"),
    Message("half a JSON object", [b'{"htype": "image", "frame": '], "not_json"),
    Message("JSON with rubbish behind it", [text(**IMAGE) + b"}"], "not_json"),
    Message("a hundred thousand brackets", [b"[" * 100_000], "not_json"),
    Message("a hundred thousand objects", [b'{"htype":' * 100_000], "not_json"),
    Message("a frame number that is NaN", _image(frame=float("nan")), "wrong_type"),
    Message("a series id that is NaN", _image(series=float("nan")), "wrong_type"),
    Message("a list", [b'["htype", "image"]'], "wrong_type"),
    Message("a number", [b"42"], "wrong_type"),
    Message("null", [b"null"], "wrong_type"),
    Message("an HTTP request", [b"GET / HTTP/1.1\r\n\r\n"], "not_json"),
    Message("a Python pickle", [b"\x80\x04\x95\x0c\x00\x00\x00"], "not_json"),
    Message("no htype", [_without(IMAGE, "htype")], "missing_key"),
    Message("htype null", [text(htype=None)], "missing_key"),
    Message("an unknown htype", [text(htype="dimage-1.0")], "unknown_htype"),
    Message("an htype of a megabyte", [text(htype="x" * 2**20)], "unknown_htype"),
    Message("an htype that is a list", [text(htype=["image"])], "unknown_htype"),
    Message("an htype in capitals", [text(htype="IMAGE")], "unknown_htype"),
    Message("a header without a file name", [_without(HEADER, "filename")], "missing_key"),
    Message("a header whose file name is null", _header(filename=None), "wrong_type"),
    Message("a header whose file name is a number", _header(filename=7), "wrong_type"),
    Message("a header whose file name is a megabyte", _header(filename="/" + "a" * 2**20), "wrong_type"),
    Message(
        "a header with half a surrogate pair in its name",
        [b'{"htype":"header","filename":"/\\ud800"}'],
        "not_json",
    ),
    Message("a header whose series id is a megabyte", _header(series="x" * 2**20), "wrong_type"),
    Message("a header with three parts", [*_header(), b"{}", b"{}"], "extra_parts"),
    Message("an image without a shape", [_without(IMAGE, "shape"), bytes(NBYTES)], "missing_key"),
    Message("an image without a type", [_without(IMAGE, "type"), bytes(NBYTES)], "missing_key"),
    Message(
        "an image without its compression", [_without(IMAGE, "compression"), bytes(NBYTES)], "missing_key"
    ),
    Message("an image whose frame is text", _image(frame="1"), "wrong_type"),
    Message("an image whose frame is true", _image(frame=True), "wrong_type"),
    Message("an image whose frame is 1.5", _image(frame=1.5), "wrong_type"),
    Message("an image whose frame is 10**40", _image(frame=10**40), "wrong_type"),
    Message("an image whose shape is a number", _image(shape=24), "wrong_type"),
    Message("an image whose shape is text", _image(shape="4x6"), "wrong_type"),
    Message("an image whose shape has half a pixel", _image(shape=[4.5, 6]), "wrong_type"),
    Message("an image whose type is a number", _image(type=16), "wrong_type"),
    Message("an image whose compression is null", _image(compression=None), "wrong_type"),
]

LEFT_OUT = [
    Message("a header with minus one frame", _header(frames=-1), "unusable_key"),
    Message("a header with 2**60 frames", _header(frames=2**60), "unusable_key"),
    Message("a header with 10**40 frames", _header(frames=10**40), "unusable_key"),
    Message("a header with half a frame", _header(frames=0.5), "unusable_key"),
    Message("a header with a negative size", _header(frame_bytes=-1), "unusable_key"),
    Message("a header whose frame time is NaN", _header(frame_time=float("nan")), "unusable_key"),
    Message("a header whose frame time is infinite", _header(frame_time=float("inf")), "unusable_key"),
    Message("metadata that is a list", [*_header(), b"[1, NaN]"], "unusable_metadata"),
    Message("metadata that is text", [*_header(), b'"label"'], "unusable_metadata"),
    Message("metadata that is not JSON", [*_header(), b"label=1"], "unusable_metadata"),
    Message("metadata that is not UTF-8", [*_header(), b'{"label": "\xb5m"}'], "unusable_metadata"),
    Message("metadata nested without end", [*_header(), b'{"a":' * 100_000], "unusable_metadata"),
    Message("an image whose message number is 2**64", _image(msg_number=2**64), "unusable_key"),
    Message("an image whose trigger is 10**40", _image(trigger=10**40), "unusable_key"),
    Message("an image whose time stamp is text", _image(timestamp="now"), "unusable_key"),
    Message("an image whose time stamp is NaN", _image(timestamp=float("nan")), "unusable_key"),
    Message(
        "an image whose time stamp is 1e999", [text(**IMAGE)[:-1] + b', "timestamp": 1e999}', bytes(NBYTES)],
        "unusable_key",
    ),
    Message("an end that was sent minus one frame", [text(htype="series_end", sent=-1)], "unusable_key"),
    Message(
        "an end that was triggered 10**40 times", [text(htype="series_end", triggered=10**40)], "unusable_key"
    ),
    Message("an end whose losses are a list", [text(htype="series_end", lost=[1])], "unusable_key"),
]  # fmt: skip
"""Messages of which something cannot be used, though the rest can."""


def _packed(unpacked: int, block: int, content: bytes) -> bytes:
    return unpacked.to_bytes(8, "big") + block.to_bytes(4, "big") + content


_BSLZ4 = {"compression": "bslz4"}

FRAMES = [
    BadFrame("no blob", "blob_count", blobs=[]),
    BadFrame("two blobs", "blob_count", blobs=[bytes(NBYTES), bytes(NBYTES)]),
    BadFrame("an empty blob", "blob_length", blobs=[b""]),
    BadFrame("a blob that is one byte short", "blob_length", blobs=[bytes(NBYTES - 1)]),
    BadFrame("a blob that is one byte long", "blob_length", blobs=[bytes(NBYTES + 1)]),
    BadFrame("one blob for three modules", "blob_count", {"shape": [3, 4, 6]}),
    BadFrame("an unknown compression", "unknown_compression", {"compression": "zip"}),
    BadFrame("no name for its compression", "unknown_compression", {"compression": ""}),
    BadFrame("a compression of a megabyte", "unknown_compression", {"compression": "x" * 2**20}),
    BadFrame("an unknown type", "unknown_type", {"type": "mono12p"}),
    BadFrame("a Python object as type", "unknown_type", {"type": "O"}),
    BadFrame("a type of a megabyte", "unknown_type", {"type": "x" * 2**20}),
    BadFrame("a shape without dimensions", "bad_shape", {"shape": []}),
    BadFrame("a shape of four dimensions", "bad_shape", {"shape": [1, 1, 4, 6]}),
    BadFrame("a stack in one blob", "blob_count", {"shape": [2, 2, 6]}),
    BadFrame("a spectrum of another length", "blob_length", {"shape": [23]}),
    BadFrame("complex pixels", "unknown_type", {"type": "complex64"}),
    BadFrame("a shape of ten dimensions", "bad_shape", {"shape": [1] * 10}),
    BadFrame("a shape of a hundred thousand dimensions", "bad_shape", {"shape": [1] * 100_000}),
    BadFrame("a shape with a zero", "bad_shape", {"shape": [0, 6]}, [b""]),
    BadFrame("a negative shape", "bad_shape", {"shape": [-4, -6]}),
    BadFrame("a shape of 2**62 pixels", "too_large", {"shape": [2**31, 2**31]}),
    BadFrame("a shape of 10**60 pixels", "too_large", {"shape": [10**30, 10**30]}),
    BadFrame("a packed blob without a header", "blob_length", _BSLZ4, [b"\0" * 11]),
    BadFrame("a packed bomb of 2**63 bytes", "blob_header", _BSLZ4, [_packed(2**63, 8192, bytes(60))]),
    BadFrame("a packed blob of another frame size", "blob_header", _BSLZ4, [_packed(64, 8192, bytes(60))]),
    BadFrame("a packed blob of odd blocks", "blob_header", _BSLZ4, [_packed(NBYTES, 13, bytes(60))]),
    BadFrame(
        "a packed blob that was cut", "blob_length", _BSLZ4, [_packed(NBYTES, 8192, b"\0\0\0\x30" + bytes(9))]
    ),
    BadFrame(  # 48 bytes fit into 48 + 48 // 255 + 16 = 64 at worst
        "a packed block that is longer than LZ4 makes one",
        "blob_length",
        _BSLZ4,
        [_packed(NBYTES, 8192, b"\0\0\0\x41" + bytes(65))],
    ),
    BadFrame("a packed blob of nothing", "blob_length", _BSLZ4, [_packed(NBYTES, 8192, b"")]),
    BadFrame(
        "a packed blob whose block claims 4 GB", "blob_length", _BSLZ4, [_packed(NBYTES, 0, b"\xff" * 60)]
    ),
]

CHANGES = [
    BadFrame("another shape", "format_changed", {"shape": [6, 4]}),
    BadFrame("another type", "format_changed", {"type": "int16"}),
    BadFrame("another compression", "format_changed", _BSLZ4, [_packed(NBYTES, 8192, b"\0\0\0\x01\x00")]),
]
"""Sound frames, but not of the format of the series among whose frames they come."""

CHECKSUMS = BadFrame("a checksum that is wrong", "checksum", {"checksums": ["00000000"]}, [b"\1" * NBYTES])
"""Wrong only in a series that has announced crc32."""

NUMBERS = [-1, -(2**63), 5, 10_000, 2**31, 2**63 - 1]
"""Frame numbers that are out of range in a series of 5 frames."""

STARTS = [
    BadStart("frames of ten dimensions", "bad_shape", {"shape": [1] * 10, "type": TYPE}),
    BadStart("frames of no pixels", "bad_shape", {"shape": [0, 0], "type": TYPE}),
    BadStart("frames of 2**62 pixels", "too_large", {"shape": [2**31, 2**31], "type": TYPE}),
    BadStart("frames of unknown type", "unknown_type", {"shape": list(SHAPE), "type": "complex512"}),
]

LARGE_STARTS = [
    BadStart(
        "plain frames of 1.6 GB",
        "over_memory",
        {"shape": [20_000, 20_000], "type": "uint32", "compression": "none"},
    ),
    BadStart("frames of 2**53 bytes", "over_memory", {"frame_bytes": 2**53 - 1}),
]
"""They announce what may be, but not in a receiver whose `memory_mb` is that of the default."""


@dataclass(frozen=True)
class BadLayout:
    """Two modules of `SHAPE` that make an image as no receiver shall; `keys` stand in both start messages."""

    name: str
    metadata: dict[str, Any]
    keys: dict[str, Any] = field(default_factory=dict)
    begins: bool = False
    """Whether the start messages say nothing of it, so that only the frames are refused."""


_WIDE = {"full_shape": [15_000, 15_000]}
_ANNOUNCED = {"shape": list(SHAPE), "type": TYPE, "compression": "none", "frame_bytes": NBYTES}

LAYOUTS = [
    BadLayout("an image of 0.5 GB", _WIDE, _ANNOUNCED),
    BadLayout("an image of 0.5 GB, as the first frame shows", _WIDE, begins=True),
    BadLayout(
        "a pixel mask of 2 GB",
        {**_WIDE, "pixel_mask": [[0] * SHAPE[1]] * SHAPE[0], "flatfield": [[1.0] * SHAPE[1]] * SHAPE[0]},
        _ANNOUNCED,
    ),
]
"""For a receiver that assembles, and may take 1 GB."""


def _link(root: Path) -> str:
    target = root.parent / "outside"
    target.mkdir(exist_ok=True)
    if not (root / "way-out").is_symlink():
        os.symlink(target, root / "way-out")
    return str(root / "way-out" / "x.h5")


def _folder(root: Path) -> str:
    (root / "folder").mkdir(exist_ok=True)
    return str(root / "folder")


def _below_a_file(root: Path) -> str:
    (root / "a-file").touch()
    return str(root / "a-file" / "x.h5")


NAMES = [
    BadName("a way up", "outside_data_root", lambda root: f"{root}/../x.h5"),
    BadName("a long way up", "outside_data_root", lambda root: f"{root}/a/b/../../../../../../etc/cron.d/x"),
    BadName("a relative name", "not_absolute", lambda root: "x.h5"),
    BadName("a relative way up", "not_absolute", lambda root: "../../x.h5"),
    BadName("a URL", "not_absolute", lambda root: "file:///tmp/x.h5"),
    BadName("a home folder", "not_absolute", lambda root: "~/x.h5"),
    BadName("a folder outside", "outside_data_root", lambda root: "/etc/x.h5"),
    BadName("a folder whose name begins like the root's", "outside_data_root", lambda root: f"{root}-2/x.h5"),
    BadName("the root itself", "is_a_folder", lambda root: str(root)),
    BadName("the root of everything", "outside_data_root", lambda root: "/"),
    BadName("a device", "outside_data_root", lambda root: "/dev/null"),
    BadName("a file of the kernel", "outside_data_root", lambda root: "/proc/self/mem"),
    BadName(
        "the receiver's own folder by way of the kernel", "outside_data_root", lambda root: "/proc/self/cwd/x"
    ),
    BadName("a link out of the root", "outside_data_root", _link),
    BadName("a folder", "is_a_folder", _folder),
    BadName("a name that ends as a folder's", "is_a_folder", lambda root: f"{root}/x/"),
    BadName("a folder below a file", "not_a_folder", _below_a_file),
    BadName("control characters", "bad_filename", lambda root: f"{root}/x\n\x1b[31m.h5"),
    BadName("a NUL in it", "bad_filename", lambda root: f"{root}/x.h5\0.txt"),
    BadName("a name of 300 letters", "bad_filename", lambda root: f"{root}/{'x' * 300}.h5"),
]

METADATA: dict[str, dict[str, Any]] = {
    "values of null": {"exptime": None, "label": None, "nested": {"none": None}},
    "mixed lists": {"mixed": [1, "two", None, {"three": 3}, [4]], "ragged": [[1, 2], [3]]},
    "ten thousand keys": {f"key {number}": number for number in range(10_000)},
    "keys that are paths": {"a/b/c": 1, "/entry/data": 2, "../../x": 3, ".": 4, "..": 5, "": 6, "a\0b": 7},
    "keys that are places of ours": {
        "data": [1, 2],
        "frame_status": "x",
        "series": 1,
        "trigger": {},
        "timestamp": None,
        "header": 3,
    },
    "the wrong types for known keys": {"exptime": [1, "a"], "pixel_mask": "x", "beam_center_x": {"a": 1}},
    "numbers that nothing holds": {"big": 10**30, "bigger": -(10**400), "small": -(2**63)},
    "text with NUL": {"label": "a\0b", "list": ["a\0", "b"]},
    "deep nesting": json.loads('{"a":' * 300 + "1" + "}" * 300),
    "empty things": {"list": [], "object": {}, "text": "", "nested": [[], []]},
    "a saturation that no number holds": {"saturation_value": 10**400},
    "save_raw of another type": {"save_raw": "no"},
}
"""Legal metadata, by what is odd about it: the series is taken, the file opens."""

_SOURCE = "source: {endpoints: ['tcp://127.0.0.1:9999']}"


def _entry(text: str) -> str:
    return f"receivers: {{sim-1: {{{text}}}}}"


CONFIGS = [
    BadConfig("an empty file", "", 'begins with "receivers:"'),
    BadConfig("a list", "- receivers", 'begins with "receivers:"'),
    BadConfig("not YAML", "receivers: {sim-1: [", "is not YAML"),
    BadConfig("a Python object", "receivers: !!python/object/apply:os.system ['true']", "is not YAML"),
    BadConfig("an unknown key at the top", "receiver: {}\nreceivers: {}", 'no setting "receiver"'),
    BadConfig("an unknown key", _entry(f"{_SOURCE}, data_root: /tmp, datroot: /x"), 'no setting "datroot"'),
    BadConfig(
        "an unknown key of the source", _entry("source: {endpoint: 'tcp://h:1'}, data_root: /"), "endpoint"
    ),
    BadConfig("no data root", _entry(_SOURCE), "data_root is missing"),
    BadConfig("a relative data root", _entry(f"{_SOURCE}, data_root: data"), "give an absolute path"),
    BadConfig(
        "one module to join",
        _entry("source: {endpoints: ['tcp://h:1'], join: modules}, data_root: /"),
        "at least two",
    ),
    BadConfig(
        "a module twice",
        _entry("source: {endpoints: ['tcp://h:1', 'tcp://h:1'], join: modules}, data_root: /"),
        "all different",
    ),
    BadConfig(
        "modules over several sockets",
        _entry("source: {endpoints: ['tcp://h:1', 'tcp://h:2'], join: modules, sockets: 2}, data_root: /"),
        "one socket per endpoint",
    ),
    BadConfig(
        "a DECTRIS stream V1 over several sockets",
        _entry("source: {type: dectris-v1, endpoints: ['tcp://h:1'], sockets: 2}, data_root: /"),
        "sockets is 2; messages of a dectris-v1 stream have no numbers",
    ),
    BadConfig(
        "a DECTRIS stream V2 over several sockets",
        _entry("source: {type: dectris-v2, endpoints: ['tcp://h:1'], sockets: 2}, data_root: /"),
        "sockets is 2; messages of a dectris-v2 stream have no numbers",
    ),
    BadConfig(
        "no modules to assemble",
        _entry(f"{_SOURCE}, data_root: /, transforms: [{{type: assemble}}]"),
        "source.join",
    ),
    BadConfig("no endpoint", _entry("source: {endpoints: []}, data_root: /tmp"), "endpoints"),
    BadConfig(
        "an endpoint without a port",
        _entry("source: {endpoints: ['tcp://h']}, data_root: /tmp"),
        'source.endpoints[0] is "tcp://h"; give "tcp://HOST:PORT"',
    ),
    BadConfig(
        "an endpoint that is a URL", _entry("source: {endpoints: ['http://h:1']}, data_root: /"), "endpoints"
    ),
    BadConfig("endpoints as text", _entry("source: {endpoints: 'tcp://h:1'}, data_root: /tmp"), "endpoints"),
    BadConfig(
        "an unknown source", _entry("source: {type: epics, endpoints: ['tcp://h:1']}, data_root: /"), "type"
    ),
    BadConfig(
        "no sockets", _entry("source: {sockets: 0, endpoints: ['tcp://h:1']}, data_root: /tmp"), "sockets"
    ),
    BadConfig("a number as text", _entry(f"{_SOURCE}, data_root: /tmp, idle_limit: soon"), "idle_limit"),
    BadConfig("a negative time", _entry(f"{_SOURCE}, data_root: /tmp, peer_gone: -1"), "peer_gone"),
    BadConfig("a time without end", _entry(f"{_SOURCE}, data_root: /tmp, idle_limit: .inf"), "idle_limit"),
    BadConfig(
        "a time that is no number", _entry(f"{_SOURCE}, data_root: /tmp, idle_limit: .nan"), "idle_limit"
    ),
    BadConfig("an unknown policy", _entry(f"{_SOURCE}, data_root: /tmp, gap: {{policy: ignore}}"), "policy"),
    BadConfig(
        "an address without a port", _entry(f"{_SOURCE}, data_root: /tmp, http: localhost"), "HOST:PORT"
    ),
    BadConfig(
        "a port that is text", _entry(f"{_SOURCE}, data_root: /tmp, http: 'localhost:http'"), "HOST:PORT"
    ),
    BadConfig("a port of 70000", _entry(f"{_SOURCE}, data_root: /tmp, http: 'localhost:70000'"), "HOST:PORT"),
    BadConfig(
        "two consumers of one name",
        _entry(
            f"{_SOURCE}, data_root: /tmp, forward: [{{name: a, endpoint: 'tcp://h:1'}},"
            " {name: a, endpoint: 'tcp://h:2'}]"
        ),
        "names of their own",
    ),
    BadConfig(
        "an unknown field in the template",
        _entry(f"{_SOURCE}, data_root: /tmp, filename_template: '{{scan}}.h5'"),
        "filename_template",
    ),
    BadConfig(
        "a template without an end",
        _entry(f"{_SOURCE}, data_root: /tmp, filename_template: '{{series'"),
        "filename_template",
    ),
    BadConfig(
        "a template that looks inside",
        _entry(f"{_SOURCE}, data_root: /tmp, filename_template: '{{series.x}}'"),
        "filename_template",
    ),
]
