"""Tutorial and how-tos do what they say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.beamline.demonstration import Demonstration
from penstock.beamline.stage import eiger
from tests.pages import DEADLINE, run, steps

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOLDERS = (
    "beamline", "bridges", "checks", "cli", "cluster", "codecs", "devices", "gui", "hosts",
    "processing", "receiver", "resources", "service", "stins", "streamer",
)  # fmt: skip


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the code that a page may add files to, and that its commands import."""
    links = tmp_path / "links" / "penstock"
    links.mkdir(parents=True)
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
        (links / folder).symlink_to(tmp_path / folder)
    shutil.copytree(ROOT / "tests", tmp_path / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="the third camera's stand-in needs a C compiler")
def test_the_how_to_for_a_new_camera_works_as_it_is_written(checkout: Path) -> None:
    environment = {"PYTHONPATH": f"{checkout / 'links'}:{checkout / 'tests/vendor'}"}
    run(ROOT / "docs/how-to/add-a-camera.md", checkout, environment)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["detector-that-streams", "transform", "source"])
def test_the_how_to_for_a_new_extension_works_as_it_is_written(what: str, checkout: Path) -> None:
    run(ROOT / f"docs/how-to/add-a-{what}.md", checkout, {"PYTHONPATH": str(checkout / "links")})


@pytest.mark.slow
@pytest.mark.parametrize("page", ["add-a-field-to-the-file.md", "add-an-endpoint.md"])
def test_the_how_to_for_an_addition_to_the_receiver_works_as_it_is_written(page: str, checkout: Path) -> None:
    run(ROOT / "docs/how-to" / page, checkout, {"PYTHONPATH": str(checkout / "links")})


@pytest.fixture
def checkout_of_all_pages(checkout: Path) -> tuple[Path, list[str]]:
    """A checkout to which all code of all pages was added, and the modules of the package among it."""
    modules = []
    for page in PAGES:
        for step in steps(page.read_text()):
            if step.kind == "file" and step.name.endswith(".py"):
                path = checkout / step.name
                path.parent.mkdir(parents=True, exist_ok=True)
                assert not path.exists(), f"{page} and another page, or the checkout, have a file {step.name}"
                path.write_text(step.text)
                if step.name.partition("/")[0] in FOLDERS:
                    modules.append(f"penstock.{step.name.removesuffix('.py').replace('/', '.')}")
            elif step.kind == "command" and step.text.startswith("sed -i"):
                subprocess.run(["bash", "-c", step.text], cwd=checkout, check=True)
    return checkout, modules


