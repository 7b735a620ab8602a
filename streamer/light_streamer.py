"""The light streamer: sends the CBF files that DECTRIS' camserver writes to Penstock's receiver.

This one file runs on a PILATUS3's control unit, beside camserver: Python 3.6 or newer and pyzmq, nothing
of Penstock. camserver writes one file per frame into a folder on a RAM disk. Each file of the running series
is sent undecoded in STINS, and removed once ZeroMQ has sent it; whatever waits stays a file. The remote
interface is a ROUTER socket that takes requests in JSON, {"op": "status", "id": 1}, and answers
{"id": 1, "ok": ...} or {"id": 1, "refused": {"kind": ..., "message": ...}}. One thread does everything.
"""

import argparse
import base64
import binascii
import ctypes
import errno
import json
import logging
import mmap
import os
import platform
import re
import signal
import socket
import struct
import sys
import time
from collections import deque
from typing import Any, Deque, Dict, List, NamedTuple, Optional, Set, Tuple

try:
    import zmq
    from zmq.utils.monitor import recv_monitor_message
except ImportError:
    sys.exit(
        "light streamer: pyzmq is missing; python3 -m pip install pyzmq (25.1.2 is the last for Python 3.6)"
    )

VERSION = "1.0"
"""Of the remote interface: a client needs the same first number."""

EXAMPLES = """examples:
  python3 light_streamer.py --folder /dev/shm/penstock
  python3 light_streamer.py --folder /ramdisk/penstock --data tcp://10.0.0.5:9999 --control tcp://10.0.0.5:9998

When ready it prints one line of JSON: its endpoints and its process id. It logs to standard error, and ends
on SIGTERM, Ctrl-C or the request shutdown; a running series gets its end message first."""

OWN_PREFIX = re.compile(r"penstock[A-Za-z0-9-]*")
"""Prefixes of file names that a series may have: nobody else's files are ever sent or removed."""
OWN_FILE = re.compile(r"penstock[A-Za-z0-9-]*(_\d+)?\.cbf")

HOLD_MB = 64
MAX_REQUEST_BYTES = 4 * 2**20
START_PATIENCE = 0.7
"""Seconds for the start message: a client waits for the answer. As in Penstock's other streamers, like the
next three."""
ABORT_PATIENCE = 0.3
"""Seconds for the end message after an abort."""
NOBODY_PATIENCE = 5.0
"""Seconds that an ending series waits for a receiver to connect again."""
STALLED_PATIENCE = 30.0
"""Seconds that an ending series waits for a connected receiver that takes nothing."""
GROWTH_PATIENCE = 5.0
"""Seconds without growth after which an incomplete file is lost."""
ABSENT_PATIENCE = 2.0
"""Seconds that a finished series waits for the next of its images to appear."""
LOOK_AGAIN = 0.05
"""Seconds between two looks at incomplete files."""
TELL_EVERY = 10.0
"""Seconds between two lines of the log about a series that waits."""

log = logging.getLogger("light streamer")


class Refused(Exception):
    """A request was refused, and nothing has changed: a short stable name, and a sentence."""

    def __init__(self, kind: str, message: str) -> None:
        Exception.__init__(self, message)
        self.kind = kind
        self.message = message


def plural(count: int, one: str) -> str:
    """Return "1 image", "2 images"."""
    return "{} {}{}".format(count, one, "" if count == 1 else "s")


# The folder -------------------------------------------------------------------------------------------------

IN_CLOSE_WRITE, IN_MOVED_TO, IN_ONLYDIR = 0x8, 0x80, 0x1000000
IN_DELETE_SELF, IN_MOVE_SELF, IN_UNMOUNT, IN_Q_OVERFLOW, IN_IGNORED = 0x400, 0x800, 0x2000, 0x4000, 0x8000
"""Masks of inotify, from linux/inotify.h."""
EVENT = struct.Struct("iIII")
"""struct inotify_event without its name, whose length comes last."""


