"""The light streamer: sends the CBF files that DECTRIS' camserver writes to Penstock's receiver.

This one file runs on a PILATUS3's control unit, beside camserver: Python 3.6 or newer and pyzmq, nothing
of Penstock. camserver writes one file per frame into a folder on a RAM disk. Each file of the running series
is sent undecoded in STINS, and removed once ZeroMQ has sent it; whatever waits stays a file. The remote
interface is a ROUTER socket that takes requests in JSON, {"op": "status", "id": 1}, and answers
{"id": 1, "ok": ...} or {"id": 1, "refused": {"kind": ..., "message": ...}}. One thread does everything.

examples:
  python3 light_streamer.py --folder /dev/shm/penstock
  python3 light_streamer.py --folder /ramdisk/penstock --data tcp://10.0.0.5:9999 --control tcp://10.0.0.5:9998

When ready it prints one line of JSON: its endpoints and its process id. It logs to standard error, and ends
on SIGTERM, Ctrl-C or the request shutdown; a running series gets its end message first.
"""

import argparse
import ctypes
import json
import logging
import mmap
import os
import platform
import re
import shutil
import signal
import socket
import struct
import sys
import time
from collections import deque
from typing import Any, Deque, Dict, List, Optional, Set, Tuple

try:
    import zmq
    from zmq.utils.monitor import recv_monitor_message
except ImportError:
    sys.exit("light streamer: pyzmq is missing; install it: python3 -m pip install pyzmq")

VERSION = "2.0"
"""Version of the remote interface; a client needs the same first number."""
PREFIX = re.compile(r"penstock[A-Za-z0-9-]*")
OWN_FILE = re.compile(PREFIX.pattern + r"(_\d+)?\.cbf")
"""Names that the files of a series may have: nobody else's are ever sent or removed."""

START_PATIENCE = 0.7
"""Seconds for the start message, since a client waits for the answer."""
ABORT_PATIENCE = 0.3
"""Seconds for the end message after an abort."""
NOBODY_PATIENCE = 5.0
"""Seconds that an ending series waits for a receiver to connect again, unless `begin` has more."""
STALLED_PATIENCE = 30.0
"""Seconds that an ending series waits for a connected receiver that takes nothing."""
GROWTH_PATIENCE = 5.0
"""Seconds without growth after which an incomplete file is lost."""
ABSENT_PATIENCE = 2.0
"""Seconds that a finished series waits for the next of its files to appear."""
REMOVE_SECONDS = 0.02
"""Seconds of a step for removing unwanted files: gigabytes of them take seconds, and requests wait."""
LOOK_AGAIN = 0.05
"""Seconds between two looks at incomplete files."""
TELL_EVERY = 10.0
"""Seconds between two lines of the log about frames that wait."""

log = logging.getLogger("light streamer")


class Refused(Exception):
    """A request is refused: a short stable kind, and a sentence."""


# The folder -------------------------------------------------------------------------------------------------

IN_CLOSE_WRITE, IN_MOVED_TO, IN_ONLYDIR = 0x8, 0x80, 0x1000000
IN_DELETE_SELF, IN_MOVE_SELF, IN_Q_OVERFLOW = 0x400, 0x800, 0x4000
"""Masks of inotify (linux/inotify.h)."""
EVENT = struct.Struct("iIII")
"""struct inotify_event: watch, mask, cookie, and length of the name that follows."""


