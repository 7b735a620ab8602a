"""Run a scientist's class on every frame: live, behind a receiver, or on a file.

Examples:
  penstock process spots.yaml                         behind the receiver that spots.yaml names, until Ctrl-C
  penstock process spots.yaml /data/first.h5          on a file, then end: try a class on it first
  penstock process spots.yaml --workers 8 --http 127.0.0.1:0 --json
  penstock process spots.yaml FILE --set threshold=800 --overwrite
  penstock process --make-key spots.key               a key for workers on other machines
  penstock process --list                             the processors that come with Penstock
  penstock process --schema                           JSON schema of the pipeline's file

spots.yaml is three lines: processor: spots.py:Spots, parameters: {threshold: 500}, workers: 4
Then look at it: http://127.0.0.1:5100/ in a browser, or penstock status --pipeline

Exit status: 0 it was ended, 2 it could not start, or no worker takes the class and its parameters.

Exit status with FILE: 0 every frame is done, 1 some failed or are lost, or `finish` of the class has raised,
2 it could not be processed.
"""

from __future__ import annotations

import argparse
import json
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli import _service as service
from penstock.cli._arguments.numbers import whole
from penstock.cli._arguments.targets import listen, receiver_url
from penstock.cli._output import Answer, say
from penstock.service.garbage import no_search
from penstock.stins.errors import UserError

if TYPE_CHECKING:
    from penstock.processing.config.pipeline_config import PipelineConfig
    from penstock.processing.models import Status
    from penstock.receiver.client import ReceiverClient


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `penstock process`."""
    parser.add_argument("pipeline", nargs="?", type=Path, metavar="FILE", help="the pipeline, a YAML file")
    parser.add_argument(
        "raw", nargs="?", type=Path, metavar="PATH", help="file whose frames are processed, in place of live"
    )
    parser.add_argument(
        "--receiver", metavar="URL|NAME",
        help="address of the receiver's HTTP API, or its name, instead of the configured one",
    )  # fmt: skip
    parser.add_argument("--workers", type=whole(0, 1024), metavar="N", help="workers on this machine")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE",
        help="another value of a parameter of the class; may be given several times",
    )  # fmt: skip
    parser.add_argument(
        "--overwrite", action="store_true", help="replace a result file that exists, once a frame is done"
    )
    parser.add_argument("--make-key", type=Path, metavar="FILE", help="write a new key to FILE, and exit")
    parser.add_argument(
        "--list", action="store_true", help="print the names of the built-in processors, and exit"
    )
    service.add_arguments(parser, "and what does not answer, and exit: 2 if there is one")


def run(args: argparse.Namespace) -> Answer | int:
    """Run it."""
    from penstock.processing.config import classes, pipeline_file
    from penstock.processing.config.built_in import BUILT_IN
    from penstock.processing.wire import keys
    from penstock.receiver.client import ReceiverClient

    if args.list:
        for name, each in sorted(BUILT_IN.items()):
            print(f"{name:22}{each.sentence}")
        print(f"{'pvapy:FILE.py:CLASS':22}a processor class of PvaPy's streaming framework, unmodified")
        return 0
    if args.schema:
        return service.print_schema(pipeline_file.PIPELINE.schema())
    if args.make_key is not None:
        try:
            keys.make(args.make_key)
        except FileExistsError as error:
            raise UserError(f"{args.make_key} exists already: use it, or give another name") from error
        except OSError as error:
            raise UserError(f"{args.make_key}: {error.strerror}") from error
        say(args, f"{args.make_key} has a new key; copy it to where workers run: --key {args.make_key}")
        return 0
    if args.pipeline is None:
        raise UserError("which pipeline? give its file, such as spots.yaml; --help has an example")
    if args.check:
        return _check(args)
    config = _config(args)
    steps = classes.steps(config)
    if config.key:
        keys.read(Path(config.key))
    if args.raw is None:
        client = ReceiverClient(config.receiver, timeout=5.0)
        config = _replaced(config, consumer=_entry(client, config.consumer))
    else:
        _check_files(args, config)
    return _serve(args, config, steps)


def _entry(client: ReceiverClient, consumer: str) -> str:
    """Return the forward entry that is taken; as it is given, while the receiver is not there yet.

    Raises:
        PipelineError: the receiver has none, or is no receiver.
    """
    from penstock.processing.config import forward_entry

    try:
        return forward_entry.find(client, consumer)
    except forward_entry.NotThere as error:
        print(f"{error}. Waiting for it", file=sys.stderr)
        return consumer


def _check(args: argparse.Namespace) -> Answer:
    """Return every error of the pipeline's file."""
    from penstock.processing.config import classes, forward_entry, pipeline_file
    from penstock.processing.wire import keys
    from penstock.receiver.client import ReceiverClient

    if found := pipeline_file.errors(args.pipeline):
        return service.checked(args.pipeline, found)
    config = _config(args)
    for look in (
        lambda: classes.steps(config),
        lambda: config.key and keys.read(Path(config.key)),
        lambda: forward_entry.find(ReceiverClient(config.receiver, timeout=5.0), config.consumer),
    ):
        try:
            look()
        except UserError as error:
            found.append(str(error))
    return service.checked(args.pipeline, found)


