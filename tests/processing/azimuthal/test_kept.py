"""Matrices are made once per host, by a process of its own, and kept within a limit."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from penstock.processing.azimuthal import kept, places
from penstock.processing.azimuthal import matrix as file_of
from penstock.processing.azimuthal.build import build
from penstock.processing.azimuthal.plan import CannotBuildError, Images, Plan
from penstock.receiver.geometry import Geometry, poni
from tests.processing.azimuthal.compared import make_here

SHAPE = (40, 50)


def plan(**keys: object) -> Plan:
    geometry = poni(Geometry(0.15, (20.0, 22.0), (172e-6, 172e-6), 0.2), SHAPE)
    return Plan(**{
        "geometry": geometry, "shape": SHAPE, "unit": "q_nm^-1", "points": 20, "splitting": "no", **keys
    })  # fmt: skip


def names(cache: Path) -> list[str]:
    return sorted(path.name for path in (cache / "azimuthal").iterdir())


@pytest.mark.slow
def test_one_matrix_is_made_for_all_and_made_anew_if_it_is_damaged(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, made = kept._make, []
    monkeypatch.setattr(kept, "_make", lambda *given: (made.append(given), make(*given)))
    with ThreadPoolExecutor() as pool:
        found = [pool.submit(kept.get, plan(), Images()) for _ in range(3)]
    radials = [each.result()[0].radial.tolist() for each in found]
    assert radials[0] == radials[1] == radials[2] and len(radials[0]) == 20 and len(made) == 1
    make = make_here
    (name,) = names(cache)
    path = cache / "azimuthal" / name
    os.truncate(path, path.stat().st_size - 100)

    assert kept.get(plan(), Images())[0].radial.tolist() == radials[0]
    assert len(made) == 2 and names(cache) == [name]


def test_a_lock_that_others_remove_meanwhile_is_waited_for(tmp_path: Path) -> None:
    within: list[int] = []

    def hold(_turn: int) -> int:
        with kept._alone(tmp_path / "lock") as descriptor:
            within.append(descriptor)
            together = len(within)
            within.remove(descriptor)
            return together

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(hold, range(2000))) == {1}
    assert not list(tmp_path.iterdir())


def test_a_matrix_whose_entries_are_in_no_bin_is_made_anew(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "_make", make_here)
    matrix, poni = kept.get(plan(), Images())
    path = cache / "azimuthal" / names(cache)[0]
    for damage in ({"bins": matrix.bins + matrix.bins.dtype.type(1000)}, {"counts": matrix.counts * 0}):
        path.unlink()
        file_of.write(path, matrix._replace(**damage), poni)
        found, _ = kept.get(plan(), Images())
        np.testing.assert_array_equal(found.bins, matrix.bins)
        np.testing.assert_array_equal(found.counts, matrix.counts)


@pytest.mark.slow
def test_whoever_asks_for_it_may_be_killed_and_others_wait_for_what_is_being_made(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that asks is killed once the one that makes the matrix holds the lock, too."""
    folder, text = kept.kept_folder.folder("azimuthal"), msgspec.json.encode(plan()).decode()
    asks = (
        "import subprocess, sys, os\n"
        "from penstock.processing.azimuthal import kept, plan\n"
        "import msgspec\n"
        "def run(command, **keys):\n"
        "    keys = {name: keys[name] for name in ('stdin', 'pass_fds')}\n"
        "    print(subprocess.Popen(command, stdout=subprocess.DEVNULL, **keys).pid, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
        "kept.subprocess.run = run\n"
        "kept.get(msgspec.json.decode(sys.argv[1], type=plan.Plan), plan.Images())\n"
    )
    asked = subprocess.run(
        [sys.executable, "-P", "-c", asks, text], stdout=subprocess.PIPE, text=True, check=False
    )
    assert asked.returncode == -9 and int(asked.stdout) > 0
    monkeypatch.setattr(kept, "_make", lambda *_: pytest.fail("it is being made already"))

    assert len(kept.get(plan(), Images())[0].radial) == 20
    assert not list(folder.glob(".making-*"))


