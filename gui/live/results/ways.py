"""How each result is shown, and which one is: as the user has chosen, or else as is usual."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.gui.live.results.snapshot import Page, pages
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