def _config(args: argparse.Namespace) -> PipelineConfig:
    """Return the configuration, with what the options replace."""
    from penstock.processing.config import pipeline_file

    config = pipeline_file.load(args.pipeline)
    replaced: dict[str, Any] = {"overwrite": config.overwrite or args.overwrite}
    if args.workers is not None:
        replaced["workers"] = args.workers
    if args.workers == 0 and not config.listen:
        raise UserError("--workers 0, and no listen in the pipeline's file: nobody could process a frame")
    receiver = "" if args.raw is not None else args.receiver or config.receiver
    replaced["receiver"] = receiver and receiver_url(receiver, None)
    if args.http is not None:
        if why := pipeline_file.PIPELINE.wrong_http(args.http):
            raise UserError(why)
        replaced["http"] = args.http
    elif args.raw is not None:
        replaced["http"] = "127.0.0.1:0"  # the pipeline behind the receiver may have the configured one
    replaced["steps"] = _with_values(config, args.set)
    changed: PipelineConfig = _replaced(config, **replaced)
    return changed


def _check_files(args: argparse.Namespace, config: PipelineConfig) -> None:
    """Check a file, and the name of its results; say if it is still being written.

    Raises:
        UserError: there is none, it has results and no frames, or its results are there, or are being made.
    """
    from penstock.processing.results.errors import ResultError
    from penstock.processing.results.place import path_for, writer_of
    from penstock.processing.results.read import Results
    from penstock.processing.sources.file import STILL_WRITTEN, FileFrames
    from penstock.receiver.reading.reader import ReaderError

    raw, pipeline = args.raw, args.pipeline
    if not raw.is_file():
        raise UserError(f"{raw} is not a file; give one whose frames are to be processed")
    try:
        frames = Results(raw).raw_file()
    except ResultError:  # as it should be
        pass
    else:
        remedy = f"give the raw file, {frames}" if frames else "its series has no raw file"
        raise UserError(f"{raw} is a result file, which has no frames: {remedy}")
    try:
        with FileFrames(raw) as taken:
            if taken.is_running:
                say(args, f"{raw}: {STILL_WRITTEN}; frames are processed that it has now")
    except ReaderError:
        pass  # which the pipeline says
    path = path_for(raw, config.name, config.results_root)
    if path is None or not path.exists():
        return
    if who := writer_of(path):
        raise UserError(
            f"{path} is being written: the pipeline {config.name} of {who} is not done with this series. "
            "Wait for it (penstock status --pipeline --wait), end that pipeline, or give this one another "
            f"name (name: in {pipeline})"
        )
    if not config.overwrite:
        raise UserError(f"{path} exists already: move it away, or give --overwrite to replace it")


def _with_values(config: PipelineConfig, given: list[str]) -> tuple[Any, ...]:
    """Return the steps with other values of their parameters."""
    from penstock.processing.config import built_in

    steps = list(config.steps)
    for each in given:
        key, mark, text = each.partition("=")
        if not mark or not key:
            raise UserError(f'--set takes NAME=VALUE, such as threshold=800; there is "{each}"')
        which, dot, name = key.partition(".")
        called = [each.name or str(number) for number, each in enumerate(steps)]
        if len(steps) > 1 and (not dot or which not in called):
            raise UserError(
                f"--set {each}: with several steps write STEP.NAME, with STEP one of {', '.join(called)}"
            )
        step, name = (called.index(which), name) if dot and which in called else (0, key)
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        # On the command line a path is relative to where one is, in the file to the file's folder.
        changed = built_in.with_files(steps[step].processor, {name: value}, Path.cwd())
        steps[step] = _replaced(steps[step], parameters=steps[step].parameters | changed)
    return tuple(steps)


def _replaced(what: Any, **values: Any) -> Any:
    import msgspec

    return msgspec.structs.replace(what, **values)


def _serve(args: argparse.Namespace, config: PipelineConfig, steps: tuple[Any, ...]) -> Answer | int:
    import asyncio

    with no_search():  # it imports nearly all of what follows
        from penstock.processing.service.http import create_app
    from penstock.processing.distributor.pipeline_status import reachable
    from penstock.processing.service.supervisor import Supervisor
    from penstock.service import logs, server

    logs.begin()
    listener, url = listen(config.http, "pipeline")
    supervisor = Supervisor(config, steps, "" if args.raw is None else str(args.raw.absolute()))

    def ready() -> None:
        status = supervisor.status
        facts = {"pipeline": config.name, "http": url, "listen": status.listen}
        service.say_ready(args, facts, f"pipeline {config.name} is ready: {url}/")
        if status.listen:
            key = f" --key {config.key}" if config.key else ""
            say(args, f"workers on other machines: penstock worker {reachable(status.listen)}{key}")

    made = server.make(create_app(supervisor), ready, supervisor.end_waits)

    async def work() -> None:
        serving = asyncio.create_task(made.serve(sockets=[listener]))
        finished = asyncio.create_task(supervisor.finished.wait())
        await asyncio.wait({serving, finished}, return_when=asyncio.FIRST_COMPLETED)
        finished.cancel()
        made.end()
        await serving

    asyncio.run(work())
    if not made.started:
        return 1
    if supervisor.refusal:
        raise UserError(
            f"no worker takes its class and parameters; mend the class or {args.pipeline}, and start it "
            f"again: {supervisor.refusal}"
        )
    return 0 if args.raw is None else _ended(args, supervisor.status)


def _ended(args: argparse.Namespace, status: Status) -> Answer:
    """Return what became of a file's frames."""
    from penstock.cli._status.missing_frames import absent_lines, failed_lines
    from penstock.cli._status.pipeline import lines

    said = chain(lines(status, finished=True), failed_lines(status), absent_lines(args.raw))
    series = status.series
    if status.error or series is None or series.result_file is None:
        return Answer(status, said, 2)
    return Answer(status, said, 1 if series.lacks else 0)
