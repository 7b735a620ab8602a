"""Names of detector files by a template: `{ScanDir}/{ScanFile}_{ScanID:05d}_{detector}_{number:04d}.h5`."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

DEFAULT: Final = "{ScanDir}/{ScanFile}_{ScanID:05d}_{detector}_{number:04d}.h5"
SCHEME: Final = "h5file://"
"""A template may begin with it, as a reference does; it is no part of the file name."""
SETTING: Final = "FileTemplate"
"""Attribute of the channel that has the template."""
PATTERN: Final = "ValueRefPattern"
"""What Sardana calls the template in a measurement group."""
FIELDS: Final[Mapping[str, str | int]] = {
    "ScanDir": "/data", "ScanFile": "scan", "ScanID": 1, "detector": "sim", "number": 1, "index": 1,
}  # fmt: skip
"""The fields, each with a value to try a template with. {index} is Sardana's name of {number}: where every
frame has a file of its own, it counts the frames."""

SUFFIXES: Final = (".h5", ".hdf5", ".nxs")

_NOT_IN_A_NAME = re.compile(r"[^\w.+=@-]+")
_NOT_IN_A_PATH = re.compile(r"[\x00-\x1f\x7f]|::")


class TemplateError(ValueError):
    """A template cannot name files; the sentence has the remedy."""


def render(
    template: str, context: Mapping[str, object], detector: str, number: int, setting: str = SETTING
) -> str:
    """Return the absolute path of a file.

    Args:
        template: with the fields of `FIELDS` and Python's format specifications.
        context: keys "scan_dir", "scan_file" (without its suffix) and "scan_id" of the channel's
            ScanContext; outside a scan there is at least "scan_dir".
        detector: the channel's name.
        number: of the series in the scan, from 1.
        setting: where the template was set, `SETTING` or `PATTERN`; errors name it.

    Raises:
        TemplateError: the template or ScanDir is not valid.
    """
    check(template, setting)
    scan_dir = str(context.get("scan_dir") or "")
    if "{ScanDir" in template and not scan_dir.startswith("/"):
        is_now = f"is {scan_dir!r}, not an absolute path" if scan_dir else "is not set"
        raise TemplateError(
            f"{setting} {template}: ScanDir {is_now}; choose the folder with `senv ScanDir /data/...`"
        )
    return _fill(
        template,
        {
            "ScanDir": scan_dir.rstrip("/"),
            "ScanFile": _clean(str(context.get("scan_file") or "ct")),
            "ScanID": int(str(context.get("scan_id") or 0)),
            "detector": _clean(detector),
            "number": number,
            "index": number,
        },
        setting,
    )


def check(template: str, setting: str = SETTING) -> None:
    """Refuse a template that cannot name files.

    Raises:
        TemplateError: a field is unknown, {number} or {index} is missing, the path would not be absolute or
            would not end as HDF5 files do, or a character is not allowed.
    """
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError as error:
        raise TemplateError(f"{setting} {template!r}: {error}; write {{{{ for a brace") from error
    fields = [part[1] for part in parts if part[1] is not None]
    for field, conversion, spec in ((part[1], part[3], part[2]) for part in parts if part[1] is not None):
        if field not in FIELDS:
            known = ", ".join(f"{{{name}}}" for name in FIELDS)
            raise TemplateError(f"{setting} {template}: unknown field {{{field}}}; there are {known}")
        if conversion or "{" in (spec or ""):
            raise TemplateError(f"{setting} {template}: write {{{field}}} or {{{field}:FORMAT}}")
    if not {"number", "index"}.intersection(fields):
        raise TemplateError(
            f"{setting} {template}: without {{number}} the second series of a scan would have the name"
            " of the first; add {number:04d}"
        )
    _fill(template, FIELDS, setting)


def _fill(template: str, values: Mapping[str, str | int], setting: str) -> str:
    try:
        path = template.format_map(dict(values))
    except ValueError as error:
        raise TemplateError(f"{setting} {template}: {error}; write numbers as {{number:04d}}") from error
    if path.startswith(SCHEME):
        path = _path_of(path)
    if not path.startswith("/"):
        raise TemplateError(
            f"{setting} {template} makes {path}, not an absolute path; begin it with {{ScanDir}}/ or /"
        )
    if found := _NOT_IN_A_PATH.search(path):
        raise TemplateError(f"{setting} {template!r} makes {path!r}: {found[0]!r} is not allowed; remove it")
    if ".." in path.split("/"):
        raise TemplateError(f"{setting} {template} makes {path}: write the folder without '..'")
    if PurePosixPath(path).suffix not in SUFFIXES:
        raise TemplateError(f"{setting} {template} makes {path}: let the name end in {', '.join(SUFFIXES)}")
    return path


def _path_of(reference: str) -> str:
    """Return the file of a reference as Sardana's own patterns have it: the detector decides on the dataset,
    and the scheme says what kind of file it is where the name does not."""
    path = reference.removeprefix(SCHEME).partition("::")[0]
    name = PurePosixPath(path)
    return path if name.suffix or name.name.startswith(".") or path.endswith("/") else path + SUFFIXES[0]


def _clean(text: str) -> str:
    """Return text for the name of one file: no slashes, which would make folders, and no odd characters."""
    return _NOT_IN_A_NAME.sub("_", text).lstrip(".") or "_"
