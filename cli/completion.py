"""Print the script that completes `penstock` in a shell.

It completes commands, options, their choices, cameras, files, and the receivers' names: those of the file
given with --config, else those of the shipped one (in tcsh always the latter). Print it again after updates.

Examples:
  penstock completion bash > ~/.local/share/bash-completion/completions/penstock
      for bash with its package bash-completion, in the next shell (make the folder first: mkdir -p)
  penstock completion zsh > ~/.zfunc/_penstock
      for zsh, likewise; ~/.zshrc needs the lines: fpath+=~/.zfunc; autoload -U compinit; compinit
  penstock completion tcsh > ~/.penstock.tcsh
      for tcsh; ~/.tcshrc needs the line: source ~/.penstock.tcsh
  penstock completion --receivers beamline.yaml
      the receivers' names of a configuration, one per line, as the scripts ask for them
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SHIPPED = "shipped"
FILES = {"FILE", "CAPTURE", "PATH"}
FOLDERS = {"DIR"}
RECEIVERS = {"NAME", "URL|NAME"}
RECEIVERS_OR_FILES = {"URL|NAME|FILE"}
CAMERAS = {"CAMERA", "DETECTOR", "SERVER"}
"""What is completed depends on the argument's metavar in the help."""

ASK = "penstock completion --receivers"
NAMES = {
    "bash": "_penstock_receivers",
    "zsh": "_penstock_receivers",
    "tcsh": f"`{ASK}`",
    "preamble": {
        "bash": f"""
_penstock_receivers() {{
  local word file= after=
  for word in "${{COMP_WORDS[@]}}"; do
    [ "$after" = --config ] && file=$word
    after=$word
  done
  compgen -W "$({ASK} ${{file:+"${{file/#\\~/$HOME}}"}} 2>/dev/null)" -- "$1"
}}""",
        "zsh": f"""
_penstock_receivers() {{
  local at=${{words[(I)--config]}} file=
  (( at )) && file=${{~words[at + 1]}}
  compadd -- ${{(f)"$({ASK} $file 2>/dev/null)"}}
}}""",
    },
}
BOTH = {
    "bash": "_penstock_receivers_or_files",
    "zsh": "_penstock_receivers_or_files",
    "tcsh": f"`{ASK}`",
    "preamble": {
        "bash": """
_penstock_receivers_or_files() {
  _penstock_receivers "$1"
  _shtab_compgen_files "$1"
}""",
        "zsh": """
_penstock_receivers_or_files() {
  _penstock_receivers
  _files
}""",
    },
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "shell", nargs="?", choices=("bash", "zsh", "tcsh"), help="shell to print the script for"
    )
    what.add_argument(
        "--receivers", nargs="?", const=SHIPPED, metavar="FILE",
        help="print the receivers' names of a configuration instead (of the shipped one)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Print the script, or the names."""
    if args.receivers is not None:
        print("\n".join(_receivers(args.receivers)))
        return 0
    import shtab

    from penstock.cli.main import COMMANDS, build_parser

    parser = build_parser(COMMANDS)
    for action in _actions(parser):
        _complete(action)
    print(shtab.complete(parser, args.shell))
    return 0


def _receivers(file: str) -> Iterator[str]:
    from penstock.cli._arguments.targets import shipped
    from penstock.receiver import config as configuration

    yield from configuration.load(shipped() if file == SHIPPED else Path(file)).receivers


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)


def _complete(action: Any) -> None:
    import shtab

    from penstock.devices._server.registry import SERVICES, camera_names

    word = action.metavar
    if word in FILES:
        action.complete = shtab.FILE
    elif word in FOLDERS:
        action.complete = shtab.DIRECTORY
    elif word in RECEIVERS:
        action.complete = NAMES
    elif word in RECEIVERS_OR_FILES:
        action.complete = BOTH
    elif word in CAMERAS:
        action.choices = [*camera_names(), *(SERVICES if word == "SERVER" else ())]
