"""The runner: contenders take turns, one load of one case after the other, and their figures are kept."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from penstock.hosts.child import PYTHON, ProcessFailed
from penstock_bench.cases import Case, load_name
from penstock_bench.results import Group, Results, Turn, Turns, file_system

HERE = Path(__file__).resolve().parent
PATH = {"PYTHONPATH": str(HERE.parent)}
"""What a child process needs to find this package."""
JUDGES = HERE.parents[1] / ".venv-judges" / "processing"


class NotMeasured(Exception):
    """A case cannot be measured here; the sentence says why, and the remedy."""


@dataclass(kw_only=True)
class Bench:
    """What a case needs to know of the run.

    Args:
        folder: for files, on a RAM disk as a rule; what a case leaves there is removed.
        disk: the same on a disk.
        rounds: how often each contender has its turn.
        options: of the case.
        say: called with what is under way.
    """

    folder: Path
    disk: Path | None = None
    rounds: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    say: Callable[[str], None] = lambda text: None
    notes: list[str] = field(default_factory=list)
    """Sentences for the report."""
    failed: bool = False
    """True if something has no figures that should have some."""

    def in_turn(
        self, takers: Mapping[str, Callable[[], Turn]], warm_up: int = 0, round_seconds: float = math.inf
    ) -> Turns:
        """Let each contender have its turn, `rounds` times over: a busy machine slows all of them.

        Args:
            takers: by contender, what takes a series and returns its figures. One that raises a RuntimeError
                has no figures, and no further turns.
            warm_up: rounds before that are not counted: the first touch of memory, imports, caches.
            round_seconds: longest time of a round, on average: on a slow machine there are fewer.
        """
        waiting, turns, began = dict(takers), dict[str, list[Turn]](), time.monotonic()
        for number in range(1 - warm_up, self.rounds + 1):
            if number > 1 and time.monotonic() - began > round_seconds * self.rounds:
                self.notes.append(f"{number - 1} of {self.rounds} rounds, which took long")
                break
            for name, take in list(waiting.items()):
                self.say(f"{name}, round {number} of {self.rounds}")
                # The files of the turn before are gone, but their write-back and the freeing of their
                # blocks may be under way.
                os.sync()
                try:
                    turn = take()
                except RuntimeError as error:
                    self.fail(f"{name}: {error}")
                    del waiting[name]
                    turns.pop(name, None)
                    continue
                if number > 0:
                    turns.setdefault(name, []).append(turn)
        return turns

    def on_disk(self) -> Path:
        """Return the folder on a disk.

        Raises:
            NotMeasured: it is on a RAM disk.
        """
        if self.disk is None or file_system(self.disk) in ("tmpfs", "ramfs"):
            raise NotMeasured(f"{self.disk} is on a RAM disk; give a folder on a disk with --disk")
        return self.disk

    def fail(self, sentence: str) -> None:
        """Note what has no figures, and why."""
        self.notes.append(f"no figures: {sentence}")
        self.failed = True

    def compiled(self, name: str) -> Path:
        """Return a program in C, built if it was not yet.

        Raises:
            NotMeasured: there is no compiler.
            RuntimeError: the compiler failed, with its messages.
        """
        program = self.folder / name
        if program.exists():
            return program
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            raise NotMeasured(f"{name}.c needs a C compiler; to install one: apt-get install gcc")
        # The same library for all contenders: the one in the wheel, or the system's.
        package = find_spec("zmq")
        assert package is not None and package.origin is not None, "pyzmq is a dependency"
        bundled = sorted(Path(package.origin).parent.parent.glob("pyzmq.libs/libzmq*.so*"))
        library = [str(bundled[0]), f"-Wl,-rpath,{bundled[0].parent}"] if bundled else ["-lzmq"]
        argv = [compiler, "-O2", "-pthread", str(HERE / f"{name}.c"), "-o", str(program), *library]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode:
            raise RuntimeError(f"{compiler} cannot build {name}.c: {done.stderr.strip()}")
        return program


def python(module: str, *words: object) -> tuple[str, ...]:
    """Return the command line of a module of this package, which needs `PATH` in its environment."""
    return (*PYTHON, "-m", f"penstock_bench.{module}", *map(str, words))


def packages_with(package: str) -> Path:
    """Return the folder of the packages of others, with this one.

    Raises:
        NotMeasured: the package is not here.
    """
    packages = next(JUDGES.glob(f"lib/python3.{sys.version_info.minor}/site-packages"), None)
    if packages is None or not (packages / package).is_dir():
        raise NotMeasured(f"there is no {JUDGES} with {package}; make judges installs it")
    return packages


def program_of_others(name: str) -> str:
    """Return the path of a program of others.

    Raises:
        NotMeasured: it is not here.
    """
    program = JUDGES / "bin" / name
    if not program.is_file():
        raise NotMeasured(f"there is no {program}; make judges installs it")
    return str(program)


def measure(
    case: Case, results: Results, bench: Bench, only: Sequence[str] = (), *, again: bool = True
) -> Iterator[Group]:
    """Measure the loads of a case; what cannot be measured becomes a note.

    Args:
        case: to measure.
        results: to which groups are added.
        bench: where and how often.
        only: names of loads; empty for all.
        again: measure also what has as many rounds already.

    Yields:
        Each group, once it was added.
    """
    module, _, function = case.measure.partition(":")
    for load in case.loads:
        name = load_name(load)
        there = results.get(case.name, name)
        if (only and name not in only) or (not again and there and there.rounds >= bench.rounds):
            continue
        text = f"{case.name}, {name}" if name else case.name

        def say(what: str, text: str = text) -> None:
            bench.say(f"{text}: {what}")

        own = replace(bench, notes=[], failed=False, say=say)
        try:
            say("starting")
            turns = getattr(import_module(f"penstock_bench.{module}"), function)(own, load)
        except (ImportError, NotMeasured) as error:
            own.notes.append(f"not measured: {error}")
        except (ProcessFailed, RuntimeError, OSError) as error:
            own.fail(str(error))
        else:
            if turns:
                results.put(group := Group(case=case.name, name=name, turns=turns))
                yield group
        finally:
            bench.failed |= own.failed
            results.notes = [note for note in results.notes if not note.startswith(f"{text}: ")]
            results.notes += [f"{text}: {note}" for note in own.notes]
            for file in (path for path in bench.folder.iterdir() if path.is_file() and path.suffix):
                file.unlink()


def folders(stack: ExitStack, ram: Path | None, disk: Path | None) -> tuple[Path, Path]:
    """Make folders of this run on a RAM disk and on a disk, which are removed when the stack is closed."""
    made = (
        tempfile.TemporaryDirectory(dir=place, prefix="penstock-bench-", ignore_cleanup_errors=True)
        for place in (ram, disk)
    )
    first, second = (Path(stack.enter_context(each)) for each in made)
    return first, second