class Folder:
    """The folder of the files, watched by inotify. It is made if it is missing (OSError: it cannot be)."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        os.makedirs(self.path, exist_ok=True)
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.descriptor = self._call("inotify_init1", os.O_NONBLOCK | os.O_CLOEXEC)
        mask = IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR
        self._call("inotify_add_watch", self.descriptor, os.fsencode(self.path), mask)
        self.is_there = True

    def news(self) -> List[str]:
        """Return the names of files that have come since the last call, and of all files where inotify has
        lost events. `is_there` becomes false if the folder is gone."""
        names: List[str] = []
        while True:
            try:
                data = os.read(self.descriptor, 65536)
            except BlockingIOError:
                return names
            place = 0
            while place < len(data):
                _, mask, _, length = EVENT.unpack_from(data, place)
                place += EVENT.size + length
                if mask & IN_Q_OVERFLOW:
                    log.warning("inotify lost events: the folder is listed (fs.inotify.max_queued_events)")
                    names += self.list()
                elif mask & (IN_CLOSE_WRITE | IN_MOVED_TO):
                    names.append(os.fsdecode(data[place - length : place].rstrip(b"\0")))
                else:
                    self.is_there = False

    def list(self) -> List[str]:
        """Return the names of all files, sorted; none if the folder is gone."""
        return sorted(os.listdir(self.path)) if self.is_there else []

    def join(self, name: str) -> str:
        return os.path.join(self.path, name)

    def size(self, name: str) -> int:
        """Return the size of a file in bytes; 0 if it is gone."""
        try:
            return os.stat(self.join(name)).st_size
        except OSError:
            return 0

    def remove(self, name: str) -> None:
        """Remove a file, unless it is gone."""
        try:
            os.unlink(self.join(name))
        except FileNotFoundError:
            pass
        except OSError as error:
            log.error("%s cannot be removed: %s; it takes space on the RAM disk", name, error.strerror)

    def _call(self, function: str, *values: Any) -> int:
        result = getattr(self._libc, function)(*values)
        if result < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), self.path)
        return int(result)


# CBF --------------------------------------------------------------------------------------------------------

MARK = b"\x0c\x1a\x04\xd5"
"""Stands between the header of a CBF's binary section and its data (CBFlib manual, "Binary sections")."""
HEADER_BYTES = 16384
"""Bytes in which the mark is looked for; it comes after 2 or 3 kB."""
SIZE = re.compile(rb"X-Binary-Size: *(\d{1,15})\s")
DIMENSION = re.compile(rb"X-Binary-Size-(Fastest|Second)-Dimension: *(\d{1,9})\s")


class Incomplete(Exception):
    """A file does not hold all its data, or cannot be read, as the sentence says."""


class Unlike(Exception):
    """A file has not the rows and columns that were announced, as the sentence says."""

    sentence = "%s has %d rows and %d columns, %d and %d were announced"


def load(path: str, shape: Tuple[int, int]) -> Tuple[bytes, memoryview, float]:
    """Return the header of a file of so many rows and columns, its data, and when it was written.

    Incomplete: it does not hold them all yet; Unlike: they are those of another image.
    """
    try:
        with open(path, "rb", buffering=0) as file:
            facts = os.fstat(file.fileno())
            header, mark, _ = file.read(HEADER_BYTES).partition(MARK)
            size, start = SIZE.search(header), len(header) + len(MARK)
            if not mark or size is None:
                raise Incomplete(f"no header of a CBF in its {facts.st_size} bytes")
            end = start + int(size.group(1))
            if end > facts.st_size:
                raise Incomplete(f"{facts.st_size} of {end} bytes")
            found = {name: int(length) for name, length in DIMENSION.findall(header)}
            has = found.get(b"Second", shape[0]), found.get(b"Fastest", shape[1])
            if has != shape:
                raise Unlike(Unlike.sentence % (os.path.basename(path), *has, *shape))
            # The mapping is the RAM disk's own memory, which ZeroMQ hands to the kernel: no copy. A complete
            # file must not be cut any more: camserver writes no name twice.
            data = memoryview(mmap.mmap(file.fileno(), end, access=mmap.ACCESS_READ))[start:]
            return header, data, facts.st_mtime
    except OSError as error:
        raise Incomplete(error.strerror) from None


# The data socket --------------------------------------------------------------------------------------------

FRAMES_PER_RECEIVER = 64
"""ZeroMQ's high-water mark; with frames of more than 1 MB `--hold-mb` comes first."""
COPIED_BYTES = 65536
"""Smaller blobs are copied."""


