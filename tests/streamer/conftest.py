"""A light streamer, and the Python that runs it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.streamer.light_rig import Light
from tests.third_party import python36


@pytest.fixture(params=["this Python", pytest.param("Python 3.6", marks=pytest.mark.slow)])
def python(request: pytest.FixtureRequest) -> str:
    """This Python; among the slow tests also that of a PILATUS3's control unit."""
    return sys.executable if request.param == "this Python" else str(python36())


@pytest.fixture
def light(python: str, tmp_path: Path) -> Iterator[Light]:
    """A light streamer with a receiver."""
    with Light(python, tmp_path / "ramdisk") as light:
        yield light
