"""`penstock sardana-register` on a real Sardana that has never heard of Penstock."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tango

from penstock.hosts.child import PENSTOCK, free_port
from penstock.processing.models import Result
from penstock.sardana import plugin
from penstock.sardana.laboratory import servers
from penstock.sardana.laboratory.laboratory import SARDANA, TIMER, Laboratory, Unit
from penstock.sardana.registration.paths import _with, _without
from penstock.sardana.registration.pipelines import new_channels
from tests.sardana.removal import remove_group

pytestmark = pytest.mark.slow  # it needs a Sardana of its own

CONTROLLERS = str(plugin.CONTROLLERS)
OLD = "/opt/beamline/lib/python3.9/site-packages/penstock/sardana/controllers"
Register = Callable[..., tuple[int, dict[str, Any], str]]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    unit = Unit("sim", {"SensorWidth": 64, "SensorHeight": 32})
    with Laboratory(tmp_path_factory.mktemp("bare"), [unit], plugins=False) as laboratory:
        yield laboratory


@pytest.fixture
def database(bare: Laboratory) -> tango.Database:
    host, _, port = bare.tango_host.partition(":")
    return tango.Database(host, int(port))


@pytest.fixture
def register(bare: Laboratory) -> Register:
    def run(*options: str) -> tuple[int, dict[str, Any], str]:
        done = subprocess.run(
            [*PENSTOCK, "sardana-register", "--json", *options], capture_output=True, text=True, timeout=120,
            env={**os.environ, "TANGO_HOST": bare.tango_host},
        )  # fmt: skip
        return done.returncode, json.loads(done.stdout), done.stderr

    return run


def paths(database: tango.Database) -> dict[str, list[str]]:
    pool = database.get_device_property(servers.POOL, ["PoolPath"])
    other = database.get_device_property(servers.MACRO_SERVER, ["MacroPath", "RecorderPath"])
    return {name: list(values) for name, values in {**pool, **other}.items()}


@pytest.mark.timeout(400)  # seven processes and a restart of Sardana: 80 s on a busy machine
def test_from_nothing_to_a_scan_and_back(
    bare: Laboratory, database: tango.Database, register: Register
) -> None:
    database.put_device_property(servers.POOL, {"PoolPath": ["/beamline/controllers", OLD]})
    before = paths(database)

    status, answer, words = register()  # a dry run

    assert status == 1 and not answer["written"]
    assert "nothing has been written; add --write to do so" in words
    assert f"→ /beamline/controllers, {CONTROLLERS}" in words  # instead of the old one
    assert paths(database) == before

    away = f"spots=http://127.0.0.1:{free_port()},sim/det/1"
    status, answer, words = register("--write", "--detector", "eiger=sim/det/1", "--pipeline", away)

    assert status == 1 and answer["written"]
    assert paths(database) == {
        "PoolPath": ["/beamline/controllers", CONTROLLERS],
        "MacroPath": [str(plugin.MACROS)], "RecorderPath": [str(plugin.RECORDERS)],
    }  # fmt: skip
    assert answer["restart"] == [servers.SERVER]
    assert f"restart {servers.SERVER}" in words and "run this again" in words
    assert {entry["name"] for entry in answer["waiting"]} == {
        f"hook det_begin (pre-scan) of {servers.MACRO_SERVER}",
        f"hook det_end (post-scan) of {servers.MACRO_SERVER}",
        f"channel eiger of {servers.POOL}",
        f"counters spots of {servers.POOL}",
        f"curves spots of {servers.POOL}",
    }

    status, answer, words = register("--write")  # not restarted yet

    assert status == 1 and not answer["written"]
    assert answer["restart"] == [servers.SERVER]
    assert "if you have restarted it" in words

    bare.restart(SARDANA)
    status, answer, words = register("--write", "--detector", "eiger=sim/det/1")

    assert status == 0 and len(answer["changes"]) == 3, words
    bare.define("defmeas", "group", TIMER, "eiger")
    bare.define("senv", "ActiveMntGrp", "group")
    bare.define("set_meas_conf", "ValueRefEnabled", "True", "[", "eiger", "]", "group")
    bare.define("ascan", "mot01", "0", "1", "2", "0.02")
    assert [file.name for file in bare.data.glob("scan_00001_eiger*")] == ["scan_00001_eiger_0001.h5"]

    status, answer, words = register("--write", "--detector", "eiger=sim/det/1")  # once more

    assert status == 0 and not answer["changes"]
    assert "nothing to do" in words and "senv ScanRecorder PenstockRecorder" in words

    status, answer, words = register("--remove")

    assert status == 1 and any("eiger_ctrl" in warning for warning in answer["warnings"])

    remove_group(bare, "group")
    for _ in range(5):
        status, _, words = register("--remove", "--detector", "eiger", "--write")
        if bare.process(SARDANA).exit_status() is None:
            break
        assert status == 2 and f"{servers.SERVER} has ended meanwhile" in words  # Tango's own crash
        bare.restart(SARDANA)

    assert status == 0 and "det_" in bare.run("lsgh").said(), "the rest stays"
    status, answer, words = register("--remove", "--write")
    assert status == 0 and answer["restart"] == [servers.SERVER] and not answer["warnings"], words
    assert paths(database) == {"PoolPath": ["/beamline/controllers"], "MacroPath": [], "RecorderPath": []}
    assert "det_" not in bare.run("lsgh").said()
    assert not list(database.get_device_name("*", "TwoDExpChannel"))
    bare.define("ct", "0.01", TIMER)


@pytest.mark.slow
@pytest.mark.timeout(400)  # nine processes
def test_what_cannot_be_is_refused_in_words(
    database: tango.Database, register: Register
) -> None:  # fmt: skip
    def why(*options: str) -> str:
        status, answer, _ = register(*options)
        assert status == 2
        return str(answer["error"])

    assert "is not a Pool in the database, which has: pool/penstock/1 (Pool_penstock" in why(
        "--pool", "other"
    )
    assert "write NAME=DEVICE" in why("--detector", "eiger")
    assert "is not a Penstock detector in this database" in why("--detector", "pilatus=no/such/one")
    assert "is not a Penstock detector in this database" in why("--detector", f"pilatus={servers.POOL}")
    assert "is not a valid channel name" in why("--detector", "a-b=sim/det/1")
    assert "the name mot01 belongs to motor/" in why("--detector", "mot01=sim/det/1")

    second = tango.DbDevInfo()
    second.name, second._class, second.server = "pool/penstock/2", "Pool", "Pool/two"
    database.add_device(second)
    try:
        several = why()
        assert "2 of the class Pool" in several and "--pool Pool_penstock" in several
        assert "pool/penstock/2 (Pool/two)" in several
        assert register("--pool", "pool_PENSTOCK")[0] in (0, 1), "it is found, whatever is left to do"
    finally:
        database.delete_device("pool/penstock/2")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((), (CONTROLLERS,)),
        ((CONTROLLERS,), (CONTROLLERS,)),
        (("/a", CONTROLLERS, "/b"), ("/a", CONTROLLERS, "/b")),
        (("/a",), ("/a", CONTROLLERS)),
        ((OLD, "/b"), (CONTROLLERS, "/b")),
        (("/a:/b", OLD), ("/a", "/b", CONTROLLERS)),
        ((f"/a:{OLD}:/b",), ("/a", CONTROLLERS, "/b")),
        ((OLD, CONTROLLERS), (CONTROLLERS,)),
        (("/beamline/sardana/controllers",), ("/beamline/sardana/controllers", CONTROLLERS)),
    ],
)
def test_a_folder_of_another_installation_is_replaced_and_all_others_stay(
    before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    assert _with(before, CONTROLLERS) == after
    rest = tuple(each for each in after if each != CONTROLLERS)
    assert _without(after) == rest


def test_an_installation_that_is_still_there_is_known_by_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "a-clone" / "sardana" / "controllers"
    folder.mkdir(parents=True)
    assert not plugin.is_ours(str(folder))
    for file in plugin.CONTROLLERS.glob("*.py"):
        (folder / file.name).touch()
    assert plugin.is_ours(str(folder))


def test_each_result_gets_a_channel_of_its_own_and_channels_stay_what_they_are() -> None:
    results = [Result(name=name, kind="value", dtype="f8", shape=[]) for name in ("a/b", "a_b", "n", "mean")]

    new = new_channels("live", {"live_mean": "n", "live_a_b": ""}, results)

    assert {channel: each.name for channel, each in new.items()} == {
        "live_a_b": "a/b", "live_a_b_2": "a_b", "live_mean_2": "mean",
    }  # fmt: skip


@pytest.mark.parametrize("parent", ["beamline", "beamline/sardana"])
def test_a_folder_of_the_user_stays_whatever_is_in_it(tmp_path: Path, parent: str) -> None:
    folder = tmp_path / parent / "macros"
    folder.mkdir(parents=True)
    (folder / "penstock_alignment.py").touch()
    assert not plugin.is_ours(str(folder)), "a file of a similar name"
    for file in plugin.MACROS.glob("*.py"):
        (folder / file.name).touch()
    assert not plugin.is_ours(str(folder)), "ours were copied to the user's"
    assert _with((str(folder),), str(plugin.MACROS)) == (str(folder), str(plugin.MACROS))
    assert _without((str(folder),)) == (str(folder),)
