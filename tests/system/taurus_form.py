"""Shows a Taurus form of all that can be set, applies it untouched, and prints what was pending.

Run as a script: python taurus_form.py DEVICE ATTRIBUTE…, with QT_QPA_PLATFORM=offscreen. It prints one line
of JSON when everything is shown, one after Apply, and one after every value was applied by force.
"""

from __future__ import annotations

import json
import sys
import time
import warnings

warnings.simplefilter("ignore")  # of third parties, at import

from taurus.external.qt import Qt  # noqa: E402
from taurus.qt.qtgui.application import TaurusApplication  # noqa: E402
from taurus.qt.qtgui.panel import TaurusForm, TaurusValue  # noqa: E402

DEADLINE = 30.0


def is_shown(row: TaurusValue) -> bool:
    """Whether the row has its widget to write with, and a value in it."""
    widget = row.writeWidget()
    return widget is not None and widget.getValue() is not None and widget.isEnabled()


def rows_of(form: TaurusForm) -> dict[str, TaurusValue]:
    """Each row by the name of its attribute."""
    return {row.getModelObj().getSimpleName(): row for row in form.getItems()}


def say(step: str, form: TaurusForm) -> None:
    """One line: what stands in each row, and which of them Apply would write."""
    rows = rows_of(form)
    texts = {name: str(row.writeWidget().getValue()) for name, row in rows.items()}
    pending = [name for name, row in rows.items() if row.hasPendingOperations()]
    print(json.dumps({"step": step, "texts": texts, "pending": pending}), flush=True)


def main() -> None:
    """Show it, apply it, and end."""
    device, *names = sys.argv[1:]
    application = TaurusApplication(sys.argv[:1], cmd_line_parser=None, app_name="form")
    form = TaurusForm()
    form.setModel([f"{device}/{name}" for name in names])
    form.show()
    limit = time.monotonic() + DEADLINE
    while not (len(form.getItems()) == len(names) and all(map(is_shown, form.getItems()))):
        assert time.monotonic() < limit, [row.getModelName() for row in form.getItems() if not is_shown(row)]
        application.processEvents(Qt.QEventLoop.WaitForMoreEvents, 50)
    say("shown", form)
    form.apply()
    say("applied", form)
    for row in form.getItems():
        row.writeWidget().writeValue(forceApply=True)
    say("forced", form)


if __name__ == "__main__":
    main()
