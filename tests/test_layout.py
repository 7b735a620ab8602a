"""The tree is the first page of the documentation: what it promises holds."""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import re
import shlex
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from penstock.cli.main import COMMANDS, build_parser, main

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (
    "bridges",
    "cli",
    "cluster",
    "checks",
    "codecs",
    "devices",
    "gui",
    "processing",
    "receiver",
    "resources",
    "sardana",
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
    from penstock.streamer.unit import Unit

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
