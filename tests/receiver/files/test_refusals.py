"""Whose fault it is that a file cannot be created: its name's, or the receiver's."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.receiver.files.refusals import StorageError
from penstock.receiver.files.series_files import SeriesFiles
from penstock.receiver.files.writer import WriterError
from penstock.receiver.models import FrameStatus
from penstock.receiver.series.running_series import Outcome, RunningSeries
from penstock.stins.errors import StinsError
from penstock.stins.messages import Frame, Header, Start
from tests.receiver.files.test_names import config
from tests.streams import image, pixels

OF_NAME = {
    errno.EACCES: "not_writable", errno.EPERM: "not_writable", errno.ENOTDIR: "not_a_folder",
    errno.ELOOP: "bad_filename", errno.ENAMETOOLONG: "bad_filename", errno.EINVAL: "bad_filename",
    errno.EISDIR: "is_a_folder",
}  # fmt: skip
OF_RECEIVER = {
    errno.ENOSPC: "disk_full", errno.EDQUOT: "disk_full", errno.EROFS: "not_writable",
    errno.EIO: "not_reachable", errno.ESTALE: "not_reachable", errno.EMFILE: "too_many_files",
    errno.ENFILE: "too_many_files", errno.ENOMEM: "no_memory", errno.EXFULL: "not_reachable",
}  # fmt: skip
"""EXFULL stands for what nobody has thought of."""

Fails = Callable[[str, object], bool]
PLACES: dict[str, tuple[str, Fails]] = {
    "its folder": ("mkdir", lambda name, _: name == "new"),
    "the file": ("open", lambda name, _: name.endswith(".draft")),
    "its lease": ("open", lambda name, _: name.startswith("/proc/self/fd/")),
    "the name of an older one": ("rename", lambda name, _: name.endswith(".draft")),
    "an older segment": ("unlink", lambda name, _: name == "x_000001.h5"),
}
"""The call of the system that fails, and for which name."""


class Bench:
    """Files of a receiver under a folder, and a system in which one call fails."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.monkeypatch = monkeypatch
        self.hits = 0

    def fail(self, call: str, fails: Fails, code: int) -> None:
        real: Callable[..., Any] = getattr(os, call)

        def failing(name: Any, *args: Any, **keys: Any) -> Any:
            if fails(os.fsdecode(name), keys):
                self.hits += 1
                raise OSError(code, os.strerror(code))
            return real(name, *args, **keys)

        self.monkeypatch.setattr(os, call, failing)

    def begin(self, name: str, *, announced: bool = True, **keys: object) -> tuple[SeriesFiles, Any, Any]:
        files = SeriesFiles("eiger", config(self.root, **keys))
        format = {"shape": (4, 6), "type": "uint16", "compression": "none"} if announced else {}
        header = Header(filename=str(self.root / name), series="s", frames=3, overwrite=True, **format)
        series = RunningSeries(Start(header, {}))
        return files, series, files.begin(series)


def open_below(root: Path) -> list[str]:
    """What this process has open in a folder, removed files too; not what others of it close meanwhile."""
    links = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            links.append(os.readlink(f"/proc/self/fd/{number}"))
    return sorted(link for link in links if link.startswith(str(root)))


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


@pytest.mark.parametrize("code", [*OF_NAME, *OF_RECEIVER], ids=errno.errorcode.get)
@pytest.mark.parametrize("place", PLACES)
def test_an_error_at_the_start_is_the_names_or_the_receivers_wherever_it_comes_from(
    place: str, code: int, bench: Bench
) -> None:
    path = bench.root / ("new/x.h5" if place == "its folder" else "x.h5")
    keys: dict[str, object] = {"frames_per_file": 2} if place == "an older segment" else {"swmr": True}
    if place == "the name of an older one":
        path.write_bytes(b"older")
    elif place == "an older segment":
        _, _, begun = older = bench.begin("x.h5", frames_per_file=2)
        begun.writer.add(0, Frame(image(0, pixels(0)), [pixels(0).tobytes()]))
        older[1].account.take(0, FrameStatus.STORED)
        older[0].end(begun.writer, Outcome(True, ""), "")
    before, names = open_below(bench.root), sorted(bench.root.glob("**/*.h5"))
    with bench.monkeypatch.context() as patched:
        bench.monkeypatch = patched
        bench.fail(*PLACES[place], code)
        with pytest.raises((StinsError, StorageError)) as caught:
            bench.begin(str(path), **keys)
    assert bench.hits
    refused = code in OF_NAME
    assert isinstance(caught.value, StinsError) == refused
    assert caught.value.kind == {**OF_NAME, **OF_RECEIVER}[code]
    said = str(caught.value)
    assert str(path.parent) in said and os.strerror(code) in said
    assert said.endswith(" (series s)" if refused else ", then reset the receiver")
    assert open_below(bench.root) == before, "nothing stays open"
    left = {*names} - {path} if place == "an older segment" else {*names}
    assert {*bench.root.glob("**/*.h5")} == left and not list(bench.root.glob("**/*.draft"))
    files, _, begun = bench.begin(str(path), **keys)
    files.end(begun.writer, Outcome(True, ""), "")


@pytest.mark.parametrize("code", [errno.EACCES, errno.ENOSPC], ids=errno.errorcode.get)
def test_the_same_error_in_the_middle_of_a_series_is_the_receivers(code: int, bench: Bench) -> None:
    """A segment that cannot be created: the series has begun, and frames are lost."""
    files, _, begun = bench.begin("x.h5", announced=False, frames_per_file=2)
    with bench.monkeypatch.context() as patched:
        bench.monkeypatch = patched
        bench.fail("open", lambda name, _: name == "x_000001.h5", code)
        with pytest.raises(WriterError, match=os.strerror(code)):
            begun.writer.add(0, Frame(image(0, pixels(0)), [pixels(0).tobytes()]))
    files.end(begun.writer, Outcome(False, ""), "")