class Push:
    """The PUSH socket: it sends whole messages or nothing, and knows its peers, {descriptor: address}."""

    def __init__(self, context: Any, endpoint: str) -> None:
        self.zmq_socket = context.socket(zmq.PUSH)
        # The kernel finds out within a minute that a receiver's host has vanished (TCP_KEEPALIVE). Without a
        # handler ZAP_DOMAIN accepts everybody who speaks ZMTP 3: a browser gets no frames.
        for option, value in (
            (zmq.SNDHWM, FRAMES_PER_RECEIVER), (zmq.LINGER, 1000), (zmq.IPV6, "://[" in endpoint),
            (zmq.TCP_KEEPALIVE, 1), (zmq.TCP_KEEPALIVE_IDLE, 1), (zmq.TCP_KEEPALIVE_INTVL, 6),
            (zmq.TCP_KEEPALIVE_CNT, 9), (zmq.ZAP_DOMAIN, b"penstock"), (zmq.HANDSHAKE_IVL, 3000),
        ):  # fmt: skip
            self.zmq_socket.setsockopt(option, value)
        events = zmq.EVENT_ACCEPTED | zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED
        self.monitor = self.zmq_socket.get_monitor_socket(events)
        self.zmq_socket.bind(endpoint)
        self.endpoint: str = self.zmq_socket.getsockopt_string(zmq.LAST_ENDPOINT)
        self._accepted: Dict[int, str] = {}
        self.peers: Dict[int, str] = {}

    def follow(self) -> None:
        """Take the monitor's events."""
        while self.monitor.poll(0):
            event = recv_monitor_message(self.monitor)
            kind, descriptor = event["event"], event["value"]
            if kind == zmq.EVENT_ACCEPTED:
                self._accepted[descriptor] = address_of(descriptor)
            elif kind == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                # The event does not say whose. A stranger who says nothing is gone after HANDSHAKE_IVL.
                log.info("receiver connected from %s", ", ".join(self._accepted.values()))
                self.peers.update(self._accepted)
                self._accepted.clear()
            elif self._accepted.pop(descriptor, None) is None and descriptor in self.peers:
                log.info("receiver at %s disconnected", self.peers.pop(descriptor))
            # ZeroMQ forgets a lost connection when it is asked; until then it takes messages for it.
            self.zmq_socket.getsockopt(zmq.EVENTS)

    def try_send(self, first: bytes, blob: Optional[memoryview] = None) -> Any:
        """Send a message; `None` if no peer has room. Otherwise return a tracker, which is `done` once ZeroMQ
        does not need the memory of the blob any more."""
        try:
            if not self.peers:
                return None
            self.zmq_socket.send(first, zmq.NOBLOCK if blob is None else zmq.NOBLOCK | zmq.SNDMORE)
        except zmq.Again:
            return None
        if blob is None:
            return zmq.MessageTracker()
        # ZeroMQ takes, or drops, it with the first part.
        large = len(blob) >= COPIED_BYTES
        return self.zmq_socket.send(blob, zmq.NOBLOCK, copy=not large, track=large) or zmq.MessageTracker()


def address_of(descriptor: int) -> str:
    """Return the address of the peer of a connection."""
    try:
        with socket.socket(fileno=os.dup(descriptor)) as twin:
            host, port = twin.getpeername()[:2]
    except OSError:
        return "unknown"
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


# The series -------------------------------------------------------------------------------------------------


