"""A question in a box that holds up nothing else; Enter and Esc leave things as they are."""

from __future__ import annotations

from collections.abc import Callable

from silx.gui import qt


def ask(
    parent: qt.QWidget, title: str, text: str, does: str, leaves: str, then: Callable[[bool], None],
    role: int = qt.QMessageBox.DestructiveRole,
) -> qt.QMessageBox:  # fmt: skip
    """Open a question, and return its box.

    Args:
        parent: widget that asks.
        title: of the box.
        text: the question.
        does: text of the button that does it.
        leaves: text of the one that does not.
        then: called with the answer.
        role: what `does` is to Qt.
    """
    box = qt.QMessageBox(parent)
    box.setIcon(qt.QMessageBox.Question)
    box.setWindowTitle(title)
    box.setTextFormat(qt.Qt.PlainText)
    box.setText(text)
    yes, no = box.addButton(does, role), box.addButton(leaves, qt.QMessageBox.RejectRole)
    box.setDefaultButton(no)
    box.setEscapeButton(no)
    box.setAttribute(qt.Qt.WA_DeleteOnClose)
    box.finished.connect(lambda _: then(box.clickedButton() is yes))
    box.open()
    return box
