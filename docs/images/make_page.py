"""Makes docs/images/page.png: the page of a receiver that takes a simulated powder series, in a browser.

Run it after a change to the page, in the checkout: python docs/images/make_page.py. It needs the extras tango
(for the simulator) and receiver, Debian's package chromium, and no screen.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
PICTURE = Path(__file__).with_name("page.png")
SIZE = 1280, 760


def main() -> None:
    """Take the series and the picture."""
    sys.path.append(str(ROOT))
    from docs.images.make_viewer import shrink, take
    from tests.browser import Browser

    with ExitStack() as stack:
        profile = Path(stack.enter_context(TemporaryDirectory()))
        receiver = take(stack)
        browser = stack.enter_context(closing(Browser(profile)))
        browser.show_as(*SIZE)
        browser.open(f"{receiver['http']}/")
        browser.wait("/stored\\t4\\d/.test(document.body.innerText) && document.images[0].naturalWidth > 900")
        browser.picture(PICTURE)
    shrink(PICTURE)


if __name__ == "__main__":
    main()
