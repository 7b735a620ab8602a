"""The figures of the performance page, drawn from the results: SVG, on a white card, so that they can be
read on light and on dark pages."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.stins.texts import plural
from penstock_bench.cases import SIZES
from penstock_bench.profile import CONTENDERS as PROFILED
from penstock_bench.profile import KINDS
from penstock_bench.results import Group, Results, mean
from penstock_bench.throughput import (
    AS_FAST,
    BARE,
    CONTENDERS,
    LIVE,
    NAIVE,
    PENSTOCK,
    RECEIVE_LIMIT,
    STORAGES,
    UNANNOUNCED,
    WRITE_LIMIT,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which everyone can distinguish.
BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, YELLOW, GREY = (
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#f0e442", "#8c959f",
)  # fmt: skip
INK, GRID, PALE = "#24292f", "#d8dee4", "#c4ccd4"
COLOURS = {
    PENSTOCK: BLUE, UNANNOUNCED: PURPLE, LIVE: GREEN, BARE: SKY, NAIVE: VERMILION, WRITE_LIMIT: GREY,
    RECEIVE_LIMIT: PALE,
}  # fmt: skip
STORAGE_COLOURS = dict(zip(STORAGES, (GREEN, BLUE, ORANGE), strict=True))
THREADS = {
    "loop": ("thread that receives and writes", BLUE), "I/O": ("ZeroMQ's I/O threads", SKY),
    "others": ("workers, and others", GREEN), "HTTP": ("HTTP process", PURPLE),
    "sender": ("the sender, all threads", PALE),
}  # fmt: skip
KIND_COLOURS = dict(
    zip(KINDS, (BLUE, SKY, GREEN, "#b7dcd0", GREY, VERMILION, PURPLE, YELLOW, ORANGE, PALE), strict=True)
)
FREE = 1.2
"""Place of series as fast as possible, in units of the highest offered rate."""
RATE = "frames/s"
STYLE: Any = {
    "svg.fonttype": "none", "svg.hashsalt": "penstock", "font.family": "sans-serif",
    "font.sans-serif": ["Helvetica", "Arial", "DejaVu Sans"], "font.size": 10, "text.color": INK,
    "axes.labelcolor": INK, "axes.edgecolor": GREY, "xtick.color": INK, "ytick.color": INK,
    "axes.spines.top": False, "axes.grid": True, "grid.color": GRID, "axes.axisbelow": True,
    "axes.titlesize": 11, "axes.titleweight": "bold", "legend.frameon": False, "errorbar.capsize": 3,
    "figure.facecolor": "#ffffff", "savefig.facecolor": "#ffffff",
}  # fmt: skip


def contenders(axes: Axes, group: Group, results: Results) -> None:
    """Draw the frame rates of all contenders, writing to the RAM disk or live only."""
    names = _in_order(group)
    for place, name in enumerate(names):
        rate, error = mean(group.values(name, RATE))
        axes.barh(place, rate, xerr=error, color=COLOURS[name], height=0.7)
        beside: Any = {"xytext": (5, 0), "textcoords": "offset points", "va": "center"}
        axes.annotate(f"{rate:,.0f}", (rate + error, place), **beside)
    axes.margins(x=0.22)
    _rows(axes, names, RATE)
    _gigabytes(axes.secondary_xaxis, "top", group)


def cpu(axes: Axes, group: Group, results: Results) -> None:
    """Draw the processor time per frame, by thread and process."""
    names = _in_order(group)
    for place, name in enumerate(names):
        spent = {thread: group.values(name, f"{thread}, µs") or [0.0] for thread in THREADS}
        _stack(axes, place, [(statistics.fmean(spent[thread]), *THREADS[thread]) for thread in THREADS])
    _rows(axes, names, "µs of processor time per frame")


def offered(axes: Axes, group: Group, results: Results) -> None:
    """Draw frames received against frames offered; beside them, as fast as possible."""
    rates = {name: _offered_rate(name) for name in group.turns}
    most = max(rates.values())
    for storage, colour in STORAGE_COLOURS.items():
        mine = [name for name in rates if name.startswith(f"{storage}, ")]
        paced = sorted((name for name in mine if rates[name]), key=lambda name: rates[name])
        free = [name for name in mine if not rates[name]]
        places = [rates[name] for name in paced]
        _points(axes, places, group, paced, color=colour, marker="o", label=storage)
        _points(axes, [FREE * most] * len(free), group, free, color=colour, marker="D", linestyle="")
    right = (3 * FREE - 1) / 2 * most
    axes.plot([0, most], [0, most], color=GREY, linewidth=0.8, linestyle=":", label="all received")
    axes.axvspan((1 + FREE) / 2 * most, right, color=GRID, alpha=0.5)
    beside: Any = {"xytext": (-9, 6), "textcoords": "offset points", "ha": "center", "fontsize": 8}
    axes.annotate(AS_FAST, (FREE * most, 0), rotation=90, **beside)
    _limits(axes, results, group.name)
    axes.set(xlabel="frames/s offered", ylabel="frames/s received", xlim=(0, right), ylim=(0, None))
    _gigabytes(axes.secondary_yaxis, "right", group)


def sockets(axes: Axes, group: Group, results: Results) -> None:
    """Draw the frame rates with several PULL sockets and I/O threads."""
    for shift, storage in enumerate(STORAGES[:2]):
        mine = [name for name in group.turns if name.startswith(f"{storage}, ")]
        rates, errors = _rates(group, mine)
        places = [place + (shift - 0.5) * 0.38 for place in range(len(mine))]
        axes.bar(places, rates, 0.36, yerr=errors, color=STORAGE_COLOURS[storage], label=storage)
        axes.set_xticks(range(len(mine)), [name.partition(", ")[2] for name in mine])
    axes.grid(axis="x", visible=False)
    _limits(axes, results, group.name, " (1 × 1)")
    axes.set(xlabel="PULL sockets × ZeroMQ I/O threads", ylabel=RATE)
    _gigabytes(axes.secondary_yaxis, "right", group)


def workers(axes: Axes, group: Group, results: Results) -> None:
    """Draw the frame rates when workers compress."""
    numbers = {name: tuple(map(int, name.split(" × "))) for name in group.turns}
    for threads, colour in zip(sorted({each[1] for each in numbers.values()}), (BLUE, ORANGE), strict=False):
        chosen = sorted((name for name in numbers if numbers[name][1] == threads), key=numbers.__getitem__)
        label = plural(threads, "I/O thread")
        places = [numbers[name][0] for name in chosen]
        _points(axes, places, group, chosen, color=colour, marker="o", label=label)
    axes.set_xticks(sorted({each[0] for each in numbers.values()}))
    title = f"{group.name} per frame, compressed on receipt (bslz4)"
    axes.set(title=title, xlabel="workers (threads)", ylabel=RATE, ylim=(0, None))


def latency(panels: Sequence[Axes], results: Results) -> None:
    """Draw the starts and ends of series over Tango."""
    groups = results.of("latency")
    for axes, title, limit in zip(panels, ("Arm → RUNNING", "last frame → ON"), (150, 200), strict=True):
        for place, group in enumerate(groups):
            values = group.values(group.name, f"{title}, ms")
            step = 0.3 / max(len(values) - 1, 1)
            places = [place - 0.15 + step * number for number in range(len(values))]
            axes.plot(values, places, "o", color=BLUE, alpha=0.6, markersize=4)
            axes.plot([statistics.median(values)] * 2, [place - 0.25, place + 0.25], color=INK, linewidth=2)
        axes.axvline(limit, color=VERMILION, linestyle="--", linewidth=1.0)
        _rows(axes, [group.name for group in groups], "ms (line: median; dashed: bar)")
        axes.set(title=title, xlim=(0, None))


def profile(panels: Sequence[Axes], results: Results) -> None:
    """Draw where the processor time goes, in the loop's thread and ZeroMQ's."""
    (axes,) = panels
    rows = [(group, name) for group in results.of("profile") for name in PROFILED if name in group.turns]
    for place, (group, name) in enumerate(rows):
        shares = {kind: sum(group.values(name, f"loop: {kind}, %+I/O: {kind}, %")) for kind in KINDS}
        _stack(axes, place, [(shares[kind], kind, colour) for kind, colour in KIND_COLOURS.items()])
    names = [f"{name}, {group.name}" for group, name in rows]
    _rows(axes, names, "% of the processor time of the process that receives")
    axes.set(xlim=(0, 100))


class Plot(NamedTuple):
    """One figure."""

    case: str
    """It is drawn from the results of this one."""
    size: tuple[float, float]
    """Inches."""
    of_group: Callable[[Axes, Group, Results], None] | None = None
    """Draws a panel: of each frame size, of four; or of the only one."""
    of_case: Callable[[Sequence[Axes], Results], None] | None = None
    """Draws so many panels, side by side, of all groups."""
    panels: int = 4
    legend: int = 0
    """Columns of a legend below all panels; 0: there is none."""


FIGURES = {
    "contenders": Plot("contenders", (9.6, 5.8), contenders),
    "cpu": Plot("contenders", (9.6, 5.6), cpu, legend=3),
    "offered": Plot("offered", (9.6, 7.6), offered, legend=3),
    "sockets": Plot("sockets", (9.6, 6.4), sockets, legend=5),
    "workers": Plot("workers", (6.4, 3.8), workers, panels=1, legend=5),
    "latency": Plot("latency", (9.6, 3.2), of_case=latency, panels=2),
    "profile": Plot("profile", (9.6, 4.6), of_case=profile, panels=1, legend=3),
}
"""Plots by file name."""


def draw_all(results: Results, folder: Path) -> list[Path]:
    """Draw every figure for which there are results; return the files."""
    import matplotlib

    drawn = {folder / f"{name}.svg": plot for name, plot in FIGURES.items() if results.of(plot.case)}
    for file, plot in drawn.items():
        with matplotlib.rc_context(STYLE):
            # No date, so that the same results give the same file.
            _draw(plot, results).savefig(file, metadata={"Date": None})
    return list(drawn)


def _draw(plot: Plot, results: Results) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=plot.size, layout="constrained")
    rows, columns = (2, 2) if plot.panels == 4 else (1, plot.panels)
    panels = list(figure.subplots(rows, columns, squeeze=False).ravel())
    groups = {group.name: group for group in results.of(plot.case)}
    for axes, name in zip(
        panels, [size.name for size in SIZES] if plot.panels == 4 else groups, strict=False
    ):
        if plot.of_group and name in groups:
            axes.set(title=f"{name} per frame")
            plot.of_group(axes, groups[name], results)
    if plot.of_case:
        plot.of_case(panels, results)
    if plot.legend:
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=plot.legend)
    return figure


def _in_order(group: Group) -> list[str]:
    return [name for name in CONTENDERS if name in group.turns]


def _offered_rate(name: str) -> float:
    """Return the offered rate of a contender; 0 for as fast as possible."""
    text = name.partition(", ")[2]
    return 0.0 if text == AS_FAST else float(text.removesuffix("/s").replace(",", ""))


def _stack(axes: Axes, place: int, shares: Iterable[tuple[float, str, str]]) -> None:
    """Draw shares, with their meanings and colours, beside each other."""
    left = 0.0
    for share, meaning, colour in shares:
        axes.barh(place, share, left=left, color=colour, height=0.7, label=None if place else meaning)
        left += share


def _rows(axes: Axes, names: Sequence[str], xlabel: str) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set(xlabel=xlabel)


def _rates(group: Group, names: Sequence[str]) -> tuple[list[float], list[float]]:
    """Return means, and their errors."""
    found = [mean(group.values(name, RATE)) for name in names]
    return [rate for rate, _ in found], [error for _, error in found]


def _points(axes: Axes, x: Sequence[float], group: Group, names: Sequence[str], **style: Any) -> None:
    y, errors = _rates(group, names)
    axes.errorbar(x, y, yerr=errors, markersize=4, **style)


def _limits(axes: Axes, results: Results, size: str, text: str = "") -> None:
    """Draw the rates of the limits."""
    group = results.get("contenders", size)
    for name, style in ((RECEIVE_LIMIT, "--"), (WRITE_LIMIT, "-.")):
        if group is not None and (rates := group.values(name, RATE)):
            line: Any = {"color": INK, "linewidth": 1.0, "linestyle": style, "label": name + text}
            axes.axhline(statistics.fmean(rates), **line)


def _gigabytes(add: Any, side: str, group: Group) -> None:
    """Add a second axis, in GB/s."""
    scale = next(size.nbytes for size in SIZES if size.name == group.name) / 1e9
    add(side, functions=(lambda rate: rate * scale, lambda gigabytes: gigabytes / scale)).set(
        **{"xlabel" if side == "top" else "ylabel": "GB/s"}
    )
