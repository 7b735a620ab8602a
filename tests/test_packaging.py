"""What gets installed where: the wheel, its scripts, and what each extra brings along."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from penstock.devices._server.server import server_names
from penstock.receiver.http.api import ASSETS

ROOT = Path(__file__).resolve().parent.parent
QT = {"pyqt5", "pyqt6", "pyside6", "qtpy", "silx", "taurus", "sardana"}
EXTRAS = {"tango", "receiver", "gui", "epics", "jungfrau", "powder", "processing", "sardana", "docs", "dev"}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout with one commit, in which a build may leave what it likes."""
    folder = tmp_path_factory.mktemp("checkout") / "penstock"
    unwanted = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__", "penstock-demo")
    shutil.copytree(ROOT, folder, ignore=unwanted)
    shutil.copy(ROOT / ".gitignore", folder)
    _git(folder, "init", "--quiet")
    _git(folder, "add", ".")
    _git(
        folder, "-c", "user.name=Test", "-c", "user.email=test@example.org", "commit", "--quiet", "-m", "all"
    )
    return folder


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def _commit(checkout: Path) -> str:
    return f"g{_git(checkout, 'rev-parse', 'HEAD')[:12]}"


@pytest.fixture(scope="module")
def sources(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Path of a source archive."""
    folder = tmp_path_factory.mktemp("sources")
    subprocess.run(
        [sys.executable, "-c", "import sys, setuptools.build_meta as build; build.build_sdist(sys.argv[1])",
         str(folder)],
        cwd=checkout, check=True, capture_output=True,
    )  # fmt: skip
    (path,) = folder.glob("penstock-*.tar.gz")
    return path


@pytest.fixture(scope="module")
def wheel(sources: Path) -> Path:
    """Path of a wheel that was built of the source archive, and therefore without git."""
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
         "--wheel-dir", str(sources.parent), str(sources)],
        check=True,
    )  # fmt: skip
    (path,) = sources.parent.glob("penstock-*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the wheel was unpacked."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def wheel_names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


@pytest.mark.slow
def test_the_wheel_installs_no_module_beside_penstock(wheel_names: list[str]) -> None:
    top = {name.partition("/")[0] for name in wheel_names}
    assert {name for name in top if not name.endswith(".dist-info")} == {"penstock"}


@pytest.mark.slow
def test_the_wheel_holds_every_python_file_of_every_folder(wheel_names: list[str]) -> None:
    here = {
        f"penstock/{path.relative_to(ROOT)}"
        for folder in (*(init.parent for init in ROOT.glob("[!.]*/__init__.py")), ROOT / "sardana")
        for path in folder.rglob("*.py")
        if folder.name not in ("tests", "build")
    }
    assert here == {name for name in wheel_names if name.endswith(".py")}


@pytest.mark.slow
def test_the_wheel_holds_every_file_that_a_browser_asks_for(wheel_names: list[str]) -> None:
    ours = [asset for asset in ASSETS.values() if asset.package.startswith("penstock.")]
    assert {f"{asset.package.replace('.', '/')}/{asset.name}" for asset in ours} <= set(wheel_names)


@pytest.mark.slow
def test_resources_are_read_from_an_installed_wheel(installed: Path) -> None:
    # -S: without site-packages, so that the editable install cannot answer instead.
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from importlib.resources import files\n"
        "print('\\n'.join(sorted(p.name for p in files('penstock.resources').iterdir() if p.is_file())))\n"
        "files('penstock.resources').joinpath('detectors.yaml').read_text()"
    )
    found = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, str(installed)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    expected = {path.name for path in (ROOT / "resources").iterdir() if path.is_file()}
    assert set(found) == expected


def _version(packages: Path, **environment: str) -> str:
    """What `penstock --version` says where Penstock lies in this folder, below the other packages."""
    program = "from penstock.cli.main import main; main(['--version'])"
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(packages), **environment},
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip


@pytest.mark.slow
def test_a_wheel_says_which_commit_it_was_built_of(installed: Path, checkout: Path) -> None:
    assert _version(installed) == f"penstock {metadata.version('penstock')}+{_commit(checkout)}\n"


def test_a_checkout_asks_git_and_says_that_files_were_edited(checkout: Path, tmp_path: Path) -> None:
    links = tmp_path / "links"
    links.mkdir()
    for folder in checkout.glob("[a-z]*/__init__.py"):
        (links / "penstock").mkdir(exist_ok=True)
        (links / "penstock" / folder.parent.name).symlink_to(folder.parent)
    assert _version(links) == f"penstock {metadata.version('penstock')}+{_commit(checkout)}\n"
    text = (checkout / "cli" / "main.py").read_text()
    (checkout / "cli" / "main.py").write_text(f"{text}\n")
    assert _version(links) == f"penstock {metadata.version('penstock')}+{_commit(checkout)}.dirty\n"
    (checkout / "cli" / "main.py").write_text(text)


@pytest.mark.slow
def test_without_git_and_without_the_builds_file_the_version_stands_alone(
    installed: Path, tmp_path: Path
) -> None:
    shutil.copytree(installed / "penstock", tmp_path / "penstock")
    (tmp_path / "penstock" / "hosts" / "commit").unlink()
    assert _version(tmp_path) == f"penstock {metadata.version('penstock')}\n"
    # An environment may lie within somebody's repository, and a clone on a machine without git.
    _git(tmp_path, "init", "--quiet")
    assert _version(tmp_path) == f"penstock {metadata.version('penstock')}\n"
    assert _version(tmp_path, PATH="/nowhere") == f"penstock {metadata.version('penstock')}\n"


@pytest.mark.slow
def test_the_source_archive_has_what_a_build_needs_and_no_tests(sources: Path) -> None:
    with tarfile.open(sources) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"setup.py", "setup.cfg", "pyproject.toml", "constraints.txt", "hosts/commit"} <= names
    assert not [name for name in names if name.startswith("tests")]


def test_packages_are_listed_once() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    packages = set(config["options"]["packages"].split())
    here = {
        ".".join(("penstock", *init.parent.relative_to(ROOT).parts))
        for init in ROOT.glob("[!.]*/**/__init__.py")
        if not {"build", ".venv", "bench"} & set(init.relative_to(ROOT).parts)
    }
    assert here <= packages
    folders = dict(line.split(" = ") for line in config["options"]["package_dir"].strip().splitlines())
    assert folders == {f"penstock.{name}": name for name in folders.values()}
    assert set(folders) == {name for name in packages if name.count(".") == 1}


@pytest.mark.slow
def test_every_console_script_is_installed_and_points_at_a_module_of_the_wheel(
    wheel_names: list[str],
) -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    lines = config["options.entry_points"]["console_scripts"].strip().splitlines()
    scripts = dict(re.split(r"\s*=\s*", line, maxsplit=1) for line in lines)
    assert "penstock" in scripts
    for name, target in scripts.items():
        module, _, function = target.partition(":")
        assert f"{module.replace('.', '/')}.py" in wheel_names, name
        assert function == "main"
        assert shutil.which(name), f"{name} is not installed; run `make environment`"


def test_every_supported_camera_has_a_device_server_of_its_name() -> None:
    config = configparser.ConfigParser()
    config.optionxform = str  # type: ignore[assignment, method-assign]
    config.read(ROOT / "setup.cfg")
    scripts = re.findall(
        r"^(\w+) = penstock\.devices\._server\.server:main$",
        config["options.entry_points"]["console_scripts"],
        re.MULTILINE,
    )
    assert sorted(scripts) == sorted(server_names())


def test_the_extras_are_those_that_the_documentation_names() -> None:
    assert set(metadata.metadata("penstock").get_all("Provides-Extra") or []) == EXTRAS


def _make_would(folder: Path, target: str = "environment") -> str:
    """What `make environment` would do with a virtual environment in this folder, or another target."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", "--dry-run", target, f"VENV={folder}"],
        cwd=ROOT, env=environment, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip


