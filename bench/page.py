"""The page of results: machine, bars, tables and figures, written from results.json in Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from penstock.bench.campaign import BARS_PART
from penstock.bench.compare import SIZES
from penstock.bench.files import ratio
from penstock.bench.load import THREADS
from penstock.bench.plots import FIGURES, STORAGES, competitors
from penstock.bench.report import size, what
from penstock.bench.results import Measurement, Results, mean, name_of, verdicts_on

FIRST = """\
# Results on one machine

Written by `penstock bench --figures` from [results.json](results.json); how it is measured, and what
follows from it, is in [Performance](../explanation/performance.md). Values are means ± standard errors; the
first table has the numbers of runs. The paper of MAX IV (P. Bell et al., *Data acquisition from high-rate
detectors at MAX IV*) shows the same for their cluster in its figures 5 to 8.
"""


def write_page(results: Results, file: Path) -> None:
    """Write the page; parts that were not measured are left out."""
    sections = [FIRST, _machine(results)]
    for section in (
        _bars,
        _contenders,
        _offered,
        _disk,
        _cpu,
        _sockets,
        _workers,
        _files,
        _latency,
        _profile,
    ):
        if text := section(results, file.parent):
            sections.append(text)
    file.write_text("\n".join(sections))


def _machine(results: Results) -> str:
    machine = results.machine
    libraries = ", ".join(f"{name} {number}" for name, number in machine.libraries.items())
    kind = "virtual machine" if machine.virtual else "machine"
    rows = [
        ("date", machine.date),
        ("processor", f"{machine.processor}, {machine.cores} cores of a {kind}"),
        ("memory", f"{machine.memory_gb:g} GB; transparent huge pages: {machine.huge_pages}"),
        ("kernel", machine.kernel),
        ("file systems", ", ".join(f"{STORAGES[name][0]}: {kind}" for name, kind in machine.storage.items())),
        ("network", "the loopback interface"),
        ("load before", f"{machine.load:g} (average of one minute)"),
        (
            "runs of each case",
            ", ".join(f"{part}: {_runs(found)}" for part, found in results.measurements.items()),
        ),
        ("software", f"Penstock {machine.penstock}, Python {machine.python}, {libraries}"),
    ]
    return "## Machine and conditions\n\n" + _table(("", ""), rows)


def _runs(measurements: Sequence[Measurement]) -> str:
    """Return how often the cases of a part were measured: each part may be measured again."""
    found = sorted({len(measurement.runs) for measurement in measurements})
    return " or ".join(map(str, found))


def _bars(results: Results, folder: Path) -> str:
    verdicts = verdicts_on(results.of(BARS_PART))
    rows = [
        (
            size(verdict.bar.frame_bytes), what(verdict), verdict.bar.rival, f"{verdict.ratio:.2f}",
            verdict.required, "reached" if verdict.reached else "**not reached**",
        )
        for verdict in verdicts
    ]  # fmt: skip
    if not rows:
        return ""
    return (
        "## Bars\n\nOne receiver, one worker, one socket, writing to the RAM disk; medians of the ratios of "
        "neighbouring turns.\n\n" + _table(("frame", "of", "to", "ratio", "bar", ""), rows)
    )


def _contenders(results: Results, folder: Path) -> str:
    rows = [
        (
            size(nbytes), name_of(row.case), _error(row.rate),
            f"{row.rate[0] * nbytes / 1e9:.2f}", _error(row.thread_us), _error(row.cpu_us),
        )
        for nbytes in SIZES
        for row in competitors(results, nbytes)
    ]  # fmt: skip
    return _section(
        "Contenders", folder, "contenders", "Frames per second and GB/s of each contender, by frame size",
        ("frame", "", "frames/s", "GB/s", "receiving thread, µs per frame", "all threads, µs per frame"),
        rows,
    )  # fmt: skip


def _offered(results: Results, folder: Path) -> str:
    rows = [
        (
            size(nbytes), STORAGES[storage][0],
            "as fast as possible" if not row.case.rate else f"{row.case.rate:,.0f}", _error(row.rate),
            f"{row.rate[0] * nbytes / 1e9:.2f}", _error(row.thread_us), _error(row.cpu_us),
        )
        for nbytes in SIZES
        for storage in STORAGES
        for row in results.of("offered", frame_bytes=nbytes, storage=storage)
    ]  # fmt: skip
    return _section(
        "Frames received against frames offered", folder, "offered",
        "Frames received per second against frames offered, live only, to a RAM disk and to a disk",
        ("frame", "", "offered, 1/s", "received, 1/s", "GB/s", "receiving thread, µs", "all threads, µs"),
        rows,
    )  # fmt: skip


def _disk(results: Results, folder: Path) -> str:
    def name(row: Measurement) -> str:
        return row.case.contender + (", synced" if row.case.synced else "")

    rows = [
        (size(nbytes), name(row), _error(row.rate), f"{row.rate[0] * nbytes / 1e9:.2f}", _error(row.cpu_us))
        for nbytes in SIZES
        for row in results.of("disk", frame_bytes=nbytes)
    ]
    return _section(
        "A disk", folder, "",
        "Synced: the series has ended once its file is on the disk; else once it is closed, and the kernel "
        "writes it back later.",
        ("frame", "", "frames/s", "GB/s", "all threads, µs per frame"), rows,
    )  # fmt: skip


def _cpu(results: Results, folder: Path) -> str:
    rows = [
        (
            size(nbytes), name_of(row.case),
            *(f"{share:,.1f}" if (share := row.share_us(thread)) > 0.05 else "" for thread in THREADS),
        )
        for nbytes in SIZES
        for row in competitors(results, nbytes)
    ]  # fmt: skip
    return _section(
        "Processor time per frame", folder, "cpu",
        "Microseconds of processor time per frame, by thread and process",
        ("frame", "", *THREADS.values()), rows,
    )  # fmt: skip


def _sockets(results: Results, folder: Path) -> str:
    rows = [
        (
            size(nbytes), STORAGES[row.case.storage][0], str(row.case.sockets), str(row.case.io_threads),
            _error(row.rate), f"{row.rate[0] * nbytes / 1e9:.2f}", _error(row.cpu_us),
        )
        for nbytes in SIZES
        for row in results.of("sockets", frame_bytes=nbytes)
    ]  # fmt: skip
    return _section(
        "Sockets and I/O threads", folder, "sockets",
        "Frames per second for one to four PULL sockets and I/O threads",
        ("frame", "", "sockets", "I/O threads", "frames/s", "GB/s", "all threads, µs per frame"), rows,
    )  # fmt: skip


def _workers(results: Results, folder: Path) -> str:
    rows = [
        (str(row.case.workers), str(row.case.io_threads), _error(row.rate), _error(row.cpu_us))
        for row in results.of("workers")
    ]
    return _section(
        "Workers", folder, "workers", "Frames per second when workers compress them to bitshuffle/LZ4",
        ("workers", "I/O threads", "frames/s", "all threads, µs per frame"), rows,
    )  # fmt: skip


def _files(results: Results, folder: Path) -> str:
    rows = [
        (
            found.load, *(_error(mean(values)) for _, values in sorted(found.cpu_us.items())),
            f"{found.ratio:.2f}", f"{found.bar:g}", f"{ratio(found.flat_out_us):.2f}",
            "yes" if found.equal else "**no**", "reached" if found.reached else "**not reached**",
        )
        for found in results.files
    ]  # fmt: skip
    return _section(
        "Two files", folder, "",
        "Processor time of all threads of the data process, for frames at a rate that both take; "
        "flat out: the ratio when they arrive as fast as possible.",
        (
            "frames", "one, µs per frame", "two, µs per frame", "ratio", "bar", "flat out",
            "equal content", "",
        ),
        rows,
    )  # fmt: skip


def _latency(results: Results, folder: Path) -> str:
    rows = []
    for found in results.latency:
        arm, end, sync = (_milliseconds(values) for values in (found.arm, found.end, found.sync))
        name = STORAGES[found.storage][0] + (", synced" if found.synced else "")
        reached = "reached" if found.reached else "**not reached**"
        rows.append((name, str(len(found.arm)), arm, end, sync, reached))
    return _section(
        "Start and end of a series, over Tango", folder, "latency",
        "Milliseconds from Arm to RUNNING, and from the last frame to ON: medians, and the longest",
        ("", "series", "Arm → RUNNING (bar: 150)", "last frame → ON (bar: 200 + sync)", "its sync", "bars"),
        rows,
    )  # fmt: skip


def _profile(results: Results, folder: Path) -> str:
    parts = [
        _section(
            "Where the time goes", folder, "profile",
            "Share of the processor time of the process that receives, by what it is spent on (perf)",
            (), [],
        )
    ]  # fmt: skip
    for found in results.profiles:
        rows = [(f"`{name}`", f"{100 * share:.1f} %") for name, share in found.top if share >= 0.01]
        parts.append(
            f"### {found.contender}, {size(found.frame_bytes)}: the loop by function (cProfile)\n\n"
            + _table(("function, with the compiled code that it calls", "share of its own time"), rows)
        )
    return "\n".join(parts) if results.profiles else ""


def _section(
    title: str, folder: Path, figure: str, text: str, head: Sequence[str], rows: Sequence[Sequence[str]]
) -> str:
    """Return a title, the figure if it was drawn, and a table; "" without rows."""
    if not rows and head:
        return ""
    drawn = figure in FIGURES and (folder / f"{figure}.svg").exists()
    image = f"![{text}]({figure}.svg)" if drawn else f"{text}"
    return "\n".join([f"## {title}\n", image + "\n", *([_table(head, rows)] if head else [])])


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _error(value: tuple[float, float]) -> str:
    """Return mean ± standard error, with as many digits as the error allows."""
    middle, error = value
    digits = 0 if middle >= 100 else 1
    return f"{middle:,.{digits}f} ± {error:,.{digits}f}"


def _milliseconds(values: list[float]) -> str:
    if not values:
        return ""
    return f"{statistics.median(values) * 1e3:.0f}, at most {max(values) * 1e3:.0f}"


SECTIONS = (
    _bars, _contenders, _offered, _disk, _cpu, _sockets, _workers, _files, _latency, _profile,
)  # fmt: skip
