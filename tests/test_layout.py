"""The tree is the first page of the documentation: what it promises holds."""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from penstock.cli.main import COMMANDS, build_parser, main

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (
    "beamline",
    "bridges",
    "cli",
    "cluster",
    "checks",
    "codecs",
    "devices",
    "gui",
    "hosts",
    "processing",
    "receiver",
    "resources",
    "sardana",
    "service",
    "stins",
    "streamer",
)
MODULES = sorted(path for folder in (*FOLDERS, "bench") for path in (ROOT / folder).rglob("*.py"))
LONGEST_FILE = 500
"""Lines of code, without docstrings, comments and blank lines. A longer file has a second
responsibility: split it."""


def _short(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _lines_of_code(tree: ast.Module) -> int:
    """Lines that hold code: docstrings and other bare strings do not count."""
    bare = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and id(node) not in bare:
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, (ast.stmt, ast.arg)) and not isinstance(node, ast.Expr):
            lines.add(node.lineno)
    return len(lines)


@pytest.mark.parametrize("path", MODULES, ids=_short)
def test_a_file_has_one_responsibility_and_says_which(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert _lines_of_code(tree) <= LONGEST_FILE
    assert not tree.body or ast.get_docstring(tree), "the module docstring is missing"


@pytest.mark.parametrize("folder", FOLDERS)
def test_nothing_that_is_installed_imports_the_benchmarks(folder: str) -> None:
    assert not [path for path in (ROOT / folder).rglob("*.py") if "penstock_bench" in path.read_text()]


COUNTED = re.compile(
    r" (frames|messages|blobs|parts|modules|sockets|connections|consumers|receivers)\b(?!/s)"
)


def _counts_without_grammar(tree: ast.Module) -> Iterator[str]:
    """Places of f-strings that put a number before a plural noun: "1 frames"."""
    for text in (node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)):
        for value, after in pairwise(text.values):
            if isinstance(value, ast.FormattedValue) and isinstance(after, ast.Constant):
                number = ast.unparse(value.value)
                told = value.format_spec or re.match(r"plural\(|list\(|[A-Z_]+$", number)
                if COUNTED.match(str(after.value)) and not told:
                    yield f"line {text.lineno}: {{{number}}}{after.value}"


@pytest.mark.parametrize(
    "folder",
    ["bridges", "cli", "cluster", "devices", "processing", "receiver", "sardana", "stins", "streamer"],
)
def test_a_count_in_a_sentence_is_told_by_plural(folder: str) -> None:
    for path in (ROOT / folder).rglob("*.py"):
        assert not list(_counts_without_grammar(ast.parse(path.read_text()))), path


def test_tests_mirror_the_folders() -> None:
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name[0] != "_"}
    assert folders <= {
        *FOLDERS,
        "bench",
        "container",
        "contract",
        "kubernetes",
        "system",
        "recordings",
        "vendor",
    }


def test_the_list_of_device_files_is_the_list_of_supported_detectors() -> None:
    from penstock.streamer.camera.unit import Unit

    files = sorted((ROOT / "devices").glob("[!_]*.py"))
    assert files
    for path in files:
        module = importlib.import_module(f"penstock.devices.{path.stem}")
        units = [
            name
            for name, value in vars(module).items()
            if inspect.isclass(value) and issubclass(value, Unit) and value.__module__ == module.__name__
        ]
        assert [name.lower() for name in units] == [path.stem], _short(path)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_has_examples_that_its_parser_accepts(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    lines = [line.strip() for line in capsys.readouterr().out.replace("\\\n", "").splitlines()]
    examples = [line for line in lines if line.startswith(f"penstock {command}")]
    assert examples, f"penstock {command} --help shows no example"
    for example in examples:
        # What an example does stands behind it, two spaces or more to the right.
        words = shlex.split(re.sub(r"\s{2,}(?!--).*", "", example), comments=True)
        words = list(itertools.takewhile(lambda word: word not in ("|", ">", "&"), words))
        build_parser([command]).parse_args(words[1:])


@pytest.mark.parametrize("command", ["nonsense", "--nonsense"])
def test_an_unknown_command_is_refused_with_the_list_of_commands(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command]) == 2
    said = capsys.readouterr().err
    assert "usage: penstock" in said
    assert "check-storage" in said or "unrecognized" in said or "required" in said


