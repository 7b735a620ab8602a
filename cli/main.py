"""Entry point: run the subcommand, and turn errors into one sentence and an exit status.

Each subcommand is a module of this package with `add_arguments(parser)` and `run(args)`, which
returns the exit status, or an `Answer` that is printed here;
its docstring, without the first line, is printed below the options in its help.
A module is imported only when its command is called, and imports the other folders inside `run`,
since the extra that they need may not be installed.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import re
import signal
import sys
from collections.abc import Collection, Sequence
from typing import NoReturn

from penstock.cli._output import emit, finish
from penstock.hosts.version import version
from penstock.stins.errors import UserError

COMMANDS = {
    "demo": "take a first series: simulated detector, Tango, receiver, NeXus file",
    "sardana-demo": "try Sardana with a simulated detector: spock, step scans, fly scans",
    "receiver": "run a receiver",
    "process": "run a scientist's class on every frame: live, or on a file",
    "worker": "run a worker of a pipeline, on any machine",
    "epics": "serve frames and results to EPICS clients over pvAccess",
    "pipeline-control": "start, stop, restart and scale a detector's programs on Kubernetes",
    "device": "run a Tango device server",
    "register": "register the devices of a file in the Tango database; without --write, only show changes",
    "sardana-register": "make Penstock known to Sardana; without --write, only show changes",
    "database": "run the embedded Tango database",
    "streamer": "run the streamer of one camera, as on a control unit",
    "simplon": "simulate the control unit of a DECTRIS EIGER: REST interface, stream, triggers, faults",
    "camserver": "simulate camserver of a DECTRIS PILATUS3: commands, CBF files, triggers, faults",
    "areadetector": "simulate an areaDetector IOC: records and arrays over EPICS pvAccess, losses",
    "generate": "stream frames without Tango, to try out or measure a receiver",
    "replay": "stream a recording of a real detector's messages",
    "view": "watch receivers live, and look at files: series, scans, NXdata, DECTRIS, CBF, TIFF, EDF",
    "panel": "control detectors: settings, series, live picture, log",
    "status": "show the state of a receiver or of every detector: counts of its series, errors",
    "series": "list the last series of a receiver: when, frames, verdict, file",
    "rois": "list or set the regions of interest of a receiver, with their latest values",
    "stop": "end the running series of a receiver and close its file",
    "reset": "clear the Error state of a receiver",
    "drain": "let a receiver or pipeline take no new series, and wait for the running one",
    "check": "check a file: counts, gaps, NeXus validity",
    "verify": "compare a file's frames with the checksums that came with them",
    "integrate": "integrate a file to a powder pattern with pyFAI; it needs nothing but the file",
    "check-storage": "probe how a file system handles locks, space, syncs and names",
    "completion": "print the completion script for a shell: commands, options, files, receivers' names",
}

SERVICES = ("receiver", "worker", "epics", "process", "pipeline-control")
"""Commands that run until they are asked to end, by SIGTERM."""
EXTRA_OF = {
    "PIL": "receiver", "cbor2": "receiver", "fastapi": "receiver", "h11": "receiver", "h5py": "receiver",
    "hdf5plugin": "receiver", "prometheus_client": "receiver", "pydantic": "receiver",
    "starlette": "receiver", "uvicorn": "receiver", "ruamel": "receiver",
    "fabio": "tango", "tango": "tango", "numba": "processing", "scipy": "processing",
    "pyFAI": "powder",
    "OpenGL": "gui", "PyQt5": "gui", "matplotlib": "gui", "qtawesome": "gui", "silx": "gui",
    "aioca": "epics", "p4p": "epics", "itango": "sardana", "sardana": "sardana", "taurus": "sardana",
}  # fmt: skip
"""The extra of setup.cfg that installs each package that may be missing."""


CHOICE = re.compile(r"(?P<of>argument .*): invalid choice: '(?P<given>[^']*)' \(choose from (?P<all>.*)\)")
"""What argparse says of a word that is none of those it knows."""


class _WrongUse(Exception):
    """Arguments that cannot be understood: the usage, and what is wrong."""


class _Parser(argparse.ArgumentParser):
    """Raises on wrong use, since it may have to be reported in JSON, too."""

    def error(self, message: str) -> NoReturn:
        if (found := CHOICE.fullmatch(message)) is not None:
            near = difflib.get_close_matches(found["given"], re.findall("'([^']+)'", found["all"]), 1, 0.7)
            if near:
                message = f"{found['of']}: there is no {found['given']}; did you mean {near[0]}?"
        raise _WrongUse(self.format_usage(), f"{self.prog}: error: {message}")


class _Command(_Parser):
    """Says itself what it does not know: argparse leaves that to the parser above, with the usage of that."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse all, or raise."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._meant(unknown)}")
        return found, unknown

    def _meant(self, unknown: Sequence[str]) -> str:
        """Return a question that names the options which look like the unknown ones; "" without such."""
        options = [name for name in self._option_string_actions if name.startswith("--")]
        given = [word.partition("=")[0] for word in unknown if word.startswith("--")]
        near = [name for word in given for name in difflib.get_close_matches(word, options, 1, 0.75)]
        return f"; did you mean {' '.join(near)}?" if near else ""