def test_what_killed_processes_have_left_goes(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_make", make_here)
    folder = kept.kept_folder.folder("azimuthal")
    for age, name in ((0, "new"), (2 * kept.LEFT_SECONDS, "old")):
        left, lock = folder / f".making-{name}", folder / f".{name}.lock"
        left.mkdir()
        for path in (left / "matrix", lock):
            path.touch()
        for path in (left, lock):
            os.utime(path, (time.time() - age,) * 2)

    kept.get(plan(), Images())

    assert names(cache)[:2] == [".making-new", ".new.lock"] and len(names(cache)) == 3


@pytest.mark.slow
@pytest.mark.parametrize("elsewhere", [True, False], ids=["here", "nowhere"])
def test_without_room_in_the_folder_the_matrix_is_made_elsewhere_and_that_is_said(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: bool
) -> None:
    # As if the disk were full after so many bytes of a file of the process that makes the matrix.
    limited = (
        "import os, resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    run = subprocess.run

    def run_with_limit(command: list[str], **keys: Any) -> Any:
        is_full = not elsewhere or command[-1].startswith(f"{cache}/")
        return run([sys.executable, "-P", "-c", limited, *command] if is_full else command, **keys)

    tmp_path.joinpath("tmp").mkdir()
    monkeypatch.setattr(kept, "OTHERWISE", (str(tmp_path / "tmp"),))
    monkeypatch.setattr(kept.subprocess, "run", run_with_limit)
    said: list[str] = []
    words = "cannot be kept: .*: File too large; PENSTOCK_CACHE names another folder"
    if elsewhere:
        assert len(kept.get(plan(), Images(), said.append)[0].radial) == 20
    else:
        with pytest.raises(kept.NoMatrixError, match=f"{words}; nor can it be made in .*/tmp: "):
            kept.get(plan(), Images(), said.append)
    assert len(said) == 1 and re.search(f"{words}. Until then every worker makes it for itself", said[0])
    assert names(cache) == [] and not list(tmp_path.joinpath("tmp").iterdir())


def test_the_one_that_was_not_used_for_longest_goes_and_whoever_has_it_keeps_it(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "_make", make_here)
    first, _ = kept.get(plan(), Images())
    size = (cache / "azimuthal" / names(cache)[0]).stat().st_size
    monkeypatch.setenv("PENSTOCK_CACHE_GB", str(size * 1.5 / 1e9))

    second, text = kept.get(plan(polarisation=0.9), Images(mask=np.eye(*SHAPE, dtype=bool)))

    assert len(names(cache)) == 1 and "Distance: 0.15" in text
    assert second.counts.sum() == first.counts.sum() - 40


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"geometry": "Distance: here\n"}, r"pyFAI cannot read the geometry \(poni\)"),
        ({"geometry": {}}, r"pyFAI cannot read the geometry|has no distance or no pixel size"),
        ({"geometry": "poni_version: 2.1\nDetector: Pilatus100k\nDetector_config: {}\nDistance: 0.1\n"
          "Poni1: 0.01\nPoni2: 0.01\nRot1: 0\nRot2: 0\nRot3: 0\nWavelength: 1e-10\n"},
         r"is that of a detector of \[195, 487\] pixels, and the images have \[40, 50\]"),
        ({"radial_range": (500.0, 600.0)}, "no pixel lies in this range"),
    ],
)  # fmt: skip
def test_what_cannot_be_made_is_said(tmp_path: Path, keys: dict[str, object], says: str) -> None:
    with pytest.raises(CannotBuildError, match=says):
        build(plan(**keys), Images(), tmp_path)


@pytest.mark.parametrize("splitting", ["bbox", "full"])
@pytest.mark.parametrize("keys", [{"points": 3000}, {"points": 100, "azimuth_points": 300}], ids=["", "cake"])
def test_bins_that_are_too_narrow_are_refused_before_there_is_a_matrix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: dict[str, Any], splitting: str
) -> None:
    wanted = plan(**keys, splitting=splitting)
    entries = len(build(wanted, Images(), tmp_path)[0].weights)
    monkeypatch.setattr(places, "MOST_ENTRIES", entries * 2.5)
    build(wanted, Images(), tmp_path)
    monkeypatch.setattr(places, "MOST_ENTRIES", entries * 0.9)

    with pytest.raises(CannotBuildError, match="take fewer points, or `splitting: no`"):
        build(wanted, Images(), tmp_path)


@pytest.mark.slow
def test_what_the_process_says_reaches_whoever_asked(cache: Path) -> None:
    with pytest.raises(kept.NoMatrixError, match="no pixel is left"):
        kept.get(plan(), Images(mask=np.ones(SHAPE, bool)))
    assert names(cache) == []


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.joinpath("file").touch()
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "file/folder"))
    monkeypatch.setattr(kept, "_make", make_here)
    said: list[str] = []
    assert len(kept.get(plan(), Images(), said.append)[0].radial) == 20
    assert len(said) == 1 and "let PENSTOCK_CACHE name a folder that workers can write. Until" in said[0]
