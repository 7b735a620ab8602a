"""What is missing is installed from where Penstock came from."""

from __future__ import annotations

import ast
import configparser
import json
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from penstock.cli import extras
from penstock.cli.main import EXTRA_OF, main


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'penstock[gui]'"),
        ("no JSON", "pip install 'penstock[gui]'"),
        (
            '{"url": "file:///home/a%20b/penstock", "dir_info": {"editable": true}}',
            "pip install -e '/home/a b/penstock[gui]'",
        ),
        ('{"url": "file:///srv/penstock", "dir_info": {}}', "pip install '/srv/penstock[gui]'"),
        ('{"url": "https://x.org/p.whl", "archive_info": {}}', "pip install 'penstock[gui] @ https://x.org/p.whl'"),
    ],
)  # fmt: skip
def test_the_command_names_where_it_was_installed_from(
    origin: str | None, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Installed:
        def read_text(self, name: str) -> str | None:
            return origin if name == "direct_url.json" else None

    monkeypatch.setattr(extras, "distribution", lambda name: Installed())
    assert extras.install_command("gui") == command


def test_the_versions_that_were_tested_are_named_where_they_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "constraints.txt").touch()
    origin = json.dumps({"url": tmp_path.as_uri(), "dir_info": {"editable": True}})

    class Installed:
        def read_text(self, name: str) -> str:
            return origin

    monkeypatch.setattr(extras, "distribution", lambda name: Installed())
    assert (
        extras.install_command("gui") == f"pip install -c '{tmp_path}/constraints.txt' -e '{tmp_path}[gui]'"
    )


def test_a_checkout_that_is_not_installed_is_named_by_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str) -> Any:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(extras, "distribution", none)
    assert extras.install_command("gui,tango") == "pip install 'penstock[gui,tango]'"


ROOT = Path(__file__).resolve().parent.parent.parent
CORE = {"msgspec", "numpy", "rich", "shtab", "urllib3", "zmq"}
"""Installed with Penstock itself."""
OTHERS = {"pvaccess", "pvapy", "stempy"}
"""Imported where somebody has installed them, and in environments that `make judges` makes."""


@pytest.mark.slow
def test_every_package_that_is_imported_anywhere_has_an_extra_that_brings_it() -> None:
    imported: set[str] = set()
    for folder in (
        "bridges", "cli", "cluster", "codecs", "devices", "gui", "processing", "receiver", "sardana",
        "stins", "streamer",
    ):  # fmt: skip
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Import):
                    imported |= {each.name.partition(".")[0] for each in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module is not None:
                    imported.add(node.module.partition(".")[0])
    others = imported - set(sys.stdlib_module_names) - CORE - OTHERS - {"penstock"}
    assert others <= set(EXTRA_OF), "cli/main.py cannot say how to install these"
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    assert set(EXTRA_OF.values()) <= set(setup["options.extras_require"])


def test_a_clone_that_is_newer_than_its_installation_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As after a pull that brought a package, which the installation does not know yet."""
    monkeypatch.setitem(sys.modules, "penstock.streamer.simulated.simplon.control_unit", None)
    assert main(["simplon"]) == 2
    said = capsys.readouterr().err
    assert "newer than its installation" in said and "make environment" in said and "pip install" in said