class Folder:
    """The folder of the images, watched by inotify."""

    def __init__(self, path: str) -> None:
        """Make the folder if it is missing, and watch it.

        Raises:
            OSError: it cannot be made or watched.
        """
        self.path = os.path.abspath(path)
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.descriptor = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.descriptor < 0:
            raise self._error("inotify")
        self.watched = False
        self.watch()

    def watch(self) -> None:
        """Begin to watch, also a folder that was made anew."""
        os.makedirs(self.path, exist_ok=True)
        mask = IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR
        self._watch = self._libc.inotify_add_watch(self.descriptor, os.fsencode(self.path), mask)
        if self._watch < 0:
            raise self._error(self.path)
        self.watched = True

    def names(self) -> Optional[List[str]]:
        """Return the names of files that have come since the last call; `None` if events were lost, so that
        the folder has to be listed. `watched` becomes false if the folder is gone."""
        names: List[str] = []
        overflown = False
        while True:
            try:
                data = os.read(self.descriptor, 65536)
            except BlockingIOError:
                return None if overflown else names
            place = 0
            while place < len(data):
                watch, mask, _, length = EVENT.unpack_from(data, place)
                place += EVENT.size
                if mask & IN_Q_OVERFLOW:
                    overflown = True
                elif watch == self._watch and mask & (
                    IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED
                ):
                    self.watched = False
                elif watch == self._watch:
                    names.append(os.fsdecode(data[place : place + length].rstrip(b"\0")))
                place += length

    def list(self) -> List[str]:
        """Return the names of all files, sorted; none if the folder is gone."""
        try:
            return sorted(os.listdir(self.path))
        except OSError as error:
            log.error("%s cannot be listed: %s", self.path, error.strerror)
            return []

    def join(self, name: str) -> str:
        return os.path.join(self.path, name)

    def remove(self, name: str) -> None:
        """Remove a file, unless it is gone."""
        try:
            os.unlink(self.join(name))
        except OSError as error:
            if error.errno != errno.ENOENT:
                log.error("%s cannot be removed: %s; it takes space on the RAM disk", name, error.strerror)

    def space(self) -> Tuple[int, int]:
        """Return the free and all bytes of the file system."""
        try:
            facts = os.statvfs(self.path)
        except OSError:
            return 0, 0
        return facts.f_bavail * facts.f_frsize, facts.f_blocks * facts.f_frsize

    def _error(self, what: str) -> OSError:
        number = ctypes.get_errno()
        return OSError(number, os.strerror(number), what)


# CBF --------------------------------------------------------------------------------------------------------

MARK = b"\x0c\x1a\x04\xd5"
"""Stands between the header of a CBF's binary section and its data (CBFlib manual, "Binary sections")."""
HEADER_BYTES = (4096, 65536)
"""Bytes in which the mark is looked for, first and at most; it comes after 2 or 3 kB."""
SIZE = re.compile(rb"X-Binary-Size: *(\d{1,15})\s")
COLUMNS = re.compile(rb"X-Binary-Size-Fastest-Dimension: *(\d{1,9})\s")
ROWS = re.compile(rb"X-Binary-Size-Second-Dimension: *(\d{1,9})\s")
MD5 = re.compile(rb"Content-MD5: *([A-Za-z0-9+/]{22}==)")
EXPOSURE_TIME = re.compile(rb"# *Exposure_time ([0-9.eE+-]+)")


class Image(NamedTuple):
    """An image in a complete file: its data as they lie there, and what its header says of them."""

    data: memoryview
    written: float
    """When the file was written, in seconds since 1970."""
    shape: Optional[List[int]]
    exposure_time: Optional[float]
    md5: Optional[str]


def load(path: str) -> Optional[Image]:
    """Map the data of a CBF file; `None` if it does not hold all of them yet.

    Raises:
        OSError: it cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        facts = os.fstat(descriptor)
        for length in HEADER_BYTES:
            header, found, _ = os.pread(descriptor, length, 0).partition(MARK)
            if found:
                break
        size = SIZE.search(header)
        if not found or size is None:
            return None
        start = len(header) + len(MARK)
        end = start + int(size.group(1))
        if end > facts.st_size:
            return None
        # A mapping is the memory of the RAM disk itself, which ZeroMQ hands to the kernel.
        data = memoryview(mmap.mmap(descriptor, end, access=mmap.ACCESS_READ))[start:]
    finally:
        os.close(descriptor)
    rows, columns = ROWS.search(header), COLUMNS.search(header)
    shape = [int(rows.group(1)), int(columns.group(1))] if rows and columns else None
    exposure, md5 = EXPOSURE_TIME.search(header), MD5.search(header)
    try:
        exposure_time = None if exposure is None else float(exposure.group(1))
    except ValueError:
        exposure_time = None
    digits = None if md5 is None else binascii.hexlify(base64.b64decode(md5.group(1))).decode()
    return Image(data, facts.st_mtime, shape, exposure_time, digits)


# The data socket --------------------------------------------------------------------------------------------

MESSAGES_PER_RECEIVER = 64
"""ZeroMQ's high-water mark; `hold_bytes` comes first for images of 1 MB and more."""
TCP_INFO_RECEIVED = struct.Struct("=128xQ")
"""Number of bytes received in the kernel's struct tcp_info (linux/tcp.h)."""
GREETING = 64
"""Bytes with which ZeroMQ's protocol greets before it shakes hands (RFC 37/ZMTP)."""


