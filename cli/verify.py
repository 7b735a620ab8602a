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
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.cli._arguments.targets import add_files, add_group, each_file
from penstock.cli._output import Answer, add_json, progress, say

if TYPE_CHECKING:
    from penstock.checks.verify import Verification


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    add_files(parser)
    add_group(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Answer:
    """Verify each file, and print what was found."""
    found, failed = each_file(args, partial(_verify, args), args.detector)
    sound = not failed and all(item.is_sound for item in found)
    files: list[object] = [item.summary() for item in found]
    files += [{"file": path, "sound": False, "error": why} for path, why in failed.items()]
    return Answer({"sound": sound, "files": files}, status=2 if failed else 0 if sound else 1)


def _verify(args: argparse.Namespace, path: Path) -> Verification:
    from penstock.checks.verify import verify
    from penstock.receiver.reading.reader import SeriesFile

    with SeriesFile(path, args.detector) as series, progress("verifying frames", len(series)) as done:
        found = verify(series, done)
    say(args, f"{path}: {'verified' if found.is_sound else 'NOT verified'}\n  {found.sentence}")
    return found
