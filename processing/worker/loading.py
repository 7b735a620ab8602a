"""A processor's class from the source text that came with `Welcome`, or from an importable module."""

from __future__ import annotations

import builtins
import hashlib
import importlib
import linecache
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import PurePath
from types import CodeType, ModuleType, TracebackType

from penstock.processing.config.built_in import PACKAGE
from penstock.processing.processor import CannotProcess, Processor
from penstock.processing.wire import Step

_imported_before: set[str] = set()
"""Modules that were imported for a distributor."""


class LoadingError(Exception):
    """A class cannot be loaded; the sentence says why, with file and line where they are known."""


def load(step: Step) -> type[Processor]:
    """Return the class of a step.

    Raises:
        LoadingError: it cannot be loaded, or is no processor.
    """
    adapted = _adapter(step) if step.adapter else None  # if that is missing, so is what the class imports
    module = _imported(step) if step.module else _executed(step)
    found = getattr(module, step.name, None)
    where = step.module or step.file
    if adapted is not None and isinstance(found, type):
        try:
            found = adapted(found)
        except Exception as error:
            raise LoadingError(f"{where}: {error}") from error
    if not isinstance(found, type):
        others = [
            name
            for name, value in vars(module).items()
            if isinstance(value, type) and issubclass(value, Processor) and value is not Processor
        ]
        has = f"it has {', '.join(others)}" if others else "it has no class that derives from Processor"
        raise LoadingError(f"there is no class {step.name} in {where}; {has}")
    if not issubclass(found, Processor):
        raise LoadingError(
            f"class {step.name} in {where} is no processor: write class {step.name}(Processor), after "
            "from penstock.processing import Processor"
        )
    if found.process is Processor.process and found.process_batch is Processor.process_batch:
        raise LoadingError(
            f"class {step.name} in {where} has neither process nor process_batch: write "
            "def process(self, frame)"
        )
    for name in ("batch", "batch_seconds"):
        if not isinstance(value := getattr(found, name), (int, float)) or value <= 0:
            raise LoadingError(f"{name} of class {step.name} in {where} is {value!r}; it is a number above 0")
    return found


def check_source(steps: Sequence[Step], *, is_trusted: bool) -> None:
    """Refuse source text that somebody else may have sent.

    Args:
        steps: the classes.
        is_trusted: whether nobody else can send through the connection.

    Raises:
        LoadingError: there is such text.
    """
    if not is_trusted and any(step.source for step in steps):
        raise LoadingError(
            "the distributor has sent source text over a connection that is not encrypted, and everybody in "
            "between could have written it: start distributor and worker with a key, or name the class by an "
            "installed module"
        )


def check_channels(names: str, needs: Sequence[str], channels: Sequence[str]) -> None:
    """Refuse classes that need other channels than there are.

    Args:
        names: of the classes.
        needs: channels that they need.
        channels: those of the pipeline.

    Raises:
        LoadingError: one is missing.
    """
    for name in needs:
        if name not in channels:
            has = ", ".join(channels) or "none"
            raise LoadingError(
                f"{names} needs the channel {name}, and the pipeline has {has}: add it to channels in "
                "the pipeline's file"
            )


def said_by(error: BaseException) -> str:
    """Return the text of an exception in one line, whatever it is: user code may have made it."""
    try:
        text = str(error)
    except Exception as another:
        return f"its text cannot be made: {type(another).__name__}"
    return " ".join(text.encode(errors="replace").decode().split())


def sentence(error: BaseException, files: Collection[str]) -> str:
    """Return the last line of an exception's traceback, with the line of the user's code that it came from.

    Args:
        error: the exception.
        files: names of the user's files; if it came from none of them, the line where it was raised is named.
    """
    name, said = type(error).__name__, said_by(error)
    if isinstance(error, CannotProcess):
        return said
    text = f"{name}: {said}" if said else name
    last = own = None
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        code, line = trace.tb_frame.f_code, trace.tb_lineno
        last = code, line
        own = last if code.co_filename in files else own
        trace = trace.tb_next
    if (place := own or last) is None:
        return text
    code, line = place
    inside = "" if code.co_name == "<module>" else f", in {code.co_name}"
    return f"{text} ({PurePath(code.co_filename).name}, line {line}{inside})"