def test_make_quick_runs_tests_that_exist() -> None:
    (command,) = re.findall(r"^.*pytest .*$", _make_would(ROOT / ".venv", "quick"), re.MULTILINE)
    paths = re.findall(r"tests/\S+", command)
    assert len(paths) > 30
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_make_installs_again_where_a_copy_was_installed_over_the_folder(tmp_path: Path) -> None:
    (tmp_path / "stamps").mkdir()
    (tmp_path / "stamps" / "venv").write_text(f"{ROOT}\n")
    for stamp in ("run", "develop"):
        (tmp_path / "stamps" / stamp).touch()
    (tmp_path / "types" / "penstock").mkdir(parents=True)
    packages = tmp_path / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "__editable__.penstock-0.1.0.pth").touch()
    assert "pip install" not in _make_would(tmp_path)
    (packages / "__editable__.penstock-0.1.0.pth").rename(packages / "penstock")
    assert "pip install --quiet --constraint constraints.txt --editable" in _make_would(tmp_path)


@pytest.mark.parametrize(
    ("host", "extras", "never"),
    [
        ("a control unit", {"tango"}, QT | {"fastapi", "uvicorn"}),
        ("a writer host", {"receiver"}, QT | {"pytango", "pytango-db"}),
        ("a desk", {"gui"}, {"pytango-db", "fastapi", "sardana"}),
        ("a bare installation", set(), QT | {"pytango", "h5py", "fastapi"}),
    ],
)
def test_a_host_installs_only_what_its_part_needs(host: str, extras: set[str], never: set[str]) -> None:
    assert not _closure("penstock", extras) & never, host


def test_constraints_pin_everything_that_any_extra_installs() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {canonicalize_name(line.partition("==")[0]) for line in lines if "==" in line and line[0] != "#"}
    # Sphinx has an environment of its own: tests/test_site.py looks at that.
    missing = _closure("penstock", EXTRAS - {"docs"}) - pinned - {"penstock", "pip"}
    assert not missing, f"constraints.txt: not pinned: {', '.join(sorted(missing))}"


def _closure(name: str, extras: set[str]) -> set[str]:
    """Canonical names of all that installing `name[extras]` brings along, itself included."""
    found: set[str] = set()
    waiting: list[tuple[str, frozenset[str]]] = [(name, frozenset(extras))]
    done: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        wanted = waiting.pop()
        if wanted in done:
            continue
        done.add(wanted)
        found.add(canonicalize_name(wanted[0]))
        for line in metadata.requires(wanted[0]) or []:
            requirement = Requirement(line)
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in {"", *wanted[1]}):
                waiting.append((requirement.name, frozenset(requirement.extras)))
    return found