class Push:
    """The PUSH socket: it sends whole messages or nothing, and knows its peers."""

    def __init__(self, context: Any, endpoint: str) -> None:
        self.zmq_socket = context.socket(zmq.PUSH)
        for option, value in (
            (zmq.SNDHWM, MESSAGES_PER_RECEIVER),
            (zmq.IPV6, "://[" in endpoint),
            (zmq.LINGER, 1000),
            # The kernel finds out within a minute that a receiver's host has vanished.
            (zmq.TCP_KEEPALIVE, 1),
            (zmq.TCP_KEEPALIVE_IDLE, 1),
            (zmq.TCP_KEEPALIVE_INTVL, 6),
            (zmq.TCP_KEEPALIVE_CNT, 9),
            # Without a handler it accepts everybody, but only peers of ZMTP 3: a browser gets no images.
            (zmq.ZAP_DOMAIN, b"penstock"),
            (zmq.HANDSHAKE_IVL, 3000),
        ):
            self.zmq_socket.setsockopt(option, value)
        self.monitor = self.zmq_socket.get_monitor_socket(
            zmq.EVENT_ACCEPTED | zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED
        )
        self._accepted: Dict[int, str] = {}
        self.peers: Dict[int, str] = {}
        self.zmq_socket.bind(endpoint)
        self.endpoint = self.zmq_socket.getsockopt_string(zmq.LAST_ENDPOINT)

    def follow(self) -> None:
        """Take the monitor's events."""
        while self.monitor.poll(0):
            event = recv_monitor_message(self.monitor)
            kind, descriptor = event["event"], event["value"]
            if kind == zmq.EVENT_ACCEPTED:
                self._accepted[descriptor] = peer_name(descriptor)
            elif kind == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                # The event does not tell whose: the kernel knows who has said more than a greeting.
                for one in [one for one in self._accepted if has_answered(one)]:
                    self.peers[one] = self._accepted.pop(one)
                    log.info("receiver connected from %s", self.peers[one])
            else:
                self._accepted.pop(descriptor, None)
                name = self.peers.pop(descriptor, None)
                if name is not None:
                    log.info("receiver at %s disconnected", name)
            # ZeroMQ forgets a lost connection when it is asked; until then it takes messages for it.
            self.zmq_socket.getsockopt(zmq.EVENTS)

    def try_send(self, first: bytes, second: Any = None) -> Any:
        """Send a message of one or two parts, without a copy of the second; `None` if no peer has room.

        Returns:
            Its tracker: `done` once ZeroMQ needs the second part no more.
        """
        if not self.peers:
            return None
        try:
            if second is None:
                self.zmq_socket.send(first, zmq.NOBLOCK)
                return DONE
            self.zmq_socket.send(first, zmq.NOBLOCK | zmq.SNDMORE)
        except zmq.Again:
            return None
        # ZeroMQ takes, or drops, this part with the first. Small ones are copied and have no tracker.
        return self.zmq_socket.send(second, zmq.NOBLOCK, copy=False, track=len(second) >= 65536) or DONE


class Done:
    """The tracker of a message that ZeroMQ has copied."""

    done = True


DONE = Done()


def peer_name(descriptor: int) -> str:
    """Return host:port of a peer; the monitor itself only knows the local address."""
    try:
        twin = socket.socket(fileno=os.dup(descriptor))
    except OSError:
        return "unknown"
    try:
        name = twin.getpeername()
    except OSError:
        return "unknown"
    finally:
        twin.close()
    return (
        ("[{}]:{}" if ":" in name[0] else "{}:{}").format(*name[:2]) if isinstance(name, tuple) else "local"
    )


def has_answered(descriptor: int) -> bool:
    """Return whether more than a greeting has come; also where the kernel (before 4.1) does not count."""
    try:
        twin = socket.socket(fileno=os.dup(descriptor))
    except OSError:
        return False  # closed meanwhile
    try:
        facts = twin.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_RECEIVED.size)
    except OSError:
        return True  # not TCP
    finally:
        twin.close()
    return len(facts) < TCP_INFO_RECEIVED.size or TCP_INFO_RECEIVED.unpack(facts)[0] > GREETING


# The series -------------------------------------------------------------------------------------------------


