"""The pages for people: a service's state, and its HTTP interface. They load nothing from other hosts."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'"
)
"""Policy for browsers: load nothing from other hosts, and run no inline scripts."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}


@dataclass(frozen=True)
class Asset:
    """A file that a browser loads."""

    package: str
    name: str
    media_type: str

    def read(self) -> bytes:
        """Return the content of the file."""
        return files(self.package).joinpath(self.name).read_bytes()


_OURS = "penstock.service"
_SWAGGER = "fastapi_swagger.resources"
"""Swagger UI as its project releases it (Apache-2.0), in a Python package."""
SHARED = {
    "/assets/page.css": Asset(_OURS, "page.css", "text/css"),
    "/assets/shown.js": Asset(_OURS, "shown.js", "text/javascript"),
    "/docs": Asset(_OURS, "docs.html", "text/html"),
    "/assets/docs.js": Asset(_OURS, "docs.js", "text/javascript"),
    "/assets/swagger-ui.css": Asset(_SWAGGER, "swagger-ui.css", "text/css"),
    "/assets/swagger-ui-bundle.js": Asset(_SWAGGER, "swagger-ui-bundle.js", "text/javascript"),
}
"""Assets that every service has, by path."""
