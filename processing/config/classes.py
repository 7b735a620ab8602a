"""The classes of a pipeline as they are sent to workers: source text, looked at but never executed here."""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path

import msgspec

from penstock.processing.config import built_in
from penstock.processing.config.pipeline_config import PipelineConfig, StepConfig
from penstock.processing.config.pipeline_file import PipelineError
from penstock.processing.wire import Step
from penstock.processing.wire.sockets import is_local

MOST_BYTES = 100_000
"""Most bytes of the source text of all steps together: it goes through one datagram, with the parameters."""

MOST_PARAMETERS = 20_000
"""Bytes of all parameters, as JSON."""


def steps(config: PipelineConfig) -> tuple[Step, ...]:
    """Return what the workers are sent.

    Raises:
        PipelineError: a file cannot be read, is no Python, or does not have the class.
    """
    found = tuple(msgspec.structs.replace(_step(step), label=step.name) for step in config.steps)
    for step in found:
        if step.source and config.listen and not config.key and not is_local(config.listen):
            raise PipelineError(
                f"{step.file} would be sent to workers at {config.listen} as source text, which everybody in "
                "between could change: give the pipeline a key (key: FILE, made by `penstock process "
                "--make-key FILE`), or name an installed module as MODULE:CLASS"
            )
    parameters = sum(len(msgspec.json.encode(step.parameters)) for step in config.steps)
    if parameters > MOST_PARAMETERS:
        raise PipelineError(
            f"the parameters of {config.name} have {parameters:,} bytes, and {MOST_PARAMETERS:,} can be "
            "sent: put large ones into a file that the class reads"
        )
    if (nbytes := sum(len(step.source.encode()) for step in found)) > MOST_BYTES:
        raise PipelineError(
            f"the source text of {config.name} has {nbytes:,} bytes, and {MOST_BYTES:,} can be sent: make it "
            "a package that is installed where the workers run, and name it as MODULE:CLASS"
        )
    return found


def _step(step: StepConfig) -> Step:
    processor, adapter = step.processor, ""
    if processor.startswith(built_in.PVAPY):
        processor, adapter = processor.removeprefix(built_in.PVAPY), built_in.PVAPY_ADAPTER
    where, mark, name = processor.rpartition(":")
    if not mark:
        module, _, kind = built_in.target(name).partition(":")
        return Step(name=kind, module=module)
    if not where.endswith(".py"):
        return Step(name=name, module=where, adapter=adapter)
    path = Path(where)
    try:
        source = path.read_text()
    except OSError as error:
        raise PipelineError(
            f"{path}: {error.strerror}; processor takes FILE.py:CLASS, with FILE relative to the folder of "
            "the pipeline's file"
        ) from error
    except UnicodeDecodeError as error:
        raise PipelineError(f"{path} is not text: {error}") from error
    _check(path, source, name)
    sha256 = hashlib.sha256(source.encode()).hexdigest()
    return Step(name=name, file=path.name, source=source, sha256=sha256, adapter=adapter)


def _check(path: Path, source: str, name: str) -> None:
    """Refuse what no worker could load.

    Raises:
        PipelineError: it is no Python, or does not have the class.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        wrong = f": {error.text.strip()}" if error.text else ""
        raise PipelineError(f"{path}, line {error.lineno}: {error.msg}{wrong}") from error
    except ValueError as error:
        raise PipelineError(f"{path} is no Python: {error}") from error
    there: list[str] = []
    for node in tree.body:
        match node:
            case ast.ClassDef():
                there.append(node.name)
            case ast.FunctionDef() | ast.Expr() | ast.Assert() | ast.Pass():
                pass
            case ast.ImportFrom():
                if name in [each.asname or each.name for each in node.names]:
                    return
            case _:
                if not isinstance(node, ast.Import | ast.Assign | ast.AnnAssign):
                    return  # it may be made within an if or try: the worker will see
                if isinstance(node, ast.Assign) and name in [ast.unparse(each) for each in node.targets]:
                    return
    if name not in there:
        has = f"it has {', '.join(there)}" if there else "it has no class"
        raise PipelineError(f"there is no class {name} in {path}; {has}")
