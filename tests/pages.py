"""Runs a page of the documentation as its reader would, from top to bottom, in a folder of its own.

What runs, and how it is written in Markdown:

- a `console` block: each line after `$ ` is a command, and the lines below it are what it prints (`...`
  stands for anything). A command that ends in ` &` stays until the end of the page; the page goes on
  when it has printed what the page says. `kill %?WORD` ends the one with this word, by Ctrl-C. `export` holds
  for all that follows;
- a `python` block under `<!-- run -->`: a script;
- any block under `<!-- file: NAME -->`: it is written to that file.

Every port that a page names is replaced by a free one, the same all over the page, and the folder
/data by one of the page's own.
"""

from __future__ import annotations

import contextlib
import doctest
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from penstock.hosts.child import free_port

DEADLINE = 60.0
"""Seconds for one step."""

_BLOCK = re.compile(
    r"^(?P<indent> *)(?:<!-- (?P<mark>run|file: (?P<file>\S+)) -->\n(?P=indent))?```(?P<language>\w*)\n"
    r"(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
_PORT = re.compile(r"(?:(?<=\b127\.0\.0\.1:)|(?<=-port )|(?<=Port=)|(?<=Port = )|(?<=Port\": \[\"))\d+")


class PageError(AssertionError):
    """A step of a page does not do what the page says."""


@dataclass(frozen=True)
class Step:
    """One thing that the reader does."""

    kind: str
    """ "command", "background", "script" or "file"."""
    text: str
    output: str = ""
    """What the page says that it prints; "" if the page does not say."""
    name: str = ""
    """Of the file."""


def steps(markdown: str) -> Iterator[Step]:
    """The steps of a page, in order."""
    for block in _BLOCK.finditer(markdown):
        indent = block["indent"]
        text = "".join(line.removeprefix(indent) for line in block["text"].splitlines(keepends=True))
        if block["file"]:
            yield Step("file", text, name=block["file"])
        elif block["mark"] == "run":
            yield Step("script", text)
        elif block["language"] == "console":
            yield from _commands(text)


def run(page: Path, folder: Path, environment: dict[str, str], deadline: float = DEADLINE) -> None:
    """Do what a page says, in `folder`.

    Args:
        page: the page.
        folder: where its reader is.
        environment: variables that are added to ours.
        deadline: seconds for one command.

    Raises:
        PageError: a command fails, prints something else, or does not end in time.
    """
    # pytest on a page must not tidy up after earlier runs of the whole suite: that may take minutes.
    temporary = folder / ".pytest"
    temporary.mkdir()
    environment = os.environ | environment | {"PYTEST_DEBUG_TEMPROOT": str(temporary)}
    with contextlib.ExitStack() as stack:
        (folder / "data").mkdir()
        markdown = re.sub(r"(?<![\w/.])/data\b", str(folder / "data"), page.read_text())
        jobs: dict[str, contextlib.ExitStack] = {}
        stack.enter_context(_said_in_the_background(folder))
        for step in steps(_with_free_ports(markdown)):
            if step.kind == "background":
                jobs[step.text] = stack.enter_context(contextlib.ExitStack())
                jobs[step.text].enter_context(_background(step, folder, environment))
            elif kill := re.fullmatch(r"kill %\?(\w+)", step.text):
                (job,) = (text for text in jobs if kill[1] in text)
                jobs.pop(job).close()
            elif export := re.fullmatch(r"export (\w+)=(\S+)", step.text):
                environment[export[1]] = export[2]
            else:
                _do(step, folder, environment, deadline)


def _commands(text: str) -> Iterator[Step]:
    for command in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, output = command.partition("\n")
        while line.endswith("\\"):
            more, _, output = output.partition("\n")
            line = f"{line}\n{more.removeprefix('> ')}"
        if line.endswith(" &"):
            yield Step("background", line.removesuffix(" &"), output)
        else:
            yield Step("command", line, output)


def _with_free_ports(markdown: str) -> str:
    free = {port: str(free_port()) for port in _PORT.findall(markdown)}
    return _PORT.sub(lambda match: free[match[0]], markdown)


def _do(step: Step, folder: Path, environment: dict[str, str], deadline: float) -> None:
    if step.kind == "file":
        (folder / step.name).parent.mkdir(parents=True, exist_ok=True)
        (folder / step.name).write_text(step.text)
    else:
        shell = ["bash", "-euo", "pipefail", "-c"]
        program = [sys.executable, "-c"] if step.kind == "script" else shell
        with _process([*program, step.text], folder, environment) as process:
            try:
                output, errors = process.communicate(timeout=deadline)
            except subprocess.TimeoutExpired:
                raise PageError(f"still running after {deadline:g} s: {step.text}") from None
        if process.returncode != 0:
            raise PageError(f"exit status {process.returncode}: {step.text}\n{output}\n{errors}")
        if step.output.strip() and not alike(step.output, output):
            raise PageError(
                f"{step.text}\nprints\n{output}\nbut the page says\n{step.output}\non stderr:\n{errors}"
            )


@contextlib.contextmanager
def _said_in_the_background(folder: Path) -> Iterator[None]:
    """Add to an error what the commands that stay have printed: the cause may be there."""
    try:
        yield
    except PageError as error:
        for log in sorted(folder.glob(".output-*")):
            if text := log.read_text().strip():
                error.add_note(f"{log.name}:\n{text[-4000:]}")
        raise


@contextlib.contextmanager
def _background(step: Step, folder: Path, environment: dict[str, str]) -> Iterator[None]:
    log = folder / f".output-{time.monotonic_ns()}"
    errors = log.with_suffix(".err")
    with (
        log.open("w") as sink,
        errors.open("w") as error_sink,
        _process(["bash", "-c", f"exec {step.text}"], folder, environment, sink, error_sink) as process,
    ):
        deadline = time.monotonic() + DEADLINE
        while step.output.strip() and not alike(step.output, log.read_text()):
            if process.poll() is not None or time.monotonic() > deadline:
                raise PageError(
                    f"{step.text}\nprinted\n{log.read_text()}\nbut the page says\n{step.output}\n"
                    f"on stderr:\n{errors.read_text()}"
                )
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.05)
        yield
        if process.poll() is not None:
            raise PageError(f"ended before its page did: {step.text}\n{errors.read_text()}")
        os.killpg(process.pid, signal.SIGINT)
        if (status := process.wait(DEADLINE)) not in (0, 130, -signal.SIGINT):
            raise PageError(f"Ctrl-C ends it with {status}: {step.text}\n{errors.read_text()}")


@contextlib.contextmanager
def _process(
    command: list[str],
    folder: Path,
    environment: dict[str, str],
    output: int | IO[str] = subprocess.PIPE,
    errors: int | IO[str] = subprocess.PIPE,
) -> Iterator[subprocess.Popen[str]]:
    """A process in a group of its own, of which nothing stays behind."""
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
        text=True, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def alike(said: str, printed: str) -> bool:
    """Tell whether something printed what a page says; `...` stands for anything."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(said.strip(), printed.strip(), flags)
