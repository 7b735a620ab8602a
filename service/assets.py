"""The pages for people: a service's state, and its HTTP interface. They load nothing from other hosts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import PurePath
from string import Template
from types import MappingProxyType

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'"
)
"""Policy for browsers: load nothing from other hosts, and run no inline scripts."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}
_OURS = "penstock.service"
_SWAGGER = "fastapi_swagger.resources"
"""Swagger UI as its project releases it (Apache-2.0), in a Python package."""
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}


@dataclass(frozen=True)
class Asset:
    """A file that a browser loads."""

    package: str
    name: str

    @property
    def media_type(self) -> str:
        """What kind of file it is."""
        return _TYPES[PurePath(self.name).suffix]

    def read(self) -> bytes:
        """Return what the browser gets."""
        return files(self.package).joinpath(self.name).read_bytes()


@dataclass(frozen=True, kw_only=True)
class Page(Asset):
    """The page of a service: the file has the service's own part, around which stands what all pages have."""

    service: str
    """Such as "pipeline"."""
    title: str
    script: str
    styles: tuple[str, ...]
    links: Mapping[str, str]
    """Texts by path."""

    def read(self) -> bytes:
        """Return the whole page."""
        frame = Template(files(_OURS).joinpath("frame.html").read_text())
        return frame.substitute(
            title=self.title, service=self.service, name=self.service.capitalize(), script=self.script,
            styles="".join(f'<link rel="stylesheet" href="assets/{name}">\n' for name in self.styles),
            links="".join(f'<a href="{path}">{text}</a> ' for path, text in self.links.items()),
            main=super().read().decode(),
        ).encode()  # fmt: skip


def of(
    package: str, service: str, script: str, *others: str, title: str = "",
    links: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Asset]:  # fmt: skip
    """Return what a browser loads from a service, by path: its page, and what every service has.

    Args:
        package: where the files are.
        service: such as "pipeline".
        script: of the page.
        others: style sheets of the page, and scripts that its script imports.
        title: of the page, if it is not the name of the service.
        links: of the page, beside those that all pages have: texts by path.
    """
    page = Page(
        package, "page.html", service=service, title=title or service, script=script, links=links,
        styles=tuple(name for name in others if name.endswith(".css")),
    )  # fmt: skip
    return {"/": page, **_files(package, script, *others), **SHARED}


def _files(package: str, *names: str) -> dict[str, Asset]:
    return {f"/assets/{name}": Asset(package, name) for name in names}


SHARED = {
    "/docs": Asset(_OURS, "docs.html"),
    **_files(_OURS, "page.css", "shown.js", "docs.js"),
    **_files(_SWAGGER, "swagger-ui.css", "swagger-ui-bundle.js"),
}
"""Assets that every service has, by path."""
