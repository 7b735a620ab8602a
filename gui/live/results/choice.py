"""What the user wants to see: a result, how it is shown, and of which frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from silx.gui import qt

from penstock.gui.live.results.listing import ResultList
from penstock.gui.live.results.sources.snapshot import Page, Snapshot, Wish, pages
from penstock.gui.live.results.steps import Steps
from penstock.gui.live.results.tools import Tools
from penstock.processing.models import Result


class Ways:
    """Remembers how the user has chosen to see each result."""

    def __init__(self) -> None:
        self.prefers: Page | None = None
        """How results are shown of which the user has not said it, where they can be."""
        self._chosen: dict[str, Page] = {}

    def choose(self, name: str, page: Page) -> None:
        """Show the result of this name so from now on."""
        self._chosen[name] = page

    def page(self, result: Result | None) -> Page | None:
        """Return how a result is shown; `None` if it cannot be, or there is none."""
        if result is None:
            return None
        ways, chosen = pages(result), self._chosen.get(result.name, self.prefers)
        return chosen if chosen in ways else ways[0] if ways else None


def first(results: Sequence[Result]) -> str:
    """Return what is shown unless the user chooses: the first curve, or else a number, or an image."""

    def worth(result: Result) -> int:
        if result.kind == "value":
            return {1: 0, 0: 1, 2: 2}.get(len(result.shape), 9)
        return 3 if pages(result) else 9

    listed = [each for each in results if each.kind != "axis"]
    errors = {each.errors for each in listed}
    return min(listed, key=lambda each: (worth(each), each.name in errors)).name if listed else ""


class Choice(qt.QObject):
    """Follows list, slider and tools, and offers in them what can be chosen.

    Args:
        results: the list.
        steps: choose the frame.
        tools: choose how it is shown.
        known: returns what is known now.
    """

    changed = qt.Signal(bool)
    """`wish` may be another one, and whether the result is shown in another way."""

    def __init__(
        self,
        results: ResultList,
        steps: Steps,
        tools: Tools,
        known: Callable[[], Snapshot],
        parent: qt.QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.ways = Ways()
        """How each result is shown."""
        self._results, self._steps, self._tools, self._known = results, steps, tools, known
        self._page: Page | None = None
        self._wish = Wish()
        results.chosen.connect(self._follow)
        steps.changed.connect(self._follow)
        tools.page_chosen.connect(self._choose_page)
        tools.last.valueChanged.connect(self._follow)
        tools.errors.toggled.connect(self._follow)

    def page(self) -> Page | None:
        """Return how the result is shown; `None` before there is one."""
        return self._page

    def wish(self) -> Wish:
        """Return what is wanted."""
        return self._wish

    def result(self) -> Result | None:
        """Return what is known of the result that is chosen; `None`: nothing yet."""
        name = self._results.name()
        return next((each for each in self._known().results if each.name == name), None)

    def choose(self, name: str, page: Page | None = None) -> None:
        """Choose a result, now or as soon as there is one of this name; `page`: how, by default as before."""
        if page is not None:
            self.ways.choose(name, page)
        self._results.choose(name)
        self._follow()

    def go_to_row(self, frame: int) -> None:
        """Choose the curve of a frame."""
        self._steps.go(frame)
        self._choose_page(Page.CURVE)

    def offer(self, before: Snapshot) -> None:
        """Offer the results that are known now, unless they are those of the snapshot before."""
        now = self._known()
        if now.results != before.results or now.series != before.series:
            self._results.show_results(now.results, first(now.results))
            self._follow()

    def _choose_page(self, page: Page) -> None:
        self.ways.choose(self._results.name(), page)
        self._follow()

    def _follow(self, *_: object) -> None:
        result = self.result()
        before, self._page = self._page, self.ways.page(result)
        errors = result is not None and bool(result.errors)
        self._tools.show_page(self._page, () if result is None else pages(result), errors=errors)
        self._wish = Wish(
            name="" if self._page is None else self._results.name(), page=self._page or Page.CURVE,
            frame=self._steps.frame(),
            last=self._tools.last.value(), errors=self._tools.errors.isChecked(),
        )  # fmt: skip
        self.changed.emit(self._page is not before)