class Series:
    """A series and its account; without arguments the one before the first."""

    def __init__(self, **begin: Any) -> None:
        self.id, self.prefix = begin.get("series", ""), begin.get("prefix", "")
        self.planned, self.first = begin.get("planned", 0), begin.get("first", 0)
        self.frames_per_trigger: int = max(1, begin.get("frames_per_trigger", 1))
        self.image: Dict[str, Any] = begin.get("image", {})
        self.shape: Tuple[int, int] = tuple(self.image.get("shape", (0, 0)))
        self.name = re.compile(re.escape(self.prefix) + r"(?:_(\d+))?\.cbf")
        self.appeared: Set[int] = set()
        self.beyond_plan: Set[int] = set()
        self.waiting: Deque[Tuple[int, str, int]] = deque()
        """Frames, names and sizes of files, in the order in which they appeared."""
        self.growing: List[Tuple[int, str, int]] = []
        """Frames, names and sizes of files that were incomplete when they were looked at."""
        self.incomplete: Dict[Tuple[str, str], float] = {}
        """Time since which a file is incomplete, by its name and by what was wrong with it."""
        self.left_over = self.sent = self.triggered = 0
        self.lost: Dict[str, int] = {}
        self.image_header = self.reason = self.message = ""
        """Header of its first image, and why it ends; "" while it has none, or does not."""
        self.dropped = self.end_sent = False
        self.moved, self.away = time.monotonic(), begin.get("receiver_away", 0)
        """Time at which it last made progress (a file appeared or was sent, or it began to end), and
        `receiver_away`."""

    def lose(self, cause: str, sentence: str, count: int = 1) -> None:
        """Count lost frames; the first of each cause is logged."""
        if count > 0:
            if cause not in self.lost:
                log.warning("series %s: lost (%s): %s", self.id, cause, sentence)
            self.lost[cause] = self.lost.get(cause, 0) + count


RUNNING = ("acquiring", "ending")
"""States in which a series is running; the others are "idle" and "fault"."""


