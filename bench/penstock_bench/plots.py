"""The figures of the performance page, drawn from the results: SVG, on a white card, so that they can be
read on light and on dark pages."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

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


def draw_all(results: Results, folder: Path) -> list[Path]:
    """Draw every figure for which there are results; return the files."""
    import matplotlib

    drawn = []
    for name, (draw, case) in FIGURES.items():
        if not results.of(case):
            continue
        with matplotlib.rc_context(STYLE):
            file = folder / f"{name}.svg"
            # No date, so that the same results give the same file.
            draw(results).savefig(file, metadata={"Date": None})
        drawn.append(file)
    return drawn


def contenders(results: Results) -> Figure:
    """Draw the frame rates of all contenders, writing to the RAM disk or live only."""
    figure, panels = _panels(2, 2, 9.6, 5.8)
    for axes, group, names in _sizes(panels, results, "contenders"):
        for place, name in enumerate(names):
            rate, error = mean(group.values(name, RATE))
            axes.barh(place, rate, xerr=error, color=COLOURS[name], height=0.7)
            axes.annotate(
                f"{rate:,.0f}", (rate + error, place), xytext=(5, 0), textcoords="offset points", va="center"
            )
        axes.margins(x=0.22)
        _rows(axes, names, xlabel=RATE)
        _gigabytes(axes, group, along_x=True)
    return figure


def cpu(results: Results) -> Figure:
    """Draw the processor time per frame, by thread and process."""
    figure, panels = _panels(2, 2, 9.6, 5.6)
    for axes, group, names in _sizes(panels, results, "contenders"):
        parts = {meaning: (f"{thread}, µs", colour) for thread, (meaning, colour) in THREADS.items()}
        for place, name in enumerate(names):
            shares = {
                meaning: (statistics.fmean(group.values(name, part) or [0.0]), colour)
                for meaning, (part, colour) in parts.items()
            }
            _stack(axes, place, shares)
        _rows(axes, names, xlabel="µs of processor time per frame")
    _legend(figure, panels[0], columns=3)
    return figure


def offered(results: Results) -> Figure:
    """Draw frames received against frames offered; beside them, as fast as possible."""
    figure, panels = _panels(2, 2, 9.6, 7.6)
    for axes, group, names in _sizes(panels, results, "offered"):
        rates = {name: _offered_rate(name) for name in names}
        most = max(rates.values())
        for storage, colour in STORAGE_COLOURS.items():
            mine = [name for name in names if name.startswith(f"{storage}, ")]
            paced = sorted((name for name in mine if rates[name]), key=lambda name: rates[name])
            places = [rates[name] for name in paced]
            _points(axes, places, group, paced, color=colour, marker="o", label=storage)
            free = [name for name in mine if not rates[name]]
            _points(axes, [FREE * most] * len(free), group, free, color=colour, marker="D", linestyle="")
        axes.plot([0, most], [0, most], color=GREY, linewidth=0.8, linestyle=":", label="all received")
        axes.axvspan((1 + FREE) / 2 * most, (3 * FREE - 1) / 2 * most, color=GRID, alpha=0.5)
        axes.annotate(
            AS_FAST, (FREE * most, 0), xytext=(-9, 6), textcoords="offset points", rotation=90, ha="center",
            fontsize=8,
        )  # fmt: skip
        _limits(axes, results, group.name)
        axes.set(
            xlabel="frames/s offered", ylabel="frames/s received", xlim=(0, (3 * FREE - 1) / 2 * most),
            ylim=(0, None),
        )  # fmt: skip
        _gigabytes(axes, group)
    _legend(figure, panels[0], columns=3)
    return figure


def sockets(results: Results) -> Figure:
    """Draw the frame rates with several PULL sockets and I/O threads."""
    figure, panels = _panels(2, 2, 9.6, 6.4)
    for axes, group, names in _sizes(panels, results, "sockets"):
        for shift, storage in enumerate(STORAGES[:2]):
            mine = [name for name in names if name.startswith(f"{storage}, ")]
            rates = [mean(group.values(name, RATE)) for name in mine]
            axes.bar(
                [place + (shift - 0.5) * 0.38 for place in range(len(mine))], [rate for rate, _ in rates],
                0.36, yerr=[error for _, error in rates], color=STORAGE_COLOURS[storage], label=storage,
            )  # fmt: skip
            axes.set_xticks(range(len(mine)), [name.partition(", ")[2] for name in mine])
        axes.grid(axis="x", visible=False)
        _limits(axes, results, group.name, " (1 × 1)")
        axes.set(xlabel="PULL sockets × ZeroMQ I/O threads", ylabel=RATE)
        _gigabytes(axes, group)
    _legend(figure, panels[0])
    return figure


def workers(results: Results) -> Figure:
    """Draw the frame rates when workers compress."""
    figure, (axes,) = _panels(1, 1, 6.4, 3.8)
    (group,) = results.of("workers")
    numbers = {name: tuple(map(int, name.split(" × "))) for name in group.turns}
    for threads, colour in zip(sorted({each[1] for each in numbers.values()}), (BLUE, ORANGE), strict=False):
        chosen = sorted(
            (name for name in numbers if numbers[name][1] == threads), key=lambda name: numbers[name]
        )
        label = f"{threads} I/O thread{'s' * (threads > 1)}"
        places = [numbers[name][0] for name in chosen]
        _points(axes, places, group, chosen, color=colour, marker="o", label=label)
    axes.set_xticks(sorted({each[0] for each in numbers.values()}))
    axes.set(
        title=f"{group.name} per frame, compressed on receipt (bslz4)", xlabel="workers (threads)",
        ylabel=RATE, ylim=(0, None),
    )  # fmt: skip
    _legend(figure, axes)
    return figure


def latency(results: Results) -> Figure:
    """Draw the starts and ends of series over Tango."""
    figure, panels = _panels(1, 2, 9.6, 3.2)
    groups = results.of("latency")
    for axes, title, limit in zip(panels, ("Arm → RUNNING", "last frame → ON"), (150, 200), strict=True):
        for place, group in enumerate(groups):
            values = group.values(group.name, f"{title}, ms")
            step = 0.3 / max(len(values) - 1, 1)
            places = [place - 0.15 + step * number for number in range(len(values))]
            axes.plot(values, places, "o", color=BLUE, alpha=0.6, markersize=4)
            axes.plot([statistics.median(values)] * 2, [place - 0.25, place + 0.25], color=INK, linewidth=2)
        axes.axvline(limit, color=VERMILION, linestyle="--", linewidth=1.0)
        _rows(axes, [group.name for group in groups], xlabel="ms (line: median; dashed: bar)")
        axes.set(title=title, xlim=(0, None))
    return figure


def profile(results: Results) -> Figure:
    """Draw where the processor time goes, in the loop's thread and ZeroMQ's."""
    figure, (axes,) = _panels(1, 1, 9.6, 4.6)
    rows = [(group, name) for group in results.of("profile") for name in PROFILED if name in group.turns]
    for place, (group, name) in enumerate(rows):
        shares = {
            kind: (sum(group.values(name, f"loop: {kind}, %+I/O: {kind}, %")), colour)
            for kind, colour in KIND_COLOURS.items()
        }
        _stack(axes, place, shares)
    _rows(
        axes, [f"{name}, {group.name}" for group, name in rows],
        xlabel="% of the processor time of the process that receives",
    )  # fmt: skip
    axes.set(xlim=(0, 100))
    _legend(figure, axes, columns=3)
    return figure


FIGURES: dict[str, tuple[Callable[[Results], Figure], str]] = {
    "contenders": (contenders, "contenders"), "cpu": (cpu, "contenders"), "offered": (offered, "offered"),
    "sockets": (sockets, "sockets"), "workers": (workers, "workers"), "latency": (latency, "latency"),
    "profile": (profile, "profile"),
}  # fmt: skip
"""By file name: what draws it, and the case that it needs."""


def _panels(rows: int, columns: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False).ravel())


def _sizes(panels: list[Axes], results: Results, case: str) -> list[tuple[Axes, Group, list[str]]]:
    """Return a panel for each frame size that was measured, with its contenders in their order."""
    found = []
    for axes, size in zip(panels, SIZES, strict=True):
        if (group := results.get(case, size.name)) is not None:
            axes.set(title=f"{size.name} per frame")
            names = [name for name in CONTENDERS if name in group.turns]
            found.append((axes, group, names or list(group.turns)))
    return found


def _offered_rate(name: str) -> float:
    """Return the offered rate of a contender; 0 for as fast as possible."""
    text = name.partition(", ")[2]
    return 0.0 if text == AS_FAST else float(text.removesuffix("/s").replace(",", ""))


def _stack(axes: Axes, place: int, shares: dict[str, tuple[float, str]]) -> None:
    left = 0.0
    for meaning, (share, colour) in shares.items():
        axes.barh(place, share, left=left, color=colour, height=0.7, label=None if place else meaning)
        left += share


def _rows(axes: Axes, names: Sequence[str], *, xlabel: str) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set(xlabel=xlabel)


def _points(axes: Axes, x: Sequence[float], group: Group, names: Sequence[str], **style: Any) -> None:
    rates = [mean(group.values(name, RATE)) for name in names]
    y, errors = [rate for rate, _ in rates], [error for _, error in rates]
    axes.errorbar(x, y, yerr=errors, markersize=4, **style)


def _limits(axes: Axes, results: Results, size: str, text: str = "") -> None:
    """Draw the rates of the limits."""
    group = results.get("contenders", size)
    for name, style in ((RECEIVE_LIMIT, "--"), (WRITE_LIMIT, "-.")):
        if group is not None and (rates := group.values(name, RATE)):
            axes.axhline(
                statistics.fmean(rates), color=INK, linewidth=1.0, linestyle=style, label=name + text
            )


def _gigabytes(axes: Axes, group: Group, *, along_x: bool = False) -> None:
    """Add a second axis, in GB/s."""
    scale = next(size.nbytes for size in SIZES if size.name == group.name) / 1e9
    there, back = (lambda rate: rate * scale), (lambda gigabytes: gigabytes / scale)
    second: Any = axes.secondary_xaxis if along_x else axes.secondary_yaxis
    drawn = second("top" if along_x else "right", functions=(there, back))
    (drawn.set_xlabel if along_x else drawn.set_ylabel)("GB/s")


def _legend(figure: Figure, axes: Axes, columns: int = 5) -> None:
    """Draw one legend below all panels."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)
