"""Takes pictures of windows on a real screen, in several sizes, dark and light; `make pictures`: in Xvfb.

Writes NAME_STATE_WIDTH_THEME.png and prints a line per picture. With QT_SCALE_FACTOR=2 on a screen of 3840 x
2160 pixels, --large draws what a 4K screen shows.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from os import environ
from pathlib import Path

import pytest
from silx.gui import qt

from penstock.gui import theme
from penstock.gui.live.results.view import ResultsView
from penstock.gui.live.view import LiveView

ROOT = Path(__file__).resolve().parents[2]
SIZES = ((1280, 800), (960, 600), (1920, 1080))
LARGE = ((1920, 1080),)
"""On a screen of 4K, of which each pixel of a window is two by two."""
THEMES = (theme.DARK, theme.LIGHT)
PATIENCE = 20.0


def draw(module: str, out: Path, screen: str, *options: str, **environment: str) -> None:
    """Have `main` of a module of the tests draw into a folder, on a screen of so many pixels."""
    if shutil.which("xvfb-run") is None:
        pytest.skip("there is no xvfb-run: apt-get install xvfb xauth")
    # At the end of the path: no folder of the checkout may stand before an installed package.
    program = f"import sys; sys.path.append({str(ROOT)!r}); from {module} import main; sys.exit(main())"
    command = [sys.executable, "-P", "-c", program, str(out), *options]
    done = subprocess.run(
        ["xvfb-run", "-a", "-s", f"-screen 0 {screen}x24", *command],
        env={**environ, "QT_QPA_PLATFORM": "xcb", **environment}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def photograph(what: str, draws: Callable[[Photographer, Path], None]) -> int:
    """Take the pictures that the command line asks for; `draws` gets a folder that is deleted afterwards."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", metavar="WORD", help="pictures with this word in their name")
    parser.add_argument("--large", action="store_true", help="a 4K screen: idle, running and fault")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    application = qt.QApplication(["pictures"])
    camera = Photographer(application, args.folder, args.only, large=args.large)
    with tempfile.TemporaryDirectory(prefix="penstock-pictures-") as scratch:
        # What somebody's own windows have kept is not for a picture.
        for form in (qt.QSettings.NativeFormat, qt.QSettings.IniFormat):
            qt.QSettings.setPath(form, qt.QSettings.UserScope, scratch)
        draws(camera, Path(scratch))
    return 0 if camera.taken else 1


class Photographer:
    """Writes what windows look like."""

    def __init__(self, application: qt.QApplication, folder: Path, only: str, *, large: bool) -> None:
        self._application = application
        self.large = large
        """Whether only what a 4K screen shows is wanted."""
        self._sizes = LARGE if large else SIZES
        self._end = "x2" if large else ""
        self._folder = folder
        self._only = only
        self.taken: list[Path] = []

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Let Qt work until it is so."""
        end = time.monotonic() + PATIENCE
        while not condition():
            self._application.processEvents(qt.QEventLoop.AllEvents, 20)
            assert time.monotonic() < end, f"{what}: not within {PATIENCE:g} s"
            time.sleep(0.005)

    def process_events(self, seconds: float = 0.4) -> None:
        """Let pictures be drawn and layouts be made."""
        end = time.monotonic() + seconds
        self.until(lambda: time.monotonic() > end, "settled")

    def take(self, name: str, window: qt.QWidget, *, resize: bool = True, all_sizes: bool = True) -> None:
        """Take it in all sizes, or only in the first, in the present theme."""
        look = "dark" if theme.current().dark else "light"
        for width, height in self._sizes if resize and all_sizes else self._sizes[:1]:
            size = f"_{width}{self._end}" if resize else self._end
            file = self._folder / f"{name}{size}_{look}.png"
            if self._only not in file.name:
                continue
            if resize:
                window.resize(width, height)
            self.process_events()
            views: list[LiveView | ResultsView] = [
                view for view in window.findChildren(LiveView) if view.isVisible() and view.drawn()
            ]
            views += [view for view in window.findChildren(ResultsView) if view.isVisible()]
            self.until(lambda views=views: all(map(_is_drawn, views)), f"{file.name} drawn")
            self.process_events(0.05)
            picture = window.screen().grabWindow(window.winId()) if _on_a_screen() else window.grab()
            assert picture.save(str(file)), file
            assert not resize or picture.width() >= width, f"{file}: {picture.width()} pixels wide"
            self.taken.append(file)
            print(file, flush=True)

    def each_theme(self) -> Iterator[theme.Theme]:
        """Dark, then light: windows choose when they are made."""
        for look in THEMES:
            theme.apply(self._application, look)
            yield look


def _is_drawn(view: LiveView | ResultsView) -> bool:
    """Whether the picture has the pixels of its present size."""
    if isinstance(view, ResultsView):
        image = view.plots.image
        return not image.isVisible() or image.whole() is None or image.is_current()
    return view.plot.whole() is None or view.plot.is_current()


def _on_a_screen() -> bool:
    return qt.QGuiApplication.platformName() == "xcb"