class _Version(argparse.Action):
    """Print the version. argparse's own action would ask git for the commit whenever a parser is built."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        print(f"penstock {version()}")
        parser.exit()


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; return its exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    # No command multiplies matrices, and NumPy takes twice as long to start with a thread on every core.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if arguments[:1] and arguments[0] in SERVICES:
        signal.signal(signal.SIGTERM, _end)
    try:
        try:
            return _run(arguments)
        finally:
            if sys.stdout is not None:  # None where the shell has closed it: `>&-`
                sys.stdout.flush()  # here, where a reader that has gone causes no traceback
    except BrokenPipeError:  # the reader of the output has closed it: `penstock status | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains at exit
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except ModuleNotFoundError as error:  # a package that a command's options need
        print(f"penstock: {_missing(error)}", file=sys.stderr)
        return 2


def _end(*_: object) -> NoReturn:
    """End a service that has not begun yet: as first process of a container it is not ended at all without a
    handler, and the service has its own only once all is imported. An import might swallow an exception."""
    os._exit(0)


def _run(arguments: list[str]) -> int:
    parser = build_parser(arguments[:1])
    if not arguments:
        parser.print_help(sys.stderr)
        return 2
    try:
        args = parser.parse_args(arguments)
    except _WrongUse as error:
        usage, why = error.args
        if "--json" in arguments:
            emit({"error": why})
        print(f"{usage}{why}", file=sys.stderr)
        return 2
    try:
        return finish(args, args.run(args))
    except UserError as error:
        why = str(error)
    except ModuleNotFoundError as error:
        why = _missing(error)
    if getattr(args, "json", False):
        emit({"error": why})
    print(f"penstock {arguments[0]}: {why}", file=sys.stderr)
    return 2


def build_parser(wanted: Collection[str]) -> argparse.ArgumentParser:
    """Return the parser, with the options of the wanted commands only; the others are not imported."""
    parser = _Parser(
        prog="penstock",
        description="Detector frames from the control unit to a NeXus file, a live view and any consumer.",
        epilog="Begin with: penstock demo. Options and examples of a command: penstock COMMAND --help",
    )
    parser.add_argument(
        "--version", action=_Version, nargs=0, help="print the version and its commit, and exit"
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Command)
    for name, summary in COMMANDS.items():
        if name not in wanted:
            commands.add_parser(name, help=summary)
            continue
        module = importlib.import_module(f"penstock.cli.{name.replace('-', '_')}")
        _, _, rest = (module.__doc__ or "").partition("\n")
        command = commands.add_parser(
            name, help=summary, description=summary[0].upper() + summary[1:] + ".",
            epilog=rest.strip("\n"), formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        module.add_arguments(command)
        command.set_defaults(run=module.run, command=name)
    return parser


def _missing(error: ModuleNotFoundError) -> str:
    """Return what to install for a missing package; raise `error` again if no extra has it: a bug of ours."""
    from penstock.cli.extras import install_command

    name = (error.name or "").partition(".")[0]
    if name == "penstock":
        again = install_command("tango,receiver")
        return f"this Penstock is newer than its installation ({error}); `make environment`, or: {again}"
    extra = EXTRA_OF.get(name)
    if extra is None:
        raise error
    return f"the Python package {name} is not installed; install the extra with: {install_command(extra)}"