class Series:
    """One series and its account."""

    def __init__(self, request: Dict[str, Any]) -> None:
        self.id: str = request["series"]
        self.prefix: str = request["prefix"]
        self.planned: int = request["planned"]
        self.first: int = request["first"]
        self.frames_per_trigger: int = request["frames_per_trigger"]
        self.image: Dict[str, Any] = request["image"]
        self.checked = request["header"].get("checksum") == "md5"
        self.name = re.compile(re.escape(self.prefix) + r"(?:_(\d+))?\.cbf")
        self.appeared: Set[int] = set()
        self.waiting: Deque[Tuple[int, str, int]] = deque()
        """Frames, file names and sizes, in the order in which they appeared."""
        self.growing: Dict[str, Tuple[int, int, float]] = {}
        """Frame, size and time of the last growth of incomplete files."""
        self.beyond_plan = 0
        self.sent = 0
        self.lost: Dict[str, int] = {}
        self.reason = ""
        """Why it ends; "" while it does not."""
        self.dropped = False
        """True once its images are not wanted any more."""
        self.message = ""
        self.triggered: Optional[int] = None
        self.end_sent = False
        self.moved = time.monotonic()
        """When it last made progress: an image appeared or was sent, or it began to end."""

    def lose(self, cause: str, sentence: str, count: int = 1) -> None:
        """Count lost images; the first of each cause is logged."""
        if count > 0:
            if cause not in self.lost:
                log.warning("series %s: lost (%s): %s", self.id, cause, sentence)
            self.lost[cause] = self.lost.get(cause, 0) + count

    def queued(self) -> int:
        return len(self.waiting) + len(self.growing)


