"""`make test` installs what its tests call: a minimal Debian with git and make is enough."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.pages import steps

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"mount": "mount", "umount": "mount", "curl": "curl", "ip": "iproute2", "openssl": "openssl"}
"""Debian's packages of the programs that a minimal installation may lack."""
LIBRARIES = {"libaravis-0.8-0"}
"""Debian's packages of the libraries that tests load."""
THERE = {
    "git", "make",  # README
    "bash", "cd", "env", "grep", "kill", "ls", "mkdir", "sed", "sh", "tail", "unshare",
}  # fmt: skip
"""Programs of Debian's essential packages, and those that the README asks for."""
STARTS = {"run", "Popen", "check_call", "check_output", "call", "_call", "_make"}
KEYWORDS = {"export", "until"}
IF_THERE = {"cc", "xvfb-run", "mmdebstrap", "podman", "podman-compose"}
"""Programs of tests that are skipped without them."""


def _of_code(path: Path) -> Iterator[str]:
    """The first words of the lists that a file starts as commands."""
    for node in ast.walk(ast.parse(path.read_text())):
        given: list[ast.expr] = []
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in STARTS:
                given = node.args
            case ast.Assign(
                targets=[ast.Name(id="command" | "argv") | ast.Attribute(attr="_argv")], value=value
            ):
                given = [value]
        for each in given:
            if isinstance(each, ast.List) and each.elts and isinstance(each.elts[0], ast.Constant):
                yield str(each.elts[0].value)


def _of_page(path: Path) -> Iterator[str]:
    """The programs in the commands of a page."""
    for step in steps(path.read_text()):
        if step.kind in ("command", "background"):
            words = (word for word in step.text.split() if word not in KEYWORDS and "=" not in word)
            yield from itertools.islice(words, 1)


def _ours() -> set[str]:
    return {script.name for script in entry_points(group="console_scripts")} | {"python"}


@pytest.mark.parametrize("what", [pytest.param("tests", marks=pytest.mark.slow), "docs"])
def test_each_program_that_a_test_calls_is_there_or_is_installed(what: str) -> None:
    called: dict[str, Path] = {}
    for path in [*(ROOT / what).rglob("*.py"), *(ROOT / what).rglob("*.md")]:
        for program in _of_page(path) if path.suffix == ".md" else _of_code(path):
            called.setdefault(program, path)
    assert called
    unknown = {name: str(path.relative_to(ROOT)) for name, path in called.items()}
    for name in THERE | _ours() | set(PACKAGES) | IF_THERE:
        unknown.pop(name, None)
    assert not unknown, "add their Debian packages to PACKAGES here and to TEST_PACKAGES in the Makefile"


def test_make_installs_their_packages() -> None:
    text = (ROOT / "Makefile").read_text()
    (packages,) = re.findall(r"^TEST_PACKAGES := (.*)$", text, re.MULTILINE)
    assert set(packages.split()) == set(PACKAGES.values()) | LIBRARIES
    assert text.count("@.ci/debian-packages $(TEST_PACKAGES)") == 2, "make test, make test-slow"
    assert all(f"`{name}`" in (ROOT / "README.md").read_text() for name in packages.split())