class Streamer:
    """Takes the files of one series at a time from the folder to the data socket."""

    def __init__(self, folder: Folder, push: Push, hold_bytes: int) -> None:
        self.folder, self.push, self.hold_bytes = folder, push, hold_bytes
        self.state, self.message, self.msg_number = "idle", "", 0
        self.series = Series()
        self.held: List[Tuple[Any, str, int]] = []
        """Tracker, name and size of files that ZeroMQ has not let go of."""
        self.held_bytes = self.largest_bytes = 0
        self.unwanted: Deque[str] = deque()
        """Files of this or earlier series that will not be sent, and still have to be removed."""
        self.waits, self._looked, self._told = "", 0.0, 0.0
        """How many frames wait where and for whom, "" if none does; when that was looked at, and told."""

    # Requests

    def begin(self, request: Dict[str, Any]) -> None:
        """Remove files of earlier series, and send the start message."""
        prefix, header, old = request["prefix"], request["header"], self.series
        if self.state in RUNNING:
            raise Refused("illegal_state", f"series {old.id} is {self.state}; abort it first")
        if not PREFIX.fullmatch(prefix) or prefix == old.prefix:
            raise Refused("bad_prefix", f"{prefix!r} is the last one again, or not like {PREFIX.pattern}")
        if "filename" not in header or not {"shape", "type"} <= set(request["image"]):
            raise Refused("bad_request", "filename is missing in header, or shape or type in image")
        shape = request["image"]["shape"]
        if not isinstance(shape, list) or [type(length) for length in shape] != [int, int]:
            raise Refused("bad_request", f"shape is {shape!r}, not [rows, columns]")
        series = Series(**request)
        header = dict(header, htype="header", msg_number=self.msg_number, series=series.id)
        series.left_over = self._clear()
        while any(series.name.fullmatch(name) for name in self.unwanted):
            self._remove()  # a restarted client may take the same prefix again
        deadline = time.monotonic() + START_PATIENCE
        while self.push.try_send(encode(header), memoryview(encode(request["metadata"]))) is None:
            self.push.follow()
            if not self.push.peers:
                raise Refused("no_receiver", f"no receiver is connected to {self.push.endpoint}; start it")
            if time.monotonic() > deadline:
                raise Refused("receiver_stalled", f"{self._peers()} takes no start message; is it stuck?")
            self.push.zmq_socket.poll(10, zmq.POLLOUT)
        self.msg_number += 1
        self.series = series
        self._change("acquiring", f"{frames(series.planned or 'all')}, {prefix}_*.cbf, for {self._peers()}")

    def finish(self, request: Dict[str, Any]) -> None:
        """End the series once all in the folder is sent."""
        if self._is_running(request) and not self.series.reason:
            self.series.triggered = min(request["triggered"] or 0, self.series.planned or 2**53)
            self._take(self.folder.list())
            self._end(request["reason"], request["message"])

    def abort(self, request: Dict[str, Any]) -> None:
        """End the series at once: what waits is dropped."""
        if self._is_running(request) and not self.series.dropped:
            self._drop("abort", request["message"] or "aborted")

    def cancel(self, request: Dict[str, Any]) -> None:
        """End a series of which no file has appeared."""
        if self._is_running(request) and self.series.appeared:
            raise Refused("illegal_state", f"series {self.series.id} has frames already; abort it")
        self.abort(request)

    def reset(self, request: Dict[str, Any]) -> None:
        """Leave the state fault, and remove files of earlier series; a running series is aborted."""
        if self.state in RUNNING:
            self._drop("abort", "reset")
        else:
            self._clear()
            self._change("idle", "reset")

    def status(self) -> Dict[str, Any]:
        series, disk = self.series, shutil.disk_usage(self.folder.path)
        return {
            "state": self.state, "message": self.waits or self.message, "series": series.id,
            "planned": series.planned, "triggered": series.triggered, "acquired": len(series.appeared),
            "sent": series.sent, "lost": series.lost, "beyond_plan": len(series.beyond_plan),
            "left_over": series.left_over, "image_header": series.image_header, "end_sent": series.end_sent,
            "waiting": len(series.waiting) + len(series.growing), "held": len(self.held),
            "waiting_bytes": sum(size for _, _, size in series.waiting), "held_bytes": self.held_bytes,
            "largest_bytes": self.largest_bytes, "quiet": round(time.monotonic() - series.moved, 3),
            "peers": len(self.push.peers), "peer_addresses": list(self.push.peers.values()),
            "free_bytes": disk.free, "total_bytes": disk.total,
        }  # fmt: skip

    # Work

    def step(self) -> None:
        """Take, send and remove what there is; called again and again."""
        self.push.follow()
        self._release()
        self._remove()
        names = self.folder.news()
        if self.state in RUNNING:
            self._take(names)
            self._send()
        if self.state == "ending":
            self._finish_if_done()

    def wants(self) -> Tuple[int, int]:
        """Return the event of the data socket to wait for, and the most milliseconds until the next step."""
        # Room for a message is an event only while a frame waits for it: there nearly always is.
        has_to_wait = self.waits and self.push.peers and self.held_bytes < self.hold_bytes
        is_busy = self.held or self.unwanted or self.series.growing or self.state == "ending"
        return zmq.POLLOUT if has_to_wait else 0, 10 if is_busy else 200

    def close(self, message: str) -> None:
        """End a running series as a fault."""
        if self.state in RUNNING:
            self._drop("fault", message)
        while self.state in RUNNING:
            self.step()
            time.sleep(0.01)

    def _take(self, names: List[str]) -> None:
        """Queue the files of the series among these."""
        series = self.series
        for name in names:
            match = series.name.fullmatch(name)
            frame = int(match.group(1) or series.first) - series.first if match else 0
            if match is None or frame in series.appeared:
                continue
            if not 0 <= frame < (series.planned or 2**53):
                if not series.beyond_plan:
                    log.warning("series %s: files beyond the plan, from %s, are not sent", series.id, name)
                series.beyond_plan.add(frame)
            if series.dropped or frame in series.beyond_plan:
                self.folder.remove(name)
                continue
            if not series.appeared:
                log.info("series %s: the first file is %s", series.id, name)
            series.appeared.add(frame)
            series.waiting.append((frame, name, self.folder.size(name)))
            series.moved = time.monotonic()

    def _send(self) -> None:
        """Send what waits, as long as a receiver has room and ZeroMQ does not hold too much."""
        series = self.series
        if series.growing and not series.waiting and time.monotonic() - self._looked > LOOK_AGAIN:
            self._looked = time.monotonic()
            series.waiting.extend(series.growing)
            series.growing = []
        while series.waiting and self.push.peers and self.held_bytes < self.hold_bytes:
            frame, name, _ = series.waiting[0]
            try:
                head, data, written = load(self.folder.join(name), series.shape)
            except Incomplete as error:
                series.waiting.popleft()
                self._wait_for_growth(frame, name, str(error))
                continue
            except Unlike as error:
                self._drop("fault", str(error))
                break
            header = dict(
                series.image, htype="image", msg_number=self.msg_number, frame=frame, compression="cbf",
                series=series.id, trigger=frame // series.frames_per_trigger, timestamp=written,
            )  # fmt: skip
            tracker = self.push.try_send(encode(header), data)
            if tracker is None:
                break
            self.msg_number += 1
            series.image_header = series.image_header or head.decode("latin-1")
            series.waiting.popleft()
            series.sent += 1
            series.moved = time.monotonic()
            self.held.append((tracker, name, len(data)))
            self.held_bytes += len(data)
            self.largest_bytes = max(self.largest_bytes, len(data))
        count, now = len(series.waiting), time.monotonic()
        self.waits = f"{frames(count)} in {self.folder.path} for {self._peers()}" if count else ""
        if not count or now - self._told > TELL_EVERY:
            self._told = now
            if count:
                log.warning("series %s: %s", series.id, self.waits)

    def _wait_for_growth(self, frame: int, name: str, why: str) -> None:
        """Keep an incomplete file, unless it grows no more."""
        series, now = self.series, time.monotonic()
        if now - series.incomplete.setdefault((name, why), now) < GROWTH_PATIENCE:
            series.growing.append((frame, name, self.folder.size(name)))
        else:
            series.lose("incomplete", f"{name}: {why} for {GROWTH_PATIENCE:g} s; is the RAM disk full?")
            self.folder.remove(name)

    def _release(self) -> None:
        """Remove the files that ZeroMQ has let go of."""
        for one in [one for one in self.held if one[0].done]:
            self.held.remove(one)
            self.folder.remove(one[1])
            self.held_bytes -= one[2]

    def _clear(self) -> int:
        """Begin to remove the files of earlier series; return how many there are."""
        wanted = {name for _, name, _ in self.held}.union(self.unwanted)
        found = [name for name in self.folder.list() if OWN_FILE.fullmatch(name) and name not in wanted]
        if found:
            log.warning("removing files of earlier series: %d", len(found))
        self.unwanted.extend(found)
        self._remove()
        return len(found)

    def _remove(self) -> None:
        """Remove unwanted files, for a short time."""
        end = time.monotonic() + REMOVE_SECONDS
        while self.unwanted and time.monotonic() < end:
            self.folder.remove(self.unwanted.popleft())

    def _drop(self, reason: str, message: str, cause: str = "") -> None:
        """End the series without what waits."""
        series = self.series
        series.lose(cause or reason, message, len(series.waiting) + len(series.growing))
        self.unwanted.extend(name for _, name, _ in [*series.waiting, *series.growing])
        series.waiting, series.growing = deque(), []
        series.dropped = True
        self._end(reason, message)

    def _end(self, reason: str, message: str) -> None:
        self.series.reason, self.series.message, self.series.moved = reason, message, time.monotonic()
        self._change("ending", message or reason)

    def _finish_if_done(self) -> None:
        """Send the end message once all frames are sent or lost; give up when nobody takes them."""
        series, quiet = self.series, time.monotonic() - self.series.moved
        patience = STALLED_PATIENCE if self.push.peers else max(NOBODY_PATIENCE, series.away)
        if series.waiting and quiet > patience:
            why = f"{self.waits}, which took none in {patience:g} s: dropped; is the receiver's disk full?"
            self._drop("fault", why, "undelivered")
        absent = series.triggered > len(series.appeared) and not series.dropped and quiet < ABSENT_PATIENCE
        if absent and quiet > ABSENT_PATIENCE / 2:
            self._take(self.folder.list())  # a file that came without an event
        if series.waiting or series.growing or absent or self.unwanted:
            return
        cause = series.reason if series.reason in ("abort", "fault") else "camera"
        series.lose(cause, "no file came", series.triggered - series.sent - sum(series.lost.values()))
        series.triggered = series.sent + sum(series.lost.values())
        end = {
            "htype": "series_end", "msg_number": self.msg_number, "series": series.id, "lost": series.lost,
            "reason": series.reason, "message": series.message, "image_header": series.image_header,
            "triggered": series.triggered, "sent": series.sent,
        }  # fmt: skip
        end = {key: value for key, value in end.items() if value not in ("", {})}
        series.end_sent = self.push.try_send(encode(end)) is not None
        self.msg_number += series.end_sent
        if not series.end_sent and quiet < (ABORT_PATIENCE if series.dropped else patience):
            return
        said = f"{series.message or series.reason}; {series.sent} of {frames(series.triggered)} sent"
        said += "".join(f", {count} lost ({cause})" for cause, count in series.lost.items())
        said += "" if series.end_sent else f"; {self._peers()} took no end message"
        self._change("fault" if series.reason == "fault" else "idle", said)

    def _is_running(self, request: Dict[str, Any]) -> bool:
        """Return whether the series of a request is running; false if it has ended already."""
        if request["series"] != self.series.id:
            raise Refused("other_series", f"{request['series']!r} is not the last series, {self.series.id!r}")
        return self.state in RUNNING

    def _peers(self) -> str:
        peers = ", ".join(self.push.peers.values())
        return f"receiver {peers}" if peers else f"no receiver at {self.push.endpoint}"

    def _change(self, state: str, message: str) -> None:
        log.info("%s -> %s: series %s: %s", self.state, state, self.series.id or "none", message)
        self.state, self.message, self.waits = state, message, ""


