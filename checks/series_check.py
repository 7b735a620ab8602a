"""Check a series file: is everything there, does the account add up, is it sound NeXus?

Clean means consistent and complete. A file that is incomplete, or still being written, is not clean, even
if every frame in it is sound: whoever processes it has to know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from penstock.receiver.files.contents.known import KNOWN, Parent
from penstock.receiver.files.stores.parts.linked_frames import Unreadable, UnreadableError
from penstock.receiver.models import FrameStatus
from penstock.receiver.reading.reader import ReaderError, SeriesFile, text
from penstock.receiver.validity.frames import WITH_DATA
from penstock.stins.texts import plural

STATUSES = ("stored", "partial", "delivered", "discarded", "corrupt", "missing", "not_triggered")
"""Counts that add up to the frames planned."""

ABSENT = (FrameStatus.MISSING, FrameStatus.CORRUPT)
"""Statuses of a module that is absent."""

PROGRESS_FRAMES = 100
"""Frames from one report of the progress to the next."""

SHOWN_RANGES = 12
"""Longer lists of frames are cut; the file has them all."""


@dataclass(frozen=True)
class Finding:
    """Something that is wrong (a problem), or worth knowing (a note)."""

    level: Literal["problem", "note"]
    kind: str
    """Stable short name."""
    sentence: str


@dataclass
class Verdict:
    """What was found in one file."""

    file: str
    detector: str | None = None
    state: str | None = None
    reason: str = ""
    planned: int | None = None
    shape: tuple[int, ...] = ()
    dtype: str | None = None
    counts: dict[str, int] = field(default_factory=dict)
    missing: str = ""
    """Indices of missing frames as ranges: "17-20, 33"."""
    frames_read: int = 0
    findings: list[Finding] = field(default_factory=list)

    def is_clean(self, *, strict: bool = False) -> bool:
        """Return whether there is no problem; strictly, no note either."""
        return not any(strict or finding.level == "problem" for finding in self.findings)

    def summary(self) -> dict[str, Any]:
        """Return everything in types that JSON has."""
        return asdict(self)


def check_series(
    series: SeriesFile, *, read_frames: bool = True, progress: Callable[[int], None] | None = None
) -> Verdict:
    """Check everything in a series file.

    Args:
        series: the file, open.
        read_frames: also read and unpack every frame.
        progress: called with the number of frames read so far, now and then and at the end.

    Raises:
        ReaderError: the file's structure is damaged, so nothing can be checked.
    """
    try:
        return _check(series, read_frames, progress)
    except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
        # What HDF5 raises for damaged structures depends on where they are damaged.
        raise ReaderError(
            f"{series.path} is damaged ({error}); copy it again from where it was written"
        ) from error


def _check(series: SeriesFile, read_frames: bool, progress: Callable[[int], None] | None) -> Verdict:
    counts = dict(series.counts)
    status = series.frame_status
    verdict = Verdict(
        file=str(series.path), detector=series.detector, state=series.state, reason=series.reason,
        planned=series.planned, shape=series.shape, dtype=None if series.dtype is None else str(series.dtype),
        counts=counts,
    )  # fmt: skip
    if status is not None:
        verdict.missing = _missing(status, counts.get("missing", 0), series.planned)
    verdict.findings += _structure(series)
    verdict.findings += _state(series, verdict.missing)
    verdict.findings += _account(series, counts, status)
    verdict.findings += _order(series, status)
    verdict.findings += [
        _as_problem(kind, sentence) for kind, sentence in unreadable_files(series.unreadable_files()).items()
    ]
    if read_frames:
        verdict.findings += _frames(series, status, verdict, progress)
    return verdict


def ranges(indices: Sequence[int] | np.ndarray[Any, Any], tail: range = range(0)) -> str:
    """Return ascending indices as text: "17-20, 33"; long lists are cut.

    Args:
        indices: indices, in order.
        tail: further ones behind them, however many.
    """
    array = np.asarray(indices, np.int64)
    edges = np.flatnonzero(np.diff(array) != 1)
    firsts = array[np.concatenate(([0], edges + 1))].tolist() if len(array) else []
    lasts = array[np.concatenate((edges, [-1]))].tolist() if len(array) else []
    if tail and lasts and lasts[-1] + 1 == tail[0]:
        lasts[-1] = tail[-1]
    elif tail:
        firsts.append(tail[0])
        lasts.append(tail[-1])
    runs = list(zip(firsts, lasts, strict=True))
    shown = [str(first) if first == last else f"{first}-{last}" for first, last in runs[:SHOWN_RANGES]]
    left = len(runs) - len(shown)
    return ", ".join(shown) + (f" and {left} more ranges" if left else "")


def unreadable_files(files: Sequence[Unreadable]) -> dict[str, str]:
    """Return sentences about files that should hold stored frames, but cannot be read, by kind of problem."""
    absent = [str(file.path) for file in files if file.is_absent]
    others = [file.why for file in files if not file.is_absent]
    found = {}
    if absent:
        found["missing_file"] = (
            f"stored frames are in files that do not exist: {_few(absent)}; put these back"
        )
    if others:
        found["unreadable_file"] = f"stored frames are in files that cannot be read: {_few(others)}"
    return found


def _few(texts: Sequence[str]) -> str:
    return ", ".join(texts[:3]) + (f" and {len(texts) - 3} more" if len(texts) > 3 else "")


def _as_problem(kind: str, sentence: str) -> Finding:
    return Finding("problem", kind, sentence)


def _as_note(kind: str, sentence: str) -> Finding:
    return Finding("note", kind, sentence)


def _structure(series: SeriesFile) -> Iterator[Finding]:
    file = series.file
    if text(file.attrs.get("NX_class")) != "NXroot":
        yield _as_note("no_nxroot", "the file's root has no NX_class NXroot; viewers cope")
    if series.data is None and not series.has_account:
        yield _as_problem(
            "no_frames",
            f"the file was not written by Penstock, and {series.group.name} has no dataset `data`, where its "
            "frames would be",
        )
    elif series.data is None:
        yield _as_problem("no_frames", f"{series.group.name} has no dataset `data`: not one frame was stored")
    elif series.default_plot is None:
        yield _as_problem(
            "no_default_plot",
            "the `default` attributes do not lead from the root to an NXdata with a signal; "
            "viewers will not find the frames by themselves",
        )
    elif file[series.default_plot] != series.data:
        yield _as_note("other_default_plot", f"viewers show {series.default_plot} first, not the frames")
    unclassed: list[str] = []

    def visit(name: str, node: Any) -> None:
        if not hasattr(node, "shape") and not text(node.attrs.get("NX_class")):
            unclassed.append(name)

    file.visititems(visit)
    if unclassed:
        shown = ", ".join(f"/{name}" for name in unclassed[:5])
        yield _as_problem("no_nx_class", f"{len(unclassed)} groups have no NX_class: {shown}")
    for name, place in KNOWN.items():
        found: Any = series.group.get(name) if place.parent is Parent.DETECTOR else None
        if place.units and hasattr(found, "shape") and not text(found.attrs.get("units")):
            yield _as_problem("no_units", f"{found.name} has no units; they should be {place.units}")


def _missing(status: np.ndarray[Any, Any], number: int, planned: int | None) -> str:
    """Return the indices of the missing frames as text. A file ends at its last frame: missing ones after it
    are only counted, and lie before those that were never triggered."""
    found = np.flatnonzero(status == FrameStatus.MISSING)
    end = len(status) + max(0, number - len(found))
    return ranges(found, range(0) if planned is None or end > planned else range(len(status), end))


def _state(series: SeriesFile, missing: str) -> Iterator[Finding]:
    if series.state == "in progress":
        yield _as_problem(
            "in_progress",
            "the file is still being written, or its receiver was killed; check it again once the series has "
            "ended; if no receiver is writing it any more, it has what was flushed, and no more will come",
        )
    elif series.state == "incomplete":
        where = f" (missing at index {missing})" if missing else ""
        yield _as_problem(
            "incomplete", f"the series is incomplete{where}: {series.reason or 'no reason given'}"
        )
    elif series.state not in ("complete", None):
        yield _as_problem("unknown_state", f'the state "{series.state}" is not one that Penstock writes')
    if series.index_source is not None and "uncertain" in series.index_source:
        yield _as_note(
            "index_uncertain",
            f"the index of a frame is its order of {series.index_source}: "
            "which triggers were missed is unknown",
        )


def _account(
    series: SeriesFile, counts: dict[str, int], status: np.ndarray[Any, Any] | None
) -> Iterator[Finding]:
    if not series.has_account:
        yield _as_note(
            "no_account",
            "the file was not written by Penstock, and does not say how many frames were planned: gaps at "
            "its end cannot be detected",
        )
        return
    counts.setdefault("partial", 0)  # older files have no such count
    absent = [name for name in (*STATUSES, "planned") if name != "planned" and name not in counts]
    if absent or status is None:
        yield _as_problem("damaged_account", f"the account lacks {', '.join(absent) or 'frame_status'}")
        return
    if series.state == "in progress":
        return  # each dataset grows in steps of its own, and the counts are written at the end
    if series.data is not None and len(status) != len(series):
        yield _as_problem(
            "status_length",
            f"frame_status has {plural(len(status), 'value')} for {plural(len(series), 'frame')}; "
            "there should be one per frame",
        )
    planned = series.planned
    total = sum(counts[name] for name in STATUSES)
    if planned is not None and total != planned:
        parts = " + ".join(f"{counts[name]} {name.replace('_', ' ')}" for name in STATUSES)
        yield _as_problem(
            "sum",
            f"{parts} = {plural(total, 'frame is', 'frames are')} accounted for, {planned} were planned",
        )
    beyond = max(0, (planned or 0) - len(status))
    for name in STATUSES:
        found = int(np.count_nonzero(status == FrameStatus[name.upper()]))
        # Frames that never came lie mostly beyond the last index, where there is no status.
        most = found + beyond if name in ("missing", "not_triggered") else found
        if not found <= counts[name] <= most:
            yield _as_problem(
                "counts",
                f"the account says {counts[name]} {name.replace('_', ' ')}, frame_status has {found}",
            )
    modules = series.module_status
    for number in range(0 if modules is None else modules.shape[1]):
        assert modules is not None
        is_absent = np.isin(modules[: len(status), number], ABSENT)
        gone = np.flatnonzero(is_absent & (status[: len(modules)] == FrameStatus.PARTIAL))
        if len(gone):
            yield _as_note("module", f"module {number} is missing or corrupt in frames {ranges(gone)}")
    unknown = ~np.isin(status, [int(known) for known in FrameStatus if known is not FrameStatus.PENDING])
    if unknown.any():
        yield _as_problem(
            "unknown_status",
            f"frame_status has undefined values at {ranges(np.flatnonzero(unknown))}",
        )
    for name in ("duplicate", "late", "out_of_range", "stale", "undecodable"):
        if counts.get(name):
            messages = plural(counts[name], "message was", "messages were")
            yield _as_note(name, f"{messages} {name.replace('_', ' ')}")


def _order(series: SeriesFile, status: np.ndarray[Any, Any] | None) -> Iterator[Finding]:
    numbers = series.sequence_number
    if numbers is None or not len(numbers):
        return
    if status is None:
        gaps = np.flatnonzero(np.diff(numbers.astype(np.int64)) != 1)
        if len(gaps):
            yield _as_problem(
                "sequence",
                f"sequence_number does not increase by one after frame {ranges(gaps)}: frames are missing",
            )
        return
    if len(numbers) != len(status):
        yield _as_problem(
            "sequence_length",
            f"sequence_number has {plural(len(numbers), 'value')} for {plural(len(status), 'frame')}",
        )
        return
    here = np.flatnonzero(np.isin(status, WITH_DATA) & (numbers >= 0))
    if len(np.unique(numbers[here] - here)) > 1:
        yield _as_problem(
            "sequence", "frames do not lie at their sequence_number: they are in the wrong places"
        )


def _stored(status: np.ndarray[Any, Any] | None, number: int) -> list[bool]:
    """Return whether each of so many frames counts as stored."""
    if status is None:
        return [True] * number
    found = np.zeros(number, bool)
    found[: len(status)] = np.isin(status[:number], WITH_DATA)
    return found.tolist()


def _frames(
    series: SeriesFile,
    status: np.ndarray[Any, Any] | None,
    verdict: Verdict,
    progress: Callable[[int], None] | None,
) -> Iterator[Finding]:
    unreadable: list[int] = []
    away: list[int] = []
    hollow: list[int] = []
    why = why_away = ""
    number = len(series)
    for index, stored in enumerate(_stored(status, number)):
        if stored:
            try:
                if series.stored_frame(index) is None:
                    hollow.append(index)
                else:
                    verdict.frames_read += 1
            except ReaderError as error:
                if isinstance(error.__cause__, UnreadableError):
                    away.append(index)
                    why_away = why_away or str(error)
                else:
                    unreadable.append(index)
                    why = why or str(error)
        if progress is not None and ((index + 1) % PROGRESS_FRAMES == 0 or index + 1 == number):
            progress(index + 1)
    if hollow:
        said = "count as stored, but have no data" if series.has_account else "are absent: they have no data"
        yield _as_problem("hollow", f"frames {ranges(hollow)} {said}")
    if away:
        yield _as_problem("away", f"frames {ranges(away)} cannot be read as a whole ({why_away})")
    if unreadable:
        yield _as_problem(
            "unreadable",
            f"frames {ranges(unreadable)} cannot be unpacked ({why}); "
            "they were damaged before they were written, or on the disk",
        )
