"""The Python that runs a light streamer."""

from __future__ import annotations

import sys

import pytest

from tests.third_party import python36


@pytest.fixture(params=["this Python", pytest.param("Python 3.6", marks=pytest.mark.slow)])
def python(request: pytest.FixtureRequest) -> str:
    """This Python; among the slow tests also that of a PILATUS3's control unit."""
    return sys.executable if request.param == "this Python" else str(python36())