@pytest.mark.parametrize("command", COMMANDS)
def test_an_option_that_a_command_does_not_know_is_refused_with_the_usage_of_that_command(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--no-such-option"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"usage: penstock {command} ")
    assert f"penstock {command}: error: " in said


def test_an_option_that_looks_like_a_known_one_is_answered_with_that(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["view", "many.h5", "--colors", "gray"]) == 2
    said = capsys.readouterr().err
    assert said.endswith(
        "penstock view: error: unrecognized arguments: --colors gray; did you mean --colours?\n"
    )


def test_each_script_of_continuous_integration_is_executable() -> None:
    for path in (ROOT / ".ci").iterdir():
        assert shutil.which(str(path)), f"{_short(path)} is not executable"


def test_a_docstring_without_a_subject_is_named_with_its_line_and_the_remedy(tmp_path: Path) -> None:
    room = tmp_path / "room"
    room.mkdir()
    (room / "file.py").write_text('"""A module."""\n\nsize = 3\n"""Of the file, in bytes."""\n')
    said = subprocess.run([ROOT / ".ci" / "docstrings", room], capture_output=True, text=True)
    assert said.returncode == 1 and not said.stderr
    assert said.stdout.startswith(f'{room}/file.py:4: the docstring begins with "Of": begin with what')
    (room / "file.py").write_text('"""A module."""\n\nsize = 3\n"""Size of the file, in bytes."""\n')
    subprocess.run([ROOT / ".ci" / "docstrings", room], check=True)


def test_the_image_is_built_of_all_folders_of_code() -> None:
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"}
    assert set(FOLDERS) <= kept


MOST_FILES, MOST_FLOORS = 20, 10
"""Files of a room beside its own rooms, and the longest chain of imports among all of them."""
LISTS = {"penstock.cli"}
"""Rooms whose files are a list that users read: one per command."""


def _module(path: Path) -> str:
    """Return the name of a module in the package."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("penstock", *(parts[:-1] if parts[-1] == "__init__" else parts)))


def _imported(path: Path) -> set[str]:
    """Return the modules of the package that a file imports, in functions too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update(
                whole if (whole := f"{node.module}.{alias.name}") in IMPORTS else node.module
                for alias in node.names
            )
    return found & IMPORTS.keys()


PACKAGE = [path for path in MODULES if path.relative_to(ROOT).parts[0] in FOLDERS]
IMPORTS: dict[str, set[str]] = {_module(path): set() for path in PACKAGE}
IMPORTS.update({_module(path): _imported(path) for path in PACKAGE})
ROOMS = sorted({name.rpartition(".")[0] for name in IMPORTS} - {""})


def _child(room: str, module: str) -> str:
    """Return the file or room in a room that a module is, or is in."""
    return module.removeprefix(f"{room}.").partition(".")[0] if module != room else "__init__"


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_is_small_and_its_imports_point_down(room: str) -> None:
    inside = {name for name in IMPORTS if name.startswith(f"{room}.")}
    files = [name for name in inside if name.count(".") == room.count(".") + 1 and name not in ROOMS]
    assert len(files) <= MOST_FILES or room in LISTS, sorted(files)
    below: dict[str, set[str]] = {_child(room, name): set() for name in inside}
    for name in inside:
        below[_child(room, name)] |= {_child(room, other) for other in IMPORTS[name] & inside}
    floors: dict[str, int] = {}
    while len(floors) < len(below):
        ready = {
            name: 1 + max((floors[other] for other in others - {name}), default=0)
            for name, others in below.items()
            if name not in floors and others - {name} <= floors.keys()
        }
        assert ready, f"a circle among {sorted(below.keys() - floors.keys())}"
        floors |= ready
    assert max(floors.values(), default=0) <= MOST_FLOORS, floors
