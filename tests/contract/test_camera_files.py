"""What every camera's file has in common, beside the contract that its class keeps."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

DEVICES = Path(__file__).resolve().parents[2] / "devices"


def _camera_files() -> list[Any]:
    return [pytest.param(path, id=path.stem) for path in sorted(DEVICES.glob("[a-z]*.py"))]


@pytest.mark.parametrize("path", _camera_files())
def test_a_camera_file_knows_neither_tango_nor_zeromq(path: Path) -> None:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").partition(".")[0])
    assert not names & {"tango", "zmq", "threading"}