class Streamer:
    """Takes the images of one series at a time from the folder to the data socket."""

    def __init__(self, folder: Folder, push: Push, hold_bytes: int) -> None:
        self.folder, self.push, self.hold_bytes = folder, push, hold_bytes
        self.state = "idle"
        self.message = ""
        self.left_over = 0
        self.msg_number = 0
        self.series: Optional[Series] = None
        self.held: List[Tuple[Any, str, int]] = []
        """Tracker, file name and size of what ZeroMQ has not let go of."""
        self.held_bytes = 0
        self.blocked = False
        """True if an image waits because no receiver has room for it, or ZeroMQ holds enough."""
        self._looked = self._told = self._tried = 0.0

    # Requests

    def begin(self, request: Dict[str, Any]) -> None:
        """Remove left-overs and send the start message."""
        if self.state in ("acquiring", "ending"):
            raise Refused("illegal_state", f"series {self._id()} is {self.state}; abort it first")
        prefix = request["prefix"]
        if not OWN_PREFIX.fullmatch(prefix) or (self.series and self.series.prefix == prefix):
            sentence = (
                f"prefix {prefix!r} has to match {OWN_PREFIX.pattern}, and is not that of the last series"
            )
            raise Refused("bad_prefix", sentence)
        if not isinstance(request["header"].get("filename"), str):
            raise Refused(
                "bad_request", 'header: filename is missing; it is a path, or "" for live view only'
            )
        if not self.folder.watched:
            raise Refused("no_folder", f"{self.folder.path} is gone; is the RAM disk mounted?")
        series = Series(request)
        header = dict(request["header"], htype="header", msg_number=self.msg_number, series=series.id)
        left_over = self._remove_left_over()
        deadline = time.monotonic() + START_PATIENCE
        while self.push.try_send(encode(header), encode(request["metadata"])) is None:
            self.push.follow()
            if time.monotonic() > deadline or not self.push.peers:
                self._refuse_start()
            self.push.zmq_socket.poll(10, zmq.POLLOUT)
        self.msg_number += 1
        self.series, self.left_over = series, left_over
        planned = f"{plural(series.planned, 'frame')} planned" if series.planned else "frames until finish"
        self._change("acquiring", f"series {series.id}: {planned}, as {series.prefix}_*.cbf")

    def finish(self, request: Dict[str, Any]) -> None:
        """End the series once everything in the folder is sent."""
        series = self._running(request)
        if series is None or series.reason:
            return
        if request["planned"] is not None:
            series.planned = request["planned"]
        series.triggered = request["triggered"]
        self._take(self.folder.list())
        self._ending(request["reason"] or "complete", request["message"])

    def abort(self, request: Dict[str, Any]) -> None:
        """End the series at once: what waits is dropped."""
        series = self._running(request)
        if series is not None and series.reason not in ("abort", "fault"):
            self._drop("abort", request["message"] or "aborted")

    def cancel(self, request: Dict[str, Any]) -> None:
        """End a series that has no image yet."""
        series = self._running(request)
        if series is not None and series.appeared:
            raise Refused("illegal_state", f"series {series.id} has frames already; abort it")
        if series is not None:
            self._drop("abort", request["message"] or "cancelled")

    def reset(self) -> None:
        """Leave the state fault; a running series is aborted."""
        if self.state in ("acquiring", "ending"):
            self._drop("abort", "reset")
        else:
            self._change("idle", "reset")

    def status(self) -> Dict[str, Any]:
        series, (free, total) = self.series, self.folder.space()
        return {
            "state": self.state,
            "message": self._waits_for() or self.message,
            "warning": "" if self.folder.watched else f"{self.folder.path} is gone",
            "series": self._id(),
            "planned": series.planned if series else 0,
            "triggered": (series.triggered or 0) if series else 0,
            "acquired": len(series.appeared) if series else 0,
            "sent": series.sent if series else 0,
            "lost": series.lost if series else {},
            "beyond_plan": series.beyond_plan if series else 0,
            "left_over": self.left_over,
            "end_sent": series.end_sent if series else False,
            "waiting": series.queued() if series else 0,
            "waiting_bytes": sum(size for _, _, size in series.waiting) if series else 0,
            "quiet": round(time.monotonic() - series.moved, 3) if series else 0.0,
            "held": len(self.held),
            "held_bytes": self.held_bytes,
            "peers": len(self.push.peers),
            "peer_addresses": list(self.push.peers.values()),
            "free_bytes": free,
            "total_bytes": total,
        }

    # Work

    def step(self) -> None:
        """Take, send and remove what there is; called again and again."""
        self.push.follow()
        self._release()
        names = self.folder.names()
        if not self.folder.watched:
            self._watch_again()
        series = self.series
        if series is None or self.state not in ("acquiring", "ending"):
            return
        if names is None:
            log.warning(
                "inotify's queue overflowed: the folder is listed; raise fs.inotify.max_queued_events"
            )
            names = self.folder.list()
        self._take(names)
        if time.monotonic() - self._looked > LOOK_AGAIN:
            self._look_again(series)
        self._send(series)
        if self.state == "ending":
            self._finish_if_done(series)

    def close(self) -> None:
        """End a running series as a fault, and wait a second for what ZeroMQ holds."""
        if self.state in ("acquiring", "ending"):
            self._drop("fault", "the light streamer was told to end")
            while self.state == "ending":
                self.step()
                time.sleep(0.01)
        self.push.zmq_socket.disable_monitor()
        self.push.zmq_socket.close()

    def wants_room(self) -> bool:
        """Return whether an image waits for room at a receiver."""
        return bool(self.blocked and self.push.peers and self.held_bytes < self.hold_bytes)

    def busy(self) -> bool:
        """Return whether something has to be looked at again soon without any event."""
        return bool(self.held or self.state == "ending" or (self.series and self.series.growing))

    def _take(self, names: List[str]) -> None:
        """Queue new images of the series, by their names."""
        series = self.series
        assert series is not None
        for name in names:
            match = series.name.fullmatch(name)
            if match is None:
                continue
            frame = int(match.group(1) or series.first) - series.first
            if series.dropped:
                self.folder.remove(name)
                continue
            if frame in series.appeared:
                continue
            if frame < 0 or 0 < series.planned <= frame:
                series.beyond_plan += 1
                log.warning("series %s: %s is beyond the plan and is not sent", series.id, name)
                self.folder.remove(name)
                continue
            if not series.appeared:
                log.info("series %s: the first file is %s", series.id, name)
            series.appeared.add(frame)
            series.waiting.append((frame, name, size_of(self.folder.join(name))))
            series.moved = time.monotonic()

    def _look_again(self, series: Series) -> None:
        """Queue incomplete files that are whole now, and give up those that do not grow any more."""
        now = self._looked = time.monotonic()
        for name, (frame, size, since) in list(series.growing.items()):
            path = self.folder.join(name)
            grown = size_of(path)
            try:
                whole = load(path) is not None
            except (OSError, ValueError):
                whole = True  # sending it tells what is wrong
            if whole:
                del series.growing[name]
                series.waiting.append((frame, name, grown))
            elif grown != size:
                series.growing[name] = frame, grown, now
            elif now - since > GROWTH_PATIENCE:
                del series.growing[name]
                sentence = "{} is no whole CBF: {} bytes, no growth in {:g} s; is the RAM disk full?"
                series.lose("incomplete", sentence.format(name, size, GROWTH_PATIENCE))
                self.folder.remove(name)

    def _send(self, series: Series) -> None:
        """Send what waits, as far as receivers have room and ZeroMQ does not hold too much."""
        self.blocked = False
        while series.waiting:
            frame, name, size = series.waiting[0]
            if self.held_bytes >= self.hold_bytes or not self.push.peers:
                self.blocked = True
                break
            try:
                image = load(self.folder.join(name))
            except (OSError, ValueError) as error:
                series.waiting.popleft()
                series.lose("unreadable", f"{name}: {error}")
                self.folder.remove(name)
                continue
            if image is None:
                series.waiting.popleft()
                series.growing[name] = frame, size, time.monotonic()
                continue
            tracker = self.push.try_send(self._header(series, frame, image), image.data)
            if tracker is None:
                self.blocked = True
                break
            self.msg_number += 1
            series.waiting.popleft()
            series.sent += 1
            series.moved = time.monotonic()
            self.held.append((tracker, name, len(image.data)))
            self.held_bytes += len(image.data)
        if self.blocked and time.monotonic() - max(self._told, series.moved) > TELL_EVERY:
            self._told = time.monotonic()
            log.warning("series %s: %s", series.id, self._waits_for())

    def _header(self, series: Series, frame: int, image: Image) -> bytes:
        header = dict(
            series.image, htype="image", msg_number=self.msg_number, frame=frame, compression="cbf",
            series=series.id, trigger=frame // series.frames_per_trigger, timestamp=image.written,
        )  # fmt: skip
        if image.shape is not None:
            header["shape"] = image.shape
        if image.exposure_time is not None:
            header["exposure_time"] = image.exposure_time
        if series.checked and image.md5 is not None:
            header["checksums"] = [image.md5]
        return encode(header)

    def _release(self) -> None:
        """Remove the files that ZeroMQ has let go of."""
        if not any(tracker.done for tracker, _, _ in self.held):
            return
        held = []
        for one in self.held:
            tracker, name, size = one
            if tracker.done:
                self.folder.remove(name)
                self.held_bytes -= size
            else:
                held.append(one)
        self.held = held

    def _ending(self, reason: str, message: str) -> None:
        series = self.series
        assert series is not None
        series.reason, series.message, series.moved = reason, message, time.monotonic()
        self._change("ending", f"series {series.id}: {message or reason}")

    def _drop(self, reason: str, message: str, cause: str = "") -> None:
        """End the series without what waits."""
        series = self.series
        assert series is not None
        names = [name for _, name, _ in series.waiting] + list(series.growing)
        series.lose(cause or reason, message, len(names))
        series.waiting.clear()
        series.growing.clear()
        series.dropped = True
        for name in names:
            self.folder.remove(name)
        self._ending(reason, message)

    def _finish_if_done(self, series: Series) -> None:
        """Send the end message once all images are sent or lost; give up when nobody takes them."""
        quiet = time.monotonic() - series.moved
        if series.waiting:
            if quiet > self._patience():
                counts = f"{series.queued()} of {plural(len(series.appeared), 'frame')} dropped"
                sentence = (
                    f"no receiver took frames any more: {counts}; is it running, and its disk not full?"
                )
                self._drop("fault", sentence, "undelivered")
            return
        if series.growing:
            return
        orderly = series.reason not in ("abort", "fault")
        missing = (series.triggered or 0) - len(series.appeared) - series.beyond_plan
        if orderly and missing > 0 and quiet < ABSENT_PATIENCE:
            self._take(self.folder.list() if quiet > ABSENT_PATIENCE / 2 else [])
            return
        sent_or_lost = series.sent + sum(series.lost.values())
        triggered = max(series.triggered or 0, sent_or_lost)
        series.lose("camera" if orderly else series.reason, "no file came", triggered - sent_or_lost)
        end: Dict[str, Any] = {
            "htype": "series_end", "msg_number": self.msg_number, "series": series.id,
            "reason": series.reason, "triggered": triggered, "sent": series.sent,
        }  # fmt: skip
        end.update(
            {key: value for key, value in (("message", series.message), ("lost", series.lost)) if value}
        )
        series.end_sent = self.push.try_send(encode(end)) is not None
        if series.end_sent:
            self.msg_number += 1
        elif quiet < (self._patience() if orderly else ABORT_PATIENCE):
            return
        else:
            log.error("series %s: no receiver took the end message", series.id)
        series.triggered = triggered
        counts = "{} sent, {} lost {}".format(series.sent, sum(series.lost.values()), series.lost or "")
        self._change(
            "fault" if series.reason == "fault" else "idle",
            f"series {series.id} ended ({series.message or series.reason}): {counts.rstrip()}",
        )

    def _watch_again(self) -> None:
        """Watch the folder again that is gone, once it can be made; a running series has lost its files."""
        sentence = f"{self.folder.path} is gone, or moved; is the RAM disk mounted?"
        if self.state == "acquiring":
            self._drop("fault", sentence)
        if time.monotonic() - self._tried > 1.0:
            self._tried = time.monotonic()
            try:
                self.folder.watch()
                log.info("%s is watched again", self.folder.path)
            except OSError as error:
                log.error("%s: %s", sentence, error)

    def _remove_left_over(self) -> int:
        """Remove images of earlier series; return their number."""
        held = {name for _, name, _ in self.held}
        names = [name for name in self.folder.list() if OWN_FILE.fullmatch(name) and name not in held]
        for name in names:
            self.folder.remove(name)
        if names:
            log.warning(
                "removed left-over files of earlier series: %d, from %s to %s",
                len(names),
                names[0],
                names[-1],
            )
        return len(names)

    def _refuse_start(self) -> None:
        peers = ", ".join(self.push.peers.values())
        if peers:
            sentence = "receiver {} took no start message in {:g} s; is it still busy, or stuck?"
            raise Refused("receiver_stalled", sentence.format(peers, START_PATIENCE))
        sentence = "no receiver is connected to {}; start one whose source has this endpoint"
        raise Refused("no_receiver", sentence.format(self.push.endpoint))

    def _waits_for(self) -> str:
        """Return how many images wait, and for whom; "" if none does."""
        if not self.blocked or self.series is None or not self.series.waiting:
            return ""
        waiting = plural(self.series.queued(), "frame") + " in the folder"
        if not self.push.peers:
            return f"{waiting}, for no receiver is connected to {self.push.endpoint}"
        return "{}, for receiver {}, which takes them too slowly".format(
            waiting, ", ".join(self.push.peers.values())
        )

    def _patience(self) -> float:
        return STALLED_PATIENCE if self.push.peers else NOBODY_PATIENCE

    def _running(self, request: Dict[str, Any]) -> Optional[Series]:
        """Return the series of a request; `None` if it has ended already."""
        if self.series is None or request["series"] != self.series.id:
            raise Refused(
                "other_series",
                "series {!r} is unknown; {!r} is the last".format(request["series"], self._id()),
            )
        return self.series if self.state in ("acquiring", "ending") else None

    def _id(self) -> str:
        return self.series.id if self.series else ""

    def _change(self, state: str, message: str) -> None:
        log.log(
            logging.ERROR if state == "fault" else logging.INFO, "%s -> %s: %s", self.state, state, message
        )
        self.state, self.message, self.blocked = state, message, False


