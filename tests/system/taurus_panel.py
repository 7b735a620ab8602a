"""Shows the Taurus panel of a device and prints, as one JSON line after each change, what stands in it.

Run as a script: python taurus_panel.py DEVICE SCREENSHOT.png, with QT_QPA_PLATFORM=offscreen.
"""

from __future__ import annotations

import json
import re
import sys
import warnings

warnings.simplefilter("ignore")  # of third parties, at import

from taurus.external.qt import Qt  # noqa: E402
from taurus.qt.qtgui.application import TaurusApplication  # noqa: E402
from taurus.qt.qtgui.panel import TaurusDevicePanel, TaurusValue  # noqa: E402


def text_of(widget: Qt.QWidget | None) -> str | None:
    """What a person reads in a widget."""
    text = getattr(widget, "text", None) or getattr(widget, "getDisplayValue", None)
    return str(text()) if callable(text) else None


def range_of(widget: Qt.QWidget) -> str | None:
    """The limits, as the tool tip of an attribute's name shows them."""
    found = re.search(r"<B>Range:</B></TD><TD>([^<]*)</TD>", widget.toolTip())
    return found[1] if found else None


def contents(panel: TaurusDevicePanel) -> dict[str, object]:
    """Each attribute's row, and the state above and the status below them."""
    rows = {
        row.labelWidget().text(): {
            "read": text_of(row.readWidget()),
            "write": text_of(row.writeWidget()),
            "unit": text_of(row.unitsWidget()),
            "range": range_of(row.labelWidget()),
        }
        for row in panel.findChildren(TaurusValue)
        if row.labelWidget() is not None
    }
    everything = [text_of(label) for label in panel.findChildren(Qt.QLabel)]
    return {"rows": rows, "texts": sorted({text for text in everything if text})}


def main() -> None:
    """Show it until the process is ended."""
    device, screenshot = sys.argv[1:]
    application = TaurusApplication(sys.argv[:1], cmd_line_parser=None, app_name="panel")
    panel = TaurusDevicePanel()
    panel.setModel(device)
    panel.resize(900, 1250)
    panel.show()
    shown = ""

    def look() -> None:
        nonlocal shown
        text = json.dumps(contents(panel))
        if text != shown:
            shown = text
            panel.grab().save(screenshot)
            print(text, flush=True)

    timer = Qt.QTimer()
    timer.timeout.connect(look)
    timer.start(100)
    application.exec_()


if __name__ == "__main__":
    main()