@pytest.mark.slow
def test_what_is_copied_from_a_page_passes_make_lint(checkout_of_all_pages: tuple[Path, list[str]]) -> None:
    checkout, modules = checkout_of_all_pages
    assert {"penstock.devices.zebra", "penstock.devices.lynx", "penstock.devices.ibex"} <= set(modules)
    told = []
    for command in (
        ["ruff", "check", "--quiet", "."],
        ["ruff", "format", "--check", "--quiet", "."],
        ["mypy", *(f"--module={module}" for module in modules)],
    ):
        done = subprocess.run(
            command, cwd=checkout, env=os.environ | {"MYPYPATH": str(checkout / "links")},
            capture_output=True, text=True, timeout=DEADLINE,
        )  # fmt: skip
        if done.returncode != 0:
            told.append(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    assert not told, "\n".join(told)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param("tutorial/receive-your-stream.md", marks=pytest.mark.slow),
        pytest.param("tutorial/first-scan.md", marks=pytest.mark.slow),
        pytest.param("tutorial/first-live-result.md", marks=pytest.mark.slow),
        pytest.param("tutorial/a-curve-for-every-frame.md", marks=pytest.mark.slow),
        pytest.param("tutorial/an-areadetector-camera.md", marks=pytest.mark.slow),
        pytest.param("how-to/run-on-a-control-unit.md", marks=pytest.mark.slow),
        pytest.param("how-to/set-up-a-beamline.md", marks=pytest.mark.slow),
        pytest.param("how-to/use-jive-and-astor.md", marks=pytest.mark.slow),
        pytest.param("how-to/connect-your-eiger.md", marks=pytest.mark.slow),
        pytest.param("how-to/run-the-light-streamer.md", marks=pytest.mark.slow),
        pytest.param("how-to/connect-your-pilatus.md", marks=pytest.mark.slow),
        pytest.param("how-to/read-while-it-is-written.md", marks=pytest.mark.slow),
        pytest.param("how-to/look-at-a-scan.md", marks=pytest.mark.slow),
        pytest.param("how-to/integrate-with-pyfai.md", marks=pytest.mark.slow),
        pytest.param("how-to/receive-an-sls-stream.md", marks=pytest.mark.slow),
        pytest.param("how-to/receive-from-an-ioc.md", marks=pytest.mark.slow),
        pytest.param("how-to/write-faster.md", marks=pytest.mark.slow),
        pytest.param("how-to/feed-a-consumer.md", marks=pytest.mark.slow),
        pytest.param("how-to/epics-values-beside-the-frames.md", marks=pytest.mark.slow),
        pytest.param("how-to/watch-a-region.md", marks=pytest.mark.slow),
        pytest.param("how-to/when-the-disk-is-full.md", marks=pytest.mark.slow),
        pytest.param("how-to/see-all-detectors.md", marks=pytest.mark.slow),
        pytest.param("how-to/find-a-series.md", marks=pytest.mark.slow),
        pytest.param("how-to/look-at-what-was-taken.md", marks=pytest.mark.slow),
        "reference/camserver.md",
        pytest.param(
            "reference/simplon.md",
            marks=pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl"),
        ),
    ],
)
def test_a_page_works_as_it_is_written(page: str, tmp_path: Path) -> None:
    run(ROOT / "docs" / page, tmp_path, {"PENSTOCK_CACHE": str(tmp_path / "cache")})


@pytest.mark.slow
def test_the_tutorial_works_for_whom_make_demo_has_taken_the_first_series(tmp_path: Path) -> None:
    subprocess.run(["penstock", "demo"], cwd=tmp_path, check=True, capture_output=True, timeout=DEADLINE)
    run(ROOT / "docs/tutorial/first-series.md", tmp_path, {})


@pytest.mark.slow
def test_the_script_of_the_tutorial_works_with_an_eiger_by_changing_the_name(tmp_path: Path) -> None:
    page = (ROOT / "docs/tutorial/first-series.md").read_text()
    script = page.partition("## 4. Control it")[2].partition("```python\n")[2].partition("```")[0]
    with Demonstration(tmp_path, staged=eiger(sensor=(64, 64))) as beamline:
        beamline.take(1, lambda written: None)  # it was just switched on, and is initialised by that
        assert "lab/det/1" in script and "/data/steps.h5" in script
        script = script.replace("lab/det/1", f"tango://{beamline.tango_host}/{beamline.detector}")
        script = script.replace("/data", str(tmp_path))
        told = subprocess.run(
            [sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=DEADLINE
        )
    assert told.stdout.rstrip().endswith("5 written, 0 missing")
    assert (tmp_path / "steps.h5").is_file()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A copy of the checkout as its contributor has it, whose environment is the one of these tests."""
    named = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.split("\0")  # fmt: skip
    folder, environment = tmp_path / "penstock", Path(sys.prefix)
    for name in filter(None, named):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    stamps = folder / ".venv" / "stamps"
    stamps.mkdir(parents=True)
    for part in ("bin", "lib"):
        (stamps.parent / part).symlink_to(environment / part)
    shutil.copy(environment / "pyvenv.cfg", stamps.parent)
    (stamps / "venv").write_text(f"{folder}\n")
    for stamp in ("run", "sardana", "develop"):
        (stamps / stamp).touch()
    return folder


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_what_a_contributor_is_told_works_as_it_is_written(clone: Path) -> None:
    # Variables of a `make` that runs these tests are not those of the contributor's.
    none = dict.fromkeys(("ARGS", "MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES"), "")
    run(clone / "CONTRIBUTING.md", clone, none, deadline=600)


def test_every_target_of_make_that_a_contributor_is_told_exists() -> None:
    told = re.findall(r"`?make ([a-z-]+)", (ROOT / "CONTRIBUTING.md").read_text())
    assert len(told) > 8
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(told) <= set(targets)
