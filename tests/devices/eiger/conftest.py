"""A stand-in of an EIGER's control unit, in several releases, and the device Eiger connected to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.devices._dectris import rest
from penstock.devices.eiger import Eiger
from tests.devices._dectris.desk import DEADLINE, Desk
from tests.devices.eiger.units import unit


@pytest.fixture(params=["1.8.0-v1", "1.8.0-v2", "1.6.0-v1"])
def flavour(request: pytest.FixtureRequest) -> tuple[str, str]:
    api, _, stream = request.param.partition("-")
    return api, stream


@pytest.fixture
def desk(flavour: tuple[str, str]) -> Iterator[Desk]:
    with Desk(flavour[0]) as desk:
        yield desk


@pytest.fixture
def eiger(desk: Desk, flavour: tuple[str, str]) -> Iterator[Eiger]:
    eiger = unit(desk, flavour[1])
    eiger.connect()
    yield eiger
    eiger.close()


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a control unit that shares a busy processor with its client."""
    monkeypatch.setattr(rest, "READ", DEADLINE)


@pytest.fixture
def new() -> Iterator[tuple[Desk, Eiger]]:
    """An EIGER2 with stream v2."""
    with Desk("1.8.0") as desk:
        eiger = unit(desk, "v2")
        eiger.connect()
        yield desk, eiger
        eiger.close()