def encode(message: Dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


def size_of(path: str) -> int:
    """Return the size of a file; 0 if it is gone."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


# The remote interface ---------------------------------------------------------------------------------------

NEEDED = object()
SERIES: Dict[str, Tuple[Any, Any]] = {"series": (str, NEEDED), "message": (str, "")}
REQUESTS: Dict[str, Dict[str, Tuple[Any, Any]]] = {
    "describe": {},
    "status": {},
    "begin": {
        "series": (str, NEEDED), "prefix": (str, NEEDED), "header": (dict, NEEDED), "metadata": (dict, {}),
        "image": (dict, {}), "planned": (int, 0), "first": (int, 0), "frames_per_trigger": (int, 1),
    },
    "finish": dict(SERIES, reason=(str, "complete"), triggered=(int, None), planned=(int, None)),
    "abort": SERIES,
    "cancel": SERIES,
    "reset": {},
    "shutdown": {},
}  # fmt: skip
"""Fields by request: type, and default unless needed."""


class Control:
    """The ROUTER socket that takes requests."""

    def __init__(self, context: Any, endpoint: str, streamer: Streamer) -> None:
        self.zmq_socket = context.socket(zmq.ROUTER)
        self.zmq_socket.setsockopt(zmq.LINGER, 200)
        self.zmq_socket.setsockopt(zmq.IPV6, "://[" in endpoint)
        self.zmq_socket.setsockopt(zmq.MAXMSGSIZE, MAX_REQUEST_BYTES)
        self.zmq_socket.bind(endpoint)
        self.endpoint = self.zmq_socket.getsockopt_string(zmq.LAST_ENDPOINT)
        self.ending = False
        self._streamer = streamer

    def answer(self) -> None:
        """Answer the requests that have come, at most a hundred."""
        for _ in range(100):
            try:
                identity, *parts = self.zmq_socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            request: Dict[str, Any] = {}
            try:
                request = parse(parts)
                answer = {"id": request["id"], "ok": self._do(request)}
            except Refused as refused:
                log.warning("refused %s: %s", request.get("op", "a request"), refused.message)
                reason = {"kind": refused.kind, "message": refused.message}
                answer = {"id": id_of(parts), "refused": reason}
            self.zmq_socket.send_multipart([identity, encode(answer)], zmq.NOBLOCK)

    def _do(self, request: Dict[str, Any]) -> Dict[str, Any]:
        streamer, op = self._streamer, request["op"]
        if op == "describe":
            return {
                "version": VERSION, "folder": streamer.folder.path, "data_endpoint": streamer.push.endpoint,
                "pid": os.getpid(), "host": socket.gethostname(), "python": platform.python_version(),
                "zmq": zmq.zmq_version(),
            }  # fmt: skip
        if op == "shutdown":
            self.ending = True
        elif op == "reset":
            streamer.reset()
        elif op != "status":
            getattr(streamer, op)(request)
        return streamer.status()


def parse(parts: List[bytes]) -> Dict[str, Any]:
    """Return a request with all its fields.

    Raises:
        Refused: it is none.
    """
    if len(parts) != 1:
        raise Refused("bad_request", f"a request has one part, this has {len(parts)}")
    try:
        given = json.loads(parts[0].decode())
        operation, ident = given.pop("op"), given.pop("id")
        fields = REQUESTS[operation]
        if not isinstance(ident, int) or not 0 <= ident < 2**53:
            raise ValueError(f"id is {ident!r}")
    except (ValueError, AttributeError, LookupError, TypeError, RecursionError) as error:
        sentence = f"not a request: {repr(error)[:200]}; there are {', '.join(REQUESTS)}"
        raise Refused("bad_request", sentence) from None
    request = {"op": operation, "id": ident}
    for name, (kind, default) in fields.items():
        value = given.pop(name, default)
        if value is not default and (not isinstance(value, kind) or isinstance(value, bool)):
            raise Refused("bad_request", f"{operation}: {name} has to be {kind.__name__}")
        if value is NEEDED:
            raise Refused("bad_request", f"{operation}: {name} is missing")
        if kind is int and value is not None and not (name == "frames_per_trigger") <= value < 2**53:
            raise Refused("bad_request", f"{operation}: {name} is {value}")
        request[name] = value
    if given:
        raise Refused("bad_request", "{} has no {}".format(operation, ", ".join(map(str, given))[:200]))
    return request


def id_of(parts: List[bytes]) -> int:
    """Return the id of a request that is refused, 0 if it has none."""
    try:
        ident = json.loads(parts[0].decode())["id"]
        return ident if isinstance(ident, int) and 0 <= ident < 2**53 else 0
    except (ValueError, LookupError, TypeError, RecursionError):
        return 0


# The process ------------------------------------------------------------------------------------------------


def main(argv: Optional[List[str]] = None) -> int:
    """Serve until told to end; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--folder", required=True, help="folder on a RAM disk into which camserver writes; made if missing"
    )
    parser.add_argument("--data", metavar="ENDPOINT", default="tcp://*:9999", help="for frames (%(default)s)")
    parser.add_argument(
        "--control", metavar="ENDPOINT", default="tcp://*:9998",
        help="for requests (%(default)s); only for trusted networks",
    )  # fmt: skip
    parser.add_argument(
        "--hold-mb", metavar="N", type=int, default=HOLD_MB,
        help="most megabytes that are handed to ZeroMQ at a time (%(default)s); the rest waits as files",
    )  # fmt: skip
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    context, endpoint = zmq.Context(), args.data
    try:
        folder = Folder(args.folder)
        push = Push(context, endpoint)
        streamer = Streamer(folder, push, args.hold_mb * 10**6)
        endpoint = args.control
        control = Control(context, endpoint, streamer)
    except zmq.ZMQError as error:
        log.error("cannot bind %s: %s; is a light streamer running already?", endpoint, error.strerror)
        context.destroy(0)
        return 1
    except OSError as error:
        log.error("%s cannot be watched: %s", args.folder, error.strerror)
        return 1
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: setattr(control, "ending", True))
    ready = {"control": control.endpoint, "data": push.endpoint, "folder": folder.path, "pid": os.getpid()}
    print(json.dumps(ready), flush=True)
    log.info(
        "light streamer %s: frames from %s to %s; requests at %s",
        VERSION,
        folder.path,
        push.endpoint,
        control.endpoint,
    )
    serve(folder, push, control, streamer)
    context.destroy(200)
    log.info("ended")
    return 0


def serve(folder: Folder, push: Push, control: Control, streamer: Streamer) -> None:
    poller = zmq.Poller()
    for readable in (folder.descriptor, push.monitor, control.zmq_socket):
        poller.register(readable, zmq.POLLIN)
    while not control.ending:
        # Room for a message is an event only while one waits: there nearly always is.
        poller.register(push.zmq_socket, zmq.POLLOUT if streamer.wants_room() else 0)
        poller.poll(10 if streamer.busy() else 200)
        control.answer()
        streamer.step()
    streamer.close()


if __name__ == "__main__":
    sys.exit(main())