def frames(count: Any) -> str:
    return f"{count} frame{'' if count == 1 else 's'}"


def encode(message: Dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


# The remote interface ---------------------------------------------------------------------------------------

MOST_BYTES = 4 * 2**20
"""Most bytes of a request."""
REQUESTS: Dict[str, Dict[str, Any]] = {
    "describe": {}, "status": {}, "reset": {}, "shutdown": {}, "cancel": {"series": str, "message": ""},
    "begin": {"series": str, "prefix": str, "header": dict, "metadata": {}, "image": {}, "planned": 0,
              "first": 0, "frames_per_trigger": 1, "receiver_away": 0},
    "finish": {"series": str, "reason": "complete", "message": "", "triggered": None},
    "abort": {"series": str, "message": ""},
}  # fmt: skip
"""Fields of each request: the type of one that is needed, or the default (`None`: a number)."""


class Control:
    """The ROUTER socket that takes requests."""

    def __init__(self, context: Any, endpoint: str, streamer: Streamer) -> None:
        self.zmq_socket = context.socket(zmq.ROUTER)
        for option, value in ((zmq.IPV6, "[" in endpoint), (zmq.MAXMSGSIZE, MOST_BYTES), (zmq.LINGER, 200)):
            self.zmq_socket.setsockopt(option, value)
        self.zmq_socket.bind(endpoint)
        self.endpoint: str = self.zmq_socket.getsockopt_string(zmq.LAST_ENDPOINT)
        self.ending, self.streamer = False, streamer

    def answer(self) -> None:
        """Answer the requests that have come, at most a hundred."""
        for _ in range(100):
            try:
                identity, *parts = self.zmq_socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            request: Dict[str, Any] = {}
            try:
                read(parts, request)
                answer = {"id": request["id"], "ok": self._do(request)}
            except Exception as error:
                kind, message = error.args if isinstance(error, Refused) else ("internal", repr(error))
                log.warning("%s refused: %s", request.get("op"), message, exc_info=kind == "internal")
                answer = {"id": request.get("id", 0), "refused": {"kind": kind, "message": message}}
            self.zmq_socket.send_multipart([identity, encode(answer)], zmq.NOBLOCK)

    def _do(self, request: Dict[str, Any]) -> Dict[str, Any]:
        streamer, operation = self.streamer, request["op"]
        if operation == "describe":
            return {
                "version": VERSION, "folder": streamer.folder.path, "data_endpoint": streamer.push.endpoint,
                "pid": os.getpid(), "host": socket.gethostname(), "python": platform.python_version(),
                "zmq": zmq.zmq_version(),
            }  # fmt: skip
        self.ending |= operation == "shutdown"
        if operation not in ("status", "shutdown"):
            getattr(streamer, operation)(request)
        return streamer.status()


def read(parts: List[bytes], request: Dict[str, Any]) -> None:
    """Fill in a request, with its defaults, as far as it can be read (Refused: not wholly)."""
    try:
        (part,) = parts
        request.update(json.loads(part.decode()))
        fields = dict(REQUESTS[request["op"]], op=str, id=int)
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        sentence = f"not a request: {repr(error)[:200]}; there are {', '.join(REQUESTS)}"
        raise Refused("bad_request", sentence) from None
    for name in set(request) - set(fields):
        raise Refused("bad_request", f"{request['op']} has no {name!r:.60}")
    for name, default in fields.items():
        kind = default if isinstance(default, type) else int if default is None else type(default)
        value: Any = request.setdefault(name, None if isinstance(default, type) else default)
        fits = 0 <= value < 2**53 if type(value) is int else True
        if value is not default and not (type(value) is kind and fits):
            sentence = f"{request['op']}: {name} has to be {kind.__name__}, not {value!r:.60}"
            raise Refused("bad_request", sentence)


# The process ------------------------------------------------------------------------------------------------


def main() -> int:
    """Serve until told to end; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("--folder", required=True, help="into which camserver writes, on a RAM disk; made if missing")
    add("--data", metavar="ENDPOINT", default="tcp://*:9999", help="for frames (%(default)s)")
    add("--control", metavar="ENDPOINT", default="tcp://*:9998", help="for requests (%(default)s)")
    add("--hold-mb", metavar="N", type=int, default=64, help="most megabytes in ZeroMQ (%(default)s)")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    context, what = zmq.Context(), args.folder
    try:
        folder, what = Folder(args.folder), args.data
        push, what = Push(context, args.data), args.control
        control = Control(context, args.control, Streamer(folder, push, args.hold_mb * 10**6))
    except (OSError, zmq.ZMQError) as error:
        context.destroy(0)
        parser.exit(1, f"light streamer: {what}: {error.strerror}; does one run already? Is it allowed?\n")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: setattr(control, "ending", True))
    print(json.dumps({"control": control.endpoint, "data": push.endpoint, "pid": os.getpid()}), flush=True)
    log.info("version %s: %s to %s, requests at %s", VERSION, folder.path, push.endpoint, control.endpoint)
    poller = zmq.Poller()
    for readable in (folder.descriptor, push.monitor, control.zmq_socket):
        poller.register(readable, zmq.POLLIN)
    why = "the light streamer failed, as its log says"
    try:
        while folder.is_there and not control.ending:
            event, patience = control.streamer.wants()
            poller.register(push.zmq_socket, event)
            poller.poll(patience)
            control.answer()
            control.streamer.step()
        why = "the light streamer was told to end" if control.ending else f"{folder.path} is gone"
    finally:
        log.info("ending: %s", why)
        control.streamer.close(why)
        context.destroy()
    return 0 if folder.is_there else 1


if __name__ == "__main__":
    sys.exit(main())
