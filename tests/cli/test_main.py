"""The entry point: what it does for every subcommand."""

from __future__ import annotations

import subprocess
import sys

DEADLINE = 60


def test_who_reads_no_further_gets_no_traceback() -> None:
    command = [sys.executable, "-c", "from penstock.cli.main import main; raise SystemExit(main())"]
    process = subprocess.Popen(
        [*command, "receiver", "--schema"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(DEADLINE) == 141
    process.stderr.close()
