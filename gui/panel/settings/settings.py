"""Forms made from the device's own attributes: settings of every detector, and of this camera."""

from __future__ import annotations

import os
from collections.abc import Mapping

from silx.gui import qt

from penstock.gui.labels import ClampedLabel, ElidedLabel
from penstock.gui.layouts import in_column, in_row
from penstock.gui.model.attributes.attribute import Attribute, in_sections
from penstock.gui.model.attributes.metadata import METADATA
from penstock.gui.model.detector import FILE, DetectorModel
from penstock.gui.model.preset_files import PresetFolders
from penstock.gui.model.texts.sentences import strip
from penstock.gui.model.view import DetectorView
from penstock.gui.panel.fields.field import PROBLEM_SIGN, Field, make_field
from penstock.gui.panel.fields.form import Form
from penstock.gui.panel.settings.file_field import FileField
from penstock.gui.panel.settings.metadata_page import MetadataPage
from penstock.gui.panel.settings.preset_bar import PresetBar
from penstock.gui.panel.style import filter_line, look

LEAST_WIDTH = 420
"""Pixels, also before the device has answered."""
SEARCH = "Search for a setting of the camera"
MANY = 10
"""Number of fields of a camera from which on there is a search field."""


class Settings(qt.QWidget):
    """Presets and forms; these are created again when the device returns with other attributes.

    Args:
        model: model that is read and written.
        presets: folders of presets; by default those of the environment.
    """

    def __init__(
        self, model: DetectorModel, parent: qt.QWidget | None = None, presets: PresetFolders | None = None
    ) -> None:
        super().__init__(parent)
        self._model = model
        self.presets = PresetBar(model, presets or PresetFolders.of(os.environ), self)
        self._made_of: object = None
        self.series = Form(self)
        self.camera = Form(self)
        self.file: FileField | None = None
        self.metadata: MetadataPage | None = None
        self.search = filter_line("", SEARCH, self)
        self._plan = ElidedLabel(self)
        self._plan.hide()  # until there is a form for it
        self._view = DetectorView(name=model.name)
        self._strip = ClampedLabel(2, self)
        self._strip.setObjectName("strip")
        self._strip.setAccessibleName("About the settings")
        self._strip.setContentsMargins(14, 5, 10, 5)
        self._none = qt.QLabel("The settings are shown as soon as the device answers.", self)
        self._none.setWordWrap(True)
        self._none.setAlignment(qt.Qt.AlignCenter)
        self._none.setProperty("role", "muted")
        for each in (self.series, self.camera, self.search, self._plan):
            each.hide()  # there is nothing in them yet
        self._tabs = _Tabs(self)
        self._tabs.setDocumentMode(True)
        self._tabs.tabBar().setDrawBase(False)
        self._tabs.setCornerWidget(self.presets)
        self.presets.said.connect(self._show_strip)
        self._tabs.currentChanged.connect(lambda _: self._focus_safely())
        self._pages = qt.QStackedWidget(self)
        self._pages.addWidget(self._none)
        self._pages.addWidget(self._tabs)
        self.setFocusPolicy(qt.Qt.ClickFocus)
        line = qt.QFrame(self)
        line.setObjectName("above-strip")
        line.setFixedHeight(1)
        in_column((self._pages, 1), line, self._strip, of=self, spacing=0)
        qt.QApplication.instance().focusChanged.connect(self._show_strip)

    def says(self) -> str:
        """Return the sentence below the forms."""
        return self._strip.whole()

    def show_tab(self, title: str) -> None:
        """Bring a page to the front: "Series", "Metadata" or "Camera"."""
        for place in range(self._tabs.count()):
            if self._tabs.tabText(place).replace("&", "") == title:
                self._tabs.setCurrentIndex(place)

    def minimumSizeHint(self) -> qt.QSize:
        """Size of the wider form."""
        return super().minimumSizeHint().expandedTo(qt.QSize(LEAST_WIDTH, 0))

    def show_view(self, view: DetectorView) -> None:
        """Follow the snapshot."""
        made_of = [
            (each.name, each.kind, each.group, each.writable, each.choices, each.unit)
            for each in view.attributes.values()
            if each.group != "state"
        ]
        if made_of != self._made_of and view.attributes:
            self._made_of = made_of
            self._make(view.attributes)
            self._pages.setCurrentIndex(1)
        self.series.show_view(view)
        self.camera.show_view(view)
        self.camera.hide_fields(view.lacking)
        if self.file is not None:
            self.file.show_view(view)
        if self.metadata is not None:
            self.metadata.show_view(view)
        self.presets.show_view(view)
        self._plan.set_whole(view.plan.sentence())
        self._view = view
        self._show_strip()

    def _focus_safely(self) -> None:
        """Give the focus to the tabs if Qt has given it to the first field of a page that comes to the front,
        and that is one that a single key would write."""
        focused = qt.QApplication.focusWidget()
        at_once = isinstance(focused, (qt.QAbstractButton, qt.QComboBox, qt.QAbstractSpinBox))
        if at_once and self._tabs.isAncestorOf(focused):
            self._tabs.tabBar().setFocus()

    def _show_strip(self, *_: object) -> None:
        said = strip(self._view, self._focused())
        problem = said.problem if said.words else self.presets.is_problem()
        words = f"{PROBLEM_SIGN} {said.words}" if said.problem else said.words
        look(self._strip, role="problem" if problem else "muted")
        self._strip.set_whole(words or self.presets.says(), "" if words else self.presets.tip())

    def _focused(self) -> str:
        """Return the attribute of the field that has the focus."""
        widget = qt.QApplication.focusWidget()
        while widget is not None and widget is not self:
            if isinstance(widget, Field):
                return widget.name
            if widget is self.file:
                return FILE
            if widget is self.metadata:
                return METADATA
            widget = widget.parentWidget()
        return ""

    def _make(self, attributes: Mapping[str, Attribute]) -> None:
        focused = qt.QApplication.focusWidget()
        if focused is not None and self._tabs.isAncestorOf(focused):
            self.setFocus()  # and not what Qt finds next, which may be a button
        chosen = max(0, self._tabs.currentIndex())
        pages = [self._tabs.widget(place) for place in range(self._tabs.count())]
        for page in (*pages, self.series, self.camera):
            page.deleteLater()
        self._tabs.clear()
        of_series = [each for each in attributes.values() if each.group == "series"]
        self.series = self._make_series([each for each in of_series if each.name != METADATA])
        self.metadata = MetadataPage(self._model, self) if METADATA in attributes else None
        own = [each for each in attributes.values() if each.group == "camera"]
        readings = [each for each in attributes.values() if each.group == "reading"]
        self.camera = self._make_camera(own, readings)
        self._tabs.addTab(self.series, "&Series")
        self._tabs.setTabToolTip(0, "Settings that every detector has")
        if self.metadata is not None:
            place = self._tabs.addTab(self.metadata, "Meta&data")
            self._tabs.setTabToolTip(place, "Sample, user and whatever else the file should have")
        place = self._tabs.addTab(self._camera_page(len(own) + len(readings)), "&Camera")
        self._tabs.setTabToolTip(place, "Settings and readings of this camera")
        self._tabs.setCurrentIndex(chosen)

    def _make_series(self, attributes: list[Attribute]) -> Form:
        form = Form(self)
        self.file = None
        for title, members in in_sections(attributes).items():
            form.add_heading(title)
            names = [each.name for each in members]
            fields = {
                each.name: make_field(self._model, each, form.widget())
                for each in members
                if each.name != FILE
            }
            if FILE in names:
                self.file = FileField(self._model, form.widget())
                form.add_wide(self.file)
            for name, field in fields.items():
                if name == "FrameRate" and "FrameTime" in fields:
                    continue
                if name == "FrameTime" and "FrameRate" in fields:
                    form.add_pair(field, fields["FrameRate"])
                else:
                    form.add_field(field)
            if title == "Triggers":
                self._plan = ElidedLabel(form.widget())
                self._plan.setProperty("role", "muted")
                self._plan.setAccessibleName("Planned")
                form.add_note(self._plan)
        form.fit()
        return form

    def _make_camera(self, own: list[Attribute], readings: list[Attribute]) -> Form:
        form = Form(self)
        for title, members in (("Settings", own), ("Readings", readings)):
            if members:
                form.add_heading(title)
            for attribute in members:
                form.add_field(make_field(self._model, attribute, form.widget()))
        form.fit()
        return form

    def _camera_page(self, count: int) -> qt.QWidget:
        page = qt.QWidget(self)
        page.setProperty("role", "form")
        self.search = filter_line("Search for a setting (Ctrl+F)", SEARCH, page)
        self.search.setVisible(count > MANY)
        nothing = qt.QLabel("No setting of this camera has that in its name or description.", page)
        nothing.setProperty("role", "muted")
        nothing.setContentsMargins(14, 8, 14, 0)
        nothing.hide()
        self.search.textChanged.connect(lambda text: nothing.setVisible(not self.camera.filter(text)))
        find = qt.QShortcut(qt.QKeySequence.Find, page)
        find.activated.connect(self.search.setFocus)
        search = in_row(self.search, margins=(14, 10, 14, 2))
        in_column(search, nothing, (self.camera, 1), of=page, spacing=0)
        return page


class _Tabs(qt.QTabWidget):
    """Without the line below its corner, which is white in every theme."""

    def paintEvent(self, event: qt.QPaintEvent) -> None:
        """Draw nothing: pages and bar draw themselves."""
