"""Compare the frames of files with the checksums that came with them; nothing is unpacked.

If the sender announces checksums (`penstock generate --checksum crc32`, `penstock streamer … --checksum
crc32`), each of its blobs is checked on receipt, and the checksums are stored in the file. Exit status: 0
every stored frame was verified, 1 a frame is wrong, or has no checksum, or the file has none at all, 2 a
file cannot be opened.

Examples:
  penstock verify /data/scan-0007.h5
  penstock verify --json /data/*.h5 | jq .sound
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.cli._arguments.targets import series_files
from penstock.cli._output import add_json, emit, say

if TYPE_CHECKING:
    from penstock.checks.verify import Verification
    from penstock.receiver.reading.reader import SeriesFile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="file of a series")
    parser.add_argument(
        "--detector", metavar="GROUP", help="name of the NXdetector group, where a file has several"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Verify each file, print what was found; return the exit status."""
    from penstock.cli.main import UserError
    from penstock.receiver.reading.reader import ReaderError, SeriesFile

    found: list[Verification] = []
    failed: list[dict[str, object]] = []
    paths = series_files(args, args.detector)
    for path in paths:
        try:
            with SeriesFile(path, args.detector) as series:
                found.append(_verify(series))
        except ReaderError as error:
            if len(paths) == 1 and not args.json:
                raise UserError(str(error)) from error
            say(args, f"penstock verify: {error}")
            failed.append({"file": str(path), "sound": False, "error": str(error)})
            continue
        verdict = "verified" if found[-1].is_sound else "NOT verified"
        say(args, f"{path}: {verdict}\n  {found[-1].sentence}")
    sound = not failed and all(item.is_sound for item in found)
    if args.json:
        emit({"sound": sound, "files": [*(item.summary() for item in found), *failed]})
    return 2 if failed else 0 if sound else 1


def _verify(series: SeriesFile) -> Verification:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from penstock.checks.verify import verify

    # On stderr, and only on a terminal: the output itself stays plain.
    console = Console(stderr=True)
    with Progress(
        TextColumn("verifying frames"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        console=console, transient=True, disable=not console.is_terminal,
    ) as progress:  # fmt: skip
        task = progress.add_task("", total=len(series))
        return verify(series, lambda count: progress.update(task, completed=count))
