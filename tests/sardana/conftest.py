"""One laboratory with Sardana for all files that do not need one of their own."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import tango

from penstock.sardana import plugin
from penstock.sardana.door import DoorHangs
from penstock.sardana.laboratory import servers
from penstock.sardana.laboratory.laboratory import Laboratory, Unit
from tests.shared import Shared

OWN = Path(__file__).parent / "plugins"

# Seconds, set before Tango is used for the first time: a device in a forked process (DeviceTestContext) takes
# as long to end, five by default.
os.environ.setdefault("ORBscanGranularity", "1")


@contextlib.contextmanager
def _usual_laboratory(factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    """A small simulated detector, motors, a timer, Sardana, which also finds the plugins of this folder."""
    register = servers.register_sardana

    def register_with_own(database: tango.Database, folder: Path, *, plugins: bool) -> None:
        register(database, folder, plugins=plugins)
        for device, name, ours, own in (
            (servers.POOL, "PoolPath", plugin.CONTROLLERS, OWN / "controllers"),
            (servers.MACRO_SERVER, "MacroPath", plugin.MACROS, OWN / "macros"),
        ):
            database.put_device_property(device, {name: [str(ours), str(own)]})

    live = {"name": "live", "endpoint": "tcp://127.0.0.1:*", "shared": True, "queue_mb": 2}
    unit = Unit("sim", {"SensorWidth": 64, "SensorHeight": 32}, {"forward": [live]})
    with contextlib.ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(servers, "register_sardana", register_with_own)
            laboratory = stack.enter_context(Laboratory(factory.mktemp("laboratory"), [unit]))
        yield laboratory


USUAL = Shared(_usual_laboratory)


@pytest.fixture(scope="module")
def laboratory(request: pytest.FixtureRequest) -> Laboratory:
    """That of all files that do not need one of their own."""
    return USUAL.get(request)


@pytest.fixture(autouse=True)
def _tidy(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that fails is the only one that does."""
    yield
    if "laboratory" in request.fixturenames:
        request.getfixturevalue("laboratory").tidy()


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[object]:
    """Repeat once a test in which an Abort has left the Door hanging, as it may (see `Door.end`); behind one
    that has failed begin with a new Sardana, whatever it has left moving."""
    laboratory = pyfuncitem.funcargs.get("laboratory")
    try:
        return (yield)
    except DoorHangs as error:
        print(f"once more: {error}")
        given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
        given["laboratory"].tidy()
        return pyfuncitem.obj(**given)
    except (Exception, pytest.fail.Exception):
        if isinstance(laboratory, Laboratory):
            laboratory.renew()
        raise
