"""The figures of the performance page, drawn from the results: SVG, on a white card, so that they can be
read on light and on dark pages."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.bench.campaign import BARS_PART
from penstock.bench.compare import SIZES
from penstock.bench.contenders import (
    BARE,
    CONTENDERS,
    NAIVE,
    PENSTOCK_RECEIVER,
    RECEIVE_LIMIT,
    WRITE_LIMIT,
)
from penstock.bench.load import THREADS
from penstock.bench.profile import KINDS
from penstock.bench.report import size
from penstock.bench.results import LIVE, UNANNOUNCED, Measurement, Results, name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which everyone can distinguish.
BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, YELLOW, GREY = (
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#f0e442", "#8c959f",
)  # fmt: skip
INK, GRID = "#24292f", "#d8dee4"
COLOURS = {
    PENSTOCK_RECEIVER: BLUE, UNANNOUNCED: PURPLE, LIVE: GREEN, BARE: SKY, NAIVE: VERMILION, WRITE_LIMIT: GREY,
    RECEIVE_LIMIT: "#c4ccd4",
}  # fmt: skip
STORAGES = {"live": ("live only", GREEN), "ram": ("RAM disk", BLUE), "disk": ("disk", ORANGE)}
THREAD_COLOURS = dict(zip(THREADS, (BLUE, SKY, GREEN, PURPLE, "#c4ccd4"), strict=True))
KIND_COLOURS = dict(
    zip(KINDS, (BLUE, SKY, GREEN, "#b7dcd0", GREY, VERMILION, PURPLE, YELLOW, ORANGE, "#c4ccd4"), strict=True)
)
FREE = 1.2
"""Place of series as fast as possible, in units of the highest offered rate."""
STYLE: Any = {
    "svg.fonttype": "none", "svg.hashsalt": "penstock", "font.family": "sans-serif",
    "font.sans-serif": ["Helvetica", "Arial", "DejaVu Sans"], "font.size": 10, "text.color": INK,
    "axes.labelcolor": INK, "axes.edgecolor": GREY, "xtick.color": INK, "ytick.color": INK,
    "axes.spines.top": False, "axes.grid": True, "grid.color": GRID, "axes.axisbelow": True,
    "axes.titlesize": 11, "axes.titleweight": "bold", "legend.frameon": False, "errorbar.capsize": 3,
    "figure.facecolor": "#ffffff", "savefig.facecolor": "#ffffff",
}  # fmt: skip


def draw_all(results: Results, folder: Path) -> list[Path]:
    """Draw every figure for which there are results; return the files."""
    import matplotlib

    drawn = []
    for name, (draw, part) in FIGURES.items():
        if not (results.measurements.get(part) or getattr(results, part, None)):
            continue
        with matplotlib.rc_context(STYLE):
            figure = draw(results)
            file = folder / f"{name}.svg"
            # No date, so that the same results give the same file.
            figure.savefig(file, metadata={"Date": None})
        drawn.append(file)
    return drawn


def contenders(results: Results) -> Figure:
    """Draw the frame rates of all contenders, writing to the RAM disk or live only."""
    figure, panels = _panels(2, 2, 9.6, 5.8)
    for axes, nbytes in zip(panels, SIZES, strict=True):
        rows = competitors(results, nbytes)
        for place, row in enumerate(rows):
            rate, error = row.rate
            axes.barh(place, rate, xerr=error, color=COLOURS[name_of(row.case)], height=0.7)
            axes.annotate(
                f"{rate:,.0f}", (rate + error, place), xytext=(5, 0), textcoords="offset points", va="center"
            )
        axes.set_yticks(range(len(rows)), [name_of(row.case) for row in rows])
        axes.invert_yaxis()
        axes.margins(x=0.22)
        axes.grid(axis="y", visible=False)
        axes.set(title=f"{size(nbytes)} per frame", xlabel="frames/s")
        _gigabytes(axes, nbytes, along_x=True)
    return figure


def offered(results: Results) -> Figure:
    """Draw frames received against frames offered; beside them, as fast as possible."""
    figure, panels = _panels(2, 2, 9.6, 7.6)
    for axes, nbytes in zip(panels, SIZES, strict=True):
        paced = [row for row in results.of("offered", frame_bytes=nbytes) if row.case.rate]
        most = max((row.case.rate for row in paced), default=1.0)
        for storage, (label, colour) in STORAGES.items():
            line = sorted(
                (row for row in paced if row.case.storage == storage), key=lambda row: row.case.rate
            )
            _points(axes, [row.case.rate for row in line], line, color=colour, marker="o", label=label)
            free = results.of("offered", frame_bytes=nbytes, storage=storage, rate=0.0)
            _points(axes, [FREE * most] * len(free), free, color=colour, marker="D", linestyle="")
        axes.plot([0, most], [0, most], color=GREY, linewidth=0.8, linestyle=":", label="all received")
        axes.axvspan((1 + FREE) / 2 * most, (3 * FREE - 1) / 2 * most, color=GRID, alpha=0.5)
        axes.annotate(
            "as fast as possible", (FREE * most, 0), xytext=(-9, 6), textcoords="offset points", rotation=90,
            ha="center", fontsize=8,
        )  # fmt: skip
        for name, style in ((RECEIVE_LIMIT, "--"), (WRITE_LIMIT, "-.")):
            if limit := _rate(results, nbytes, name):
                axes.axhline(limit, color=INK, linewidth=1.0, linestyle=style, label=name)
        axes.set(
            title=f"{size(nbytes)} per frame", xlabel="frames/s offered", ylabel="frames/s received",
            xlim=(0, (3 * FREE - 1) / 2 * most), ylim=(0, None),
        )  # fmt: skip
        _gigabytes(axes, nbytes)
    _legend(figure, panels[0], columns=3)
    return figure


def _points(axes: Axes, x: list[float], rows: list[Measurement], **style: Any) -> None:
    rates = [row.rate for row in rows]
    y, errors = [rate for rate, _ in rates], [error for _, error in rates]
    axes.errorbar(x, y, yerr=errors, markersize=4, **style)


def cpu(results: Results) -> Figure:
    """Draw the processor time per frame, by thread and process."""
    figure, panels = _panels(2, 2, 9.6, 5.6)
    for axes, nbytes in zip(panels, SIZES, strict=True):
        rows = competitors(results, nbytes)
        for place, row in enumerate(rows):
            left = 0.0
            for thread, meaning in THREADS.items():
                share = row.share_us(thread)
                axes.barh(
                    place, share, left=left, color=THREAD_COLOURS[thread], height=0.7,
                    label=meaning if not place else None,
                )  # fmt: skip
                left += share
        names = [name_of(row.case) for row in rows]
        axes.set_yticks(range(len(rows)), names)
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        axes.set(title=f"{size(nbytes)} per frame", xlabel="µs of processor time per frame")
    _legend(figure, panels[0], columns=3)
    return figure


def sockets(results: Results) -> Figure:
    """Draw the frame rates with several PULL sockets and I/O threads."""
    figure, panels = _panels(2, 2, 9.6, 6.4)
    for axes, nbytes in zip(panels, SIZES, strict=True):
        for shift, storage in enumerate(("live", "ram")):
            rows = results.of("sockets", frame_bytes=nbytes, storage=storage)
            rates = [row.rate for row in rows]
            label, colour = STORAGES[storage]
            axes.bar(
                [place + (shift - 0.5) * 0.38 for place in range(len(rows))],
                [rate for rate, _ in rates], 0.36, yerr=[error for _, error in rates],
                color=colour, label=label,
            )  # fmt: skip
            axes.set_xticks(range(len(rows)), [f"{row.case.sockets} × {row.case.io_threads}" for row in rows])
        axes.grid(axis="x", visible=False)
        for name, line in ((RECEIVE_LIMIT, "--"), (WRITE_LIMIT, "-.")):
            if limit := _rate(results, nbytes, name):
                axes.axhline(limit, color=INK, linewidth=1.0, linestyle=line, label=f"{name} (1 × 1)")
        axes.set(
            title=f"{size(nbytes)} per frame", xlabel="PULL sockets × ZeroMQ I/O threads", ylabel="frames/s"
        )
        _gigabytes(axes, nbytes)
    _legend(figure, panels[0])
    return figure


def workers(results: Results) -> Figure:
    """Draw the frame rates when workers compress."""
    figure, (axes,) = _panels(1, 1, 6.4, 3.8)
    rows = results.of("workers")
    for threads, colour in zip(sorted({row.case.io_threads for row in rows}), (BLUE, ORANGE), strict=False):
        chosen = sorted(
            (row for row in rows if row.case.io_threads == threads), key=lambda row: row.case.workers
        )
        _points(
            axes, [row.case.workers for row in chosen], chosen, color=colour, marker="o",
            label=f"{threads} I/O thread{'s' if threads > 1 else ''}",
        )  # fmt: skip
    axes.set_xticks(sorted({row.case.workers for row in rows}))
    axes.set(
        title=f"{size(rows[0].case.frame_bytes)} per frame, compressed on receipt (bslz4)",
        xlabel="workers (threads)", ylabel="frames/s", ylim=(0, None),
    )  # fmt: skip
    _legend(figure, axes)
    return figure


def latency(results: Results) -> Figure:
    """Draw the starts and ends of series over Tango."""
    figure, panels = _panels(1, 2, 9.6, 3.2)
    titles = ("Arm → RUNNING", "last frame → ON")
    for axes, title, limit in zip(panels, titles, (150, 200), strict=True):
        for place, found in enumerate(results.latency):
            values = found.arm if axes is panels[0] else found.end
            step = 0.3 / max(len(values) - 1, 1)
            places = [place - 0.15 + step * number for number in range(len(values))]
            axes.plot([value * 1e3 for value in values], places, "o", color=BLUE, alpha=0.6, markersize=4)
            middle = statistics.median(values) * 1e3
            axes.plot([middle, middle], [place - 0.25, place + 0.25], color=INK, linewidth=2)
        names = [
            STORAGES[found.storage][0] + (", synced" if found.synced else "") for found in results.latency
        ]
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.axvline(limit, color=VERMILION, linestyle="--", linewidth=1.0)
        axes.grid(axis="y", visible=False)
        axes.set(title=title, xlabel="ms (line: median; dashed: bar)", xlim=(0, None))
    return figure


def profile(results: Results) -> Figure:
    """Draw where the processor time goes, in the loop's thread and ZeroMQ's."""
    figure, (axes,) = _panels(1, 1, 9.6, 4.6)
    rows = [row for row in results.profiles if row.shares]
    for place, row in enumerate(rows):
        left = 0.0
        for kind in KINDS:
            share = 100 * sum(value for name, value in row.shares.items() if name.partition(": ")[2] == kind)
            axes.barh(
                place, share, left=left, color=KIND_COLOURS[kind], height=0.7, label=None if place else kind
            )
            left += share
    axes.set_yticks(range(len(rows)), [f"{row.contender}, {size(row.frame_bytes)}" for row in rows])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set(xlabel="% of the processor time of the process that receives", xlim=(0, 100))
    _legend(figure, axes, columns=3)
    return figure


FIGURES: dict[str, tuple[Callable[[Results], Figure], str]] = {
    "contenders": (contenders, BARS_PART), "offered": (offered, "offered"), "cpu": (cpu, BARS_PART),
    "sockets": (sockets, "sockets"), "workers": (workers, "workers"), "latency": (latency, "latency"),
    "profile": (profile, "profiles"),
}  # fmt: skip
"""By file name: what draws it, and the part of the results that it needs."""


def _panels(rows: int, columns: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    found = figure.subplots(rows, columns, squeeze=False)
    return figure, list(found.ravel())


def competitors(results: Results, nbytes: int) -> list[Measurement]:
    """Return all contenders at this frame size, in their own order."""
    return [row for name in CONTENDERS for row in results.of(BARS_PART, frame_bytes=nbytes, contender=name)]


def _rate(results: Results, nbytes: int, contender: str) -> float | None:
    found = results.of(BARS_PART, frame_bytes=nbytes, contender=contender)
    return found[0].rate[0] if found else None


def _gigabytes(axes: Axes, nbytes: int, *, along_x: bool = False) -> None:
    """Add a second axis, in GB/s."""
    scale = nbytes / 1e9
    there, back = (lambda rate: rate * scale), (lambda gigabytes: gigabytes / scale)
    second: Any = axes.secondary_xaxis if along_x else axes.secondary_yaxis
    drawn = second("top" if along_x else "right", functions=(there, back))
    (drawn.set_xlabel if along_x else drawn.set_ylabel)("GB/s")


def _legend(figure: Figure, axes: Axes, columns: int = 5) -> None:
    """Draw one legend below all panels."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)