def files_of(step: Step, kind: type[Processor]) -> set[str]:
    """Return the names of the files that are the user's, as they stand in tracebacks."""
    if not step.module:
        return {step.file}
    own: type = getattr(kind, "wraps", kind)  # if it is adapted
    modules = (sys.modules.get(base.__module__) for base in own.__mro__ if base is not Processor)
    return {file for module in modules if (file := getattr(module, "__file__", None)) is not None}


def _imported(step: Step) -> ModuleType:
    # A worker may outlive a distributor, and the module may have been edited since.
    if step.module in _imported_before:
        sys.modules.pop(step.module, None)
    _imported_before.add(step.module)
    importlib.invalidate_caches()
    try:
        return importlib.import_module(step.module)
    except ModuleNotFoundError as error:
        if error.name is not None and step.module.split(".")[0] == error.name.split(".")[0]:
            raise LoadingError(
                f"there is no module {error.name} here, for {step.module}:{step.name}; install it for "
                f"the Python of this worker, {sys.executable}, or set PYTHONPATH"
            ) from error
        raise LoadingError(_missing(step.module, error)) from error
    except BaseException as error:
        raise LoadingError(f"{step.module} cannot be imported: {sentence(error, ())}") from error


def _executed(step: Step) -> ModuleType:
    found = hashlib.sha256(step.source.encode()).hexdigest()
    if found != step.sha256:
        raise LoadingError(
            f"the source text of {step.file} has not arrived whole: its SHA-256 is {found:.12}…, not "
            f"{step.sha256:.12}…"
        )
    try:
        code = builtins.compile(step.source, step.file, "exec", dont_inherit=True)
    except SyntaxError as error:
        wrong = f": {error.text.strip()}" if error.text else ""
        raise LoadingError(f"{step.file}, line {error.lineno}: {error.msg}{wrong}") from error
    except ValueError as error:
        raise LoadingError(f"{step.file} is no Python: {error}") from error
    return _run(code, step)


def _run(code: CodeType, step: Step) -> ModuleType:
    name = f"penstock_user_{PurePath(step.file).stem}"
    module = ModuleType(name)
    module.__file__ = step.file
    # Types written as text are looked up in the module; tracebacks and inspect look for the lines.
    sys.modules[name] = module
    linecache.cache[step.file] = (len(step.source), None, step.source.splitlines(keepends=True), step.file)
    try:
        exec(code, module.__dict__)
    except ModuleNotFoundError as error:
        raise LoadingError(_missing(step.file, error)) from error
    except BaseException as error:
        raise LoadingError(f"{step.file} cannot be loaded: {sentence(error, {step.file})}") from error
    return module


def _adapter(step: Step) -> Callable[[type], type]:
    """Return what makes a processor of a class that is none.

    Raises:
        LoadingError: it needs something that is not here.
    """
    module = importlib.import_module(step.adapter)
    if why := module.missing():
        where = step.module or step.file
        raise LoadingError(
            f"class {step.name} in {where} needs {why}, which is not here: install it for the Python of this "
            f"worker, {sys.executable}"
        )
    found: Callable[[type], type] = module.adapted
    return found


def _missing(where: str, error: ModuleNotFoundError) -> str:
    if where.startswith(PACKAGE):
        return (
            f"{where.removeprefix(f'{PACKAGE}.')} needs {error.name}, which is not here: install Penstock "
            f"with its extra `processing` for the Python of this worker: {sys.executable} -m pip install "
            "'/path/to/penstock[processing]', with the path of the clone"
        )
    return (
        f"{where} imports {error.name}, which is not here: install it for the Python of this worker, "
        f"{sys.executable}. Only the file that is named goes to the workers; several files of "
        "one's own are a package, named as MODULE:CLASS"
    )
